import {setImmediate as nextTurn} from 'node:timers/promises';

/** The readings of one list. */
interface Readings<T> {
  underWay: Promise<unknown>;
  /** Has not begun. */
  next: Promise<T> | null;
}

/**
 * Reads a list once for all changes that ask for it beside each other. A reading begins after every
 * change that it serves has asked, so that it is evidence of their requests sent by then: a change
 * that asks while one is under way waits for the next.
 */
export class SharedReadings<T> {
  readonly #signal: AbortSignal;
  readonly #byList = new WeakMap<object, Readings<T>>();

  /** @param signal - ends readings; a reading that serves many is not ended for the sake of one */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /**
   * @param list - the list to read: an account that was opened anew has lists of its own
   * @throws the reading's error, to every caller that it serves
   */
  async ask(list: object, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const readings = this.#byList.get(list) ?? {underWay: Promise.resolve(), next: null};
    this.#byList.set(list, readings);
    readings.next ??= this.#readNext(readings, read);
    return await readings.next;
  }

  async #readNext(readings: Readings<T>, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    await readings.underWay;
    // Changes that were claimed together ask within one turn.
    await nextTurn();
    readings.next = null;
    const reading = read(this.#signal);
    readings.underWay = reading.catch(() => {});
    return await reading;
  }
}
