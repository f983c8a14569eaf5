// Times as texts, apart from the code that reads and writes them, which brings a calendar: the
// streams' definitions only name shapes.

/** The textual shapes of the specification, and ISO with the offset of the account's zone. */
export type TimeShape = 'M/D/YY hh:mmam' | 'MM/DD/YYYY hh:mmam' | 'M/D/YYYY hh:mmam' | 'iso';

/** Which shape each resource takes. @see docs/service.md "Fields that may be written" */
export const TIME_SHAPES = {
  job: 'M/D/YY hh:mmam',
  timeEntry: 'MM/DD/YYYY hh:mmam',
  task: 'M/D/YYYY hh:mmam',
} as const satisfies Record<string, TimeShape>;

const isoDay = /(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])/.source;
const isoTime = /(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?/.source;
const isoOffset = /(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)/.source;
const ISO_INSTANT = new RegExp(`^${isoDay}T${isoTime}${isoOffset}$`);

/**
 * True for a moment as the service writes it, `2031-07-04T09:00:00-04:00`: a day that exists, a
 * time of 24 hours, an offset. Lives on the path of every record, so it makes no object of the
 * date: 25 of these come with every job.
 * @see docs/service.md "Times"
 */
export function isIsoInstant(text: string): boolean {
  if (!ISO_INSTANT.test(text)) return false;
  const day = Number(text.slice(8, 10));
  return day <= 28 || day <= daysInMonth(Number(text.slice(0, 4)), Number(text.slice(5, 7)));
}

/** Days of a month of the Gregorian calendar. @param month - from 1 */
export function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
