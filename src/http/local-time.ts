import {parseTime} from '../api/times.ts';
import {RecordError} from '../core/errors.ts';

/**
 * Local text of the account's zone, or ISO with an offset. `readTime` tells whether there is such a
 * moment.
 */
export const timePattern =
  /^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(?::[0-5]\d(?:\.\d{1,9})?)?$|^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

const local = /^(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2})(?::([0-5]\d(?:\.\d{1,9})?))?$/;

/**
 * Reads a moment: `2027-03-14 09:30` by the clock of the account's zone, the first of two where the
 * clock shows it twice; or ISO with an offset, kept as it is.
 * @returns ISO with an offset
 * @throws {RecordError} no such day or hour, or a local time that the clock skips
 */
export function readTime(text: string, timeZone: string): string {
  const [, year, month, day, hourText, minute, second = '00'] = local.exec(text) ?? [];
  if (hourText === undefined) return parseTime(text, timeZone).instant;
  const hour = Number(hourText);
  if (hour > 23) throw new RecordError(`time: expected an hour from 00 to 23, got ${hourText}`);
  const clock = `${hour % 12 === 0 ? 12 : hour % 12}:${minute}${hour < 12 ? 'am' : 'pm'}`;
  const {instant} = parseTime(`${month}/${day}/${year} ${clock}`, timeZone);
  return instant.replace(/(?<=T\d\d:\d\d:)00/, second);
}
