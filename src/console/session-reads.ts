import {setImmediate as turn} from 'node:timers/promises';
import {readSessions, type Session} from '../accounts/access.ts';
import type {Queryable} from '../postgres/database.ts';

type Waiting = Map<string, PromiseWithResolvers<Session | null>>;

/**
 * Reads the session of each request, and those of requests that come together in one statement:
 * fifty pages that hear of one change ask for themselves at once. No session is kept, so one that
 * is over is over at once.
 */
export class SessionReads {
  readonly #db: Queryable;
  #waiting: Waiting = new Map();
  #isReading = false;

  constructor(db: Queryable) {
    this.#db = db;
  }

  /** See `readSession`. */
  read(token: string): Promise<Session | null> {
    const waiting = this.#waiting.get(token) ?? Promise.withResolvers<Session | null>();
    this.#waiting.set(token, waiting);
    if (!this.#isReading) void this.#readOn();
    return waiting.promise;
  }

  /** One statement at a time: those who come meanwhile wait for the next one. */
  async #readOn(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.size > 0) {
      // Requests that came in the same turn of the event loop are read together.
      await turn();
      const waiting = this.#waiting;
      this.#waiting = new Map();
      await this.#readAll(waiting);
    }
    this.#isReading = false;
  }

  async #readAll(waiting: Waiting): Promise<void> {
    try {
      const sessions = await readSessions(this.#db, [...waiting.keys()]);
      for (const [token, {resolve}] of waiting) resolve(sessions.get(token) ?? null);
    } catch (error) {
      for (const {reject} of waiting.values()) reject(error);
    }
  }
}
