import type {Plan} from './business-plan.ts';
import {decideOrder, type Order} from './order.ts';
import {Bookings, travelMinutes} from './order-bookings.ts';
import {type Life, postpone, startOf, workedMinutes} from './order-life.ts';

/** A crew that is held up for longer leaves the work to others, and comes anyway. */
const longestDelay = 240;

/**
 * All orders of a plan, in the order of their calls. What becomes of one depends only on calls
 * before it, and on visits that begin before its own: so it is the same however far the plan
 * reaches.
 */
export class Roster {
  readonly plan: Plan;
  readonly #orders: Order[];

  /** @param count - how many orders there are */
  constructor(plan: Plan, count: number) {
    this.plan = plan;
    const bookings = new Bookings();
    this.#orders = Array.from({length: count}, (_, index) => decideOrder(plan, {index, bookings}));
    this.#keepTimes();
  }

  order(index: number): Order {
    const order = this.#orders[index];
    if (order === undefined)
      throw new RangeError(`order ${index}: expected one of ${this.#orders.length}`);
    return order;
  }

  /** A visit begins when the crew has left the one before. */
  #keepTimes(): void {
    const freeAt = new Map<number, number>();
    const visits = this.#orders.filter(({life}) => life.startedAt !== null);
    const starts = new Map(visits.map(({index, life}) => [index, startOf(life) ?? '']));
    const inTime = visits.toSorted((one, other) =>
      compare(starts.get(one.index) ?? '', starts.get(other.index) ?? ''),
    );
    for (const {index, crew, life, minutes} of inTime) {
      const begins = Date.parse(life.startedAt ?? '');
      const ready = Math.max(...crew.map((technician) => freeAt.get(technician) ?? 0));
      const late = Math.ceil((ready - begins) / 60_000);
      const kept: Life = late > 0 && late <= longestDelay ? postpone(life, late) : life;
      const order = this.order(index);
      this.#orders[index] = {...order, life: kept};
      const left =
        Date.parse(kept.startedAt ?? '') + (workedMinutes(kept, minutes) + travelMinutes) * 60_000;
      for (const technician of crew)
        freeAt.set(technician, Math.max(left, freeAt.get(technician) ?? 0));
    }
  }
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
