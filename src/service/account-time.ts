// Instants are kept in UTC as text, `2031-01-04T14:00:00Z`, whole seconds; on the wire they are in
// the account's zone. A week starts on Sunday: our decision, because the specification does not
// define it.

import {Temporal} from 'temporal-polyfill';
import {UsageError} from '../core/errors.ts';

/** The specification's three textual shapes of a time; ` hh:mmam` follows each of them. */
type TextualShape = 'M/D/YY' | 'MM/DD/YYYY' | 'M/D/YYYY';

/** Half-open span of instants in UTC. */
interface Span {
  readonly from: string;
  readonly until: string;
}

const QUARTER_HOUR_MS = 900_000;
const MAX_REMEMBERED = 100_000;
const textualTimePattern =
  /^(\d{1,2})\/(\d{1,2})\/(\d{2}|\d{4})\s+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(am|pm)?$/i;
const isoTimePattern =
  /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?(Z|[+-]\d{2}:?\d{2})?$/i;

type Day = Temporal.PlainDate;
const windows: Readonly<Record<string, (today: Day) => readonly [Day, Day]>> = {
  today: (today) => makeDayRange(today, 0),
  tomorrow: (today) => makeDayRange(today, 1),
  yesterday: (today) => makeDayRange(today, -1),
  this_week: (today) => makeWeekRange(today, 0),
  next_week: (today) => makeWeekRange(today, 1),
  last_week: (today) => makeWeekRange(today, -1),
  this_month: (today) => makeMonthRange(today, 0),
  next_month: (today) => makeMonthRange(today, 1),
  last_month: (today) => makeMonthRange(today, -1),
};

interface LocalHour {
  readonly hour: string;
  readonly offset: string;
}

/** The clock and the zone of one account. Calculated times are cached: a page holds a thousand. */
export class AccountTime {
  readonly timeZone: string;
  readonly #nowMs: () => number;
  readonly #offsets = new Map<number, {readonly ms: number; readonly text: string}>();
  readonly #hours = new Map<string, LocalHour | null>();

