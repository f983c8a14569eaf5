import {parseTime} from '../api/times.ts';
import {RecordError} from '../core/errors.ts';

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;

/**
 * A time in one of the specification's textual shapes, or a bare ISO date, as ISO with the offset
 * of the account's zone; undefined for any other text, and for a time that the zone's clock
 * skipped. A date is the day's beginning.
 * @param timeZone - IANA name
 */
export function readTextualInstant(text: string, timeZone: string): string | undefined {
  const [, year, month, day] = DATE.exec(text) ?? [];
  if (day === undefined) return parse(text, timeZone);
  const date = `${month}/${day}/${year}`;
  // The day begins at one where clocks change at midnight.
  return parse(`${date} 12:00am`, timeZone) ?? parse(`${date} 01:00am`, timeZone);
}

function parse(text: string, timeZone: string): string | undefined {
  try {
    return parseTime(text, timeZone).instant;
  } catch (error) {
    if (error instanceof RecordError) return undefined;
    throw error;
  }
}
