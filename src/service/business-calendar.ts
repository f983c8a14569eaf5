import {Temporal} from 'temporal-polyfill';
import {UsageError} from '../core/errors.ts';

const DAY_MS = 86_400_000;
/** Sunday first: emergencies only; short Saturdays. */
const weekdayWeights = [0.05, 1.1, 1, 1, 1, 1.05, 0.35];
/** January first: frost and heat make work, spring and autumn are quiet. */
const monthWeights = [1.15, 1.05, 0.9, 0.85, 0.95, 1.2, 1.35, 1.3, 0.95, 0.9, 1, 1.1];
const FIRST_YEAR_SHARE = 0.6;

/**
 * The working days of a business up to `today`, and some of those to come. Days are counted from
 * 1970-01-01.
 */
export class Calendar {
  readonly today: number;
  /** How many days of history there are before today. */
  readonly days: number;
  readonly #timeZone: string;
  readonly #sums: readonly number[];
  readonly #offsets = new Map<number, number>();

  /** @throws {UsageError} `today` is no date like 2026-11-02 */
  constructor({
    today,
    days,
    horizon = 0,
    timeZone,
  }: {
    readonly today: string;
    readonly days: number;
    /** How many days to come. */
    readonly horizon?: number;
    readonly timeZone: string;
  }) {
    this.today = readDay(today);
    this.days = days;
    this.#timeZone = timeZone;
    let sum = 0;
    this.#sums = Array.from({length: days + horizon}, (_, index) => {
      sum += this.#weight(this.today - days + index, index / days);
      return sum;
    });
  }

  /**
   * The work of all days, those to come too, as a share of that up to today: 1 where there is none
   * to come.
   */
  get share(): number {
    return (this.#sums.at(-1) ?? 1) / (this.#sums[this.days - 1] ?? 1);
  }

  /**
   * The day on which that share of the work has come in: 0 is the first day, just under 1 is
   * yesterday, 1 today.
   */
  dayAt(share: number): number {
    const wanted = share * (this.#sums[this.days - 1] ?? 0);
    let [low, high] = [0, this.#sums.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#sums[middle] ?? 0) > wanted) high = middle;
      else low = middle + 1;
    }
    return this.today - this.days + low;
  }

  /** The day itself, or the next one that is not a Sunday. */
  workingDay(day: number): number {
    return this.weekday(day) === 0 ? day + 1 : day;
  }

  /** 0 is Sunday. */
  weekday(day: number): number {
    return new Date(day * DAY_MS).getUTCDay();
  }

  /** 0 is January. */
  month(day: number): number {
    return new Date(day * DAY_MS).getUTCMonth();
  }

  /**
   * Minutes after local midnight of a day, as an instant in UTC. Right from 6 in the morning:
   * clocks change at night.
   */
  at(day: number, minutes: number): string {
    return `${new Date(day * DAY_MS + minutes * 60_000 - this.#offset(day)).toISOString().slice(0, 19)}Z`;
  }

  #weight(day: number, share: number): number {
    const growth = FIRST_YEAR_SHARE + (1 - FIRST_YEAR_SHARE) * share;
    return (weekdayWeights[this.weekday(day)] ?? 1) * (monthWeights[this.month(day)] ?? 1) * growth;
  }

  #offset(day: number): number {
    const known = this.#offsets.get(day);
    if (known !== undefined) return known;
    const noon = Temporal.Instant.fromEpochMilliseconds(day * DAY_MS + DAY_MS / 2);
    const offset = noon.toZonedDateTimeISO(this.#timeZone).offsetNanoseconds / 1_000_000;
    this.#offsets.set(day, offset);
    return offset;
  }
}

function readDay(text: string): number {
  try {
    return Temporal.PlainDate.from(text).toZonedDateTime('UTC').epochMilliseconds / DAY_MS;
  } catch (cause) {
    throw new UsageError(`today: expected a date such as 2026-11-02, got "${text}"`, {cause});
  }
}