  /** @throws {UsageError} the zone is not an IANA zone */
  constructor(timeZone: string, now: () => number | Temporal.Instant = Date.now) {
    try {
      Temporal.Now.zonedDateTimeISO(timeZone);
    } catch (cause) {
      throw new UsageError(
        `time zone: expected an IANA zone such as America/New_York, got "${timeZone}"`,
        {
          cause,
        },
      );
    }
    this.timeZone = timeZone;
    this.#nowMs = () => {
      const value = now();
      return typeof value === 'number' ? value : value.epochMilliseconds;
    };
  }

  /** Now, in UTC, whole seconds: the service keeps no fractions. */
  now(): string {
    return toUtc(this.#nowMs());
  }

  /**
   * `2031-01-04T09:00:00-05:00`: local time with the offset of that date, never `Z`
   * (docs/service.md "Times").
   */
  writeIso(utc: string): string {
    const hour = utc.slice(0, 13);
    const cached = this.#hours.get(hour);
    const local = cached === undefined ? this.#learnHour(hour) : cached;
    return local === null ? this.#writeSlowly(utc) : local.hour + utc.slice(13, 19) + local.offset;
  }

  /**
   * One of the specification's shapes, in local time, without zone or seconds: `10/2/26 09:30am`.
   */
  writeTextual(utc: string, shape: TextualShape): string {
    const ms = Date.parse(utc);
    const local = new Date(ms + this.#offsetAt(ms).ms).toISOString();
    const [year, month, day, hour] = [
      local.slice(0, 4),
      local.slice(5, 7),
      local.slice(8, 10),
      Number(local.slice(11, 13)),
    ];
    const date =
      shape === 'MM/DD/YYYY'
        ? `${month}/${day}/${year}`
        : `${Number(month)}/${Number(day)}/${shape === 'M/D/YY' ? year.slice(2) : year}`;
    const clockHour = String(hour % 12 || 12).padStart(2, '0');
    const clock = `${clockHour}:${local.slice(14, 16)}${hour < 12 ? 'am' : 'pm'}`;
    return `${date} ${clock}`;
  }

  /**
   * Reads a time of a request: a textual shape or ISO, local unless it has an offset. A local time
   * that occurs twice means its first occurrence. A local time that the clocks leave out moves
   * forward by the gap: Temporal's `compatible`.
   * @returns the instant in UTC; null if the text is no time, or has a year that cannot be kept
   */
  parse(text: string): string | null {
    const utc = this.#parse(text);
    return utc !== null && isStorable(utc) ? utc : null;
  }

  #parse(text: string): string | null {
    try {
      const trimmed = text.trim();
      const textualMatch = textualTimePattern.exec(trimmed);
      if (textualMatch !== null) return this.#toInstant(readTextual(textualMatch));
      const isoMatch = isoTimePattern.exec(trimmed);
      if (isoMatch === null) return null;
      const [, date = '', clock = '', offset] = isoMatch;
      if (offset === undefined)
        return this.#toInstant(
          Temporal.PlainDateTime.from(`${date}T${clock}`, {overflow: 'reject'}),
        );
      return toUtc(Temporal.Instant.from(`${date}T${clock}${offset}`).epochMilliseconds);
    } catch (problem) {
      // Temporal's error for a date or hour that does not exist: 2/30, 13:00pm.
      if (problem instanceof RangeError) return null;
      throw problem;
    }
  }

  /**
   * The span of `today`, `last_week` and so on, in the account's zone; null for a word that the
   * specification does not have.
   */
  span(name: string): Span | null {
    const findDays = Object.hasOwn(windows, name) ? windows[name] : undefined;
    if (findDays === undefined) return null;
    const today = Temporal.Instant.fromEpochMilliseconds(this.#nowMs())
      .toZonedDateTimeISO(this.timeZone)
      .toPlainDate();
    const [from, until] = findDays(today);
    return {from: this.#startOf(from), until: this.#startOf(until)};
  }

  /** @returns the instant `minutes` later */
  static addMinutes(utc: string, minutes: number): string {
    return toUtc(Date.parse(utc) + minutes * 60_000);
  }

  /**
   * @returns the instant so many minutes later, in the form of a request; null if its year cannot
   *   be kept
   */
  static findEnd(utc: string, minutes: number): string | null {
    const ms = Date.parse(utc) + minutes * 60_000;
    if (Number.isNaN(new Date(ms).getTime())) return null;
    const end = toUtc(ms);
    return isStorable(end) ? end : null;
  }

  /**
   * In most zones an hour of UTC is an hour of local time: then it is enough to know its local
   * name.
   */
  #learnHour(hour: string): LocalHour | null {
    const [first, last] = [
      this.#writeSlowly(`${hour}:00:00Z`),
      this.#writeSlowly(`${hour}:59:59Z`),
    ];
    const isUniform =
      first.slice(0, 13) === last.slice(0, 13) && first.slice(19) === last.slice(19);
    const local = isUniform ? {hour: first.slice(0, 13), offset: first.slice(19)} : null;
    if (this.#hours.size >= MAX_REMEMBERED) this.#hours.clear();
    this.#hours.set(hour, local);
    return local;
  }

  #writeSlowly(utc: string): string {
    const ms = Date.parse(utc);
    const offset = this.#offsetAt(ms);
    return new Date(ms + offset.ms).toISOString().slice(0, 19) + offset.text;
  }

  #startOf(day: Day): string {
    return toUtc(day.toZonedDateTime(this.timeZone).epochMilliseconds);
  }

  #toInstant(local: Temporal.PlainDateTime): string {
    return toUtc(local.toZonedDateTime(this.timeZone).epochMilliseconds);
  }

  #offsetAt(ms: number): {readonly ms: number; readonly text: string} {
    const quarter = Math.floor(ms / QUARTER_HOUR_MS);
    const cached = this.#offsets.get(quarter);
    if (cached !== undefined) return cached;
    const zoned = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(this.timeZone);
    const offset = {ms: zoned.offsetNanoseconds / 1_000_000, text: zoned.offset.slice(0, 6)};
    if (this.#offsets.size >= MAX_REMEMBERED) this.#offsets.clear();
    this.#offsets.set(quarter, offset);
    return offset;
  }
}

function readTextual(match: RegExpExecArray): Temporal.PlainDateTime {
  const [, month, day, yearText = '', hourText, minute, second = '0', meridiem] = match;
  const hour = Number(hourText);
  if (meridiem !== undefined && (hour < 1 || hour > 12)) throw new RangeError('hour');
  const hour24 =
    meridiem === undefined ? hour : (hour % 12) + (meridiem.toLowerCase() === 'pm' ? 12 : 0);
  const fields = {
    month: Number(month),
    day: Number(day),
    hour: hour24,
    minute: Number(minute),
    second: Number(second),
  };
  return Temporal.PlainDateTime.from({year: readYear(yearText), ...fields}, {overflow: 'reject'});
}

/** Two digits: 69 to 99 are of the last century, as in Ruby, on which the service runs. */
function readYear(text: string): number {
  const year = Number(text);
  if (text.length === 4) return year;
  return year < 69 ? 2000 + year : 1900 + year;
}

/**
 * Four digits in every zone: Postgres knows no year 0, and writes a year of five digits in another
 * way.
 */
function isStorable(utc: string): boolean {
  const year = Number(/^(\d{4})-/.exec(utc)?.[1] ?? 0);
  return year >= 2 && year <= 9998;
}

function toUtc(ms: number): string {
  return `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}

function makeDayRange(today: Day, shift: number): readonly [Day, Day] {
  const day = today.add({days: shift});
  return [day, day.add({days: 1})];
}

function makeWeekRange(today: Day, shift: number): readonly [Day, Day] {
  const sunday = today.subtract({days: today.dayOfWeek % 7}).add({weeks: shift});
  return [sunday, sunday.add({weeks: 1})];
}

function makeMonthRange(today: Day, shift: number): readonly [Day, Day] {
  const firstDay = today.with({day: 1}).add({months: shift});
  return [firstDay, firstDay.add({months: 1})];
}
