// Who is promised where: a technician is in one place at a time.

const minutesOfDay = 1_440;
/** From one door to the next. */
export const travelMinutes = 30;

interface Span {
  readonly from: number;
  readonly to: number;
}

/** A visit that is wanted: minutes are counted from local midnight. */
export interface Wanted {
  readonly days: readonly number[];
  /** The beginnings that would do on a day, the best one first. */
  readonly slotsOf: (day: number) => readonly number[];
  readonly minutes: number;
  /** Those who can do it, the best one first. */
  readonly able: readonly number[];
  readonly size: number;
}

export interface Booking {
  readonly day: number;
  readonly slot: number;
  readonly crew: readonly number[];
}

/** The visits that are promised so far. */
export class Bookings {
  /** By technician and day. */
  readonly #spans = new Map<string, Span[]>();

  /**
   * The first day and time at which enough of those who can do it are free; null where there is
   * none.
   */
  find({days, slotsOf, minutes, able, size}: Wanted): Booking | null {
    for (const day of days) {
      for (const slot of slotsOf(day)) {
        const free = able.filter((technician) => this.#isFree(technician, {day, slot, minutes}));
        if (free.length >= size) return {day, slot, crew: free.slice(0, size)};
      }
    }
    return null;
  }

  book({day, slot, crew}: Booking, minutes: number): void {
    const span = spanOf({day, slot, minutes});
    for (const technician of crew)
      for (const each of daysOf(span)) {
        const key = `${technician} ${each}`;
        this.#spans.set(key, [...(this.#spans.get(key) ?? []), span]);
      }
  }

  #isFree(technician: number, visit: Parameters<typeof spanOf>[0]): boolean {
    const {from, to} = spanOf(visit);
    return daysOf({from, to}).every((day) =>
      (this.#spans.get(`${technician} ${day}`) ?? []).every(
        (held) => held.to <= from || held.from >= to,
      ),
    );
  }
}

function spanOf({
  day,
  slot,
  minutes,
}: {
  readonly day: number;
  readonly slot: number;
  readonly minutes: number;
}): Span {
  const from = day * minutesOfDay + slot;
  return {from, to: from + minutes + travelMinutes};
}

function daysOf({from, to}: Span): number[] {
  const first = Math.floor(from / minutesOfDay);
  const last = Math.floor((to - 1) / minutesOfDay);
  return Array.from({length: last - first + 1}, (_, step) => first + step);
}
