// What a verb that tells how things stand could not read, because somebody else has it locked: it
// says so, and tells the rest.

import {explainDatabaseError} from '../postgres/database-errors.ts';
import {isLockTimeout} from '../postgres/lock-waits.ts';

/** A part of the answer that is missing. */
export interface Unread {
  readonly what: string;
  /** Who has it locked, and what to do. */
  readonly reason: string;
}

/** Reads one thing after the other; what is locked is left out, and noted. */
export class UnlockedReader {
  readonly #url: string;
  readonly #unread: Unread[] = [];

  /** @param url - of the warehouse */
  constructor(url: string) {
    this.#url = url;
  }

  get unread(): readonly Unread[] {
    return this.#unread;
  }

  /** @returns null where it is locked. @throws every other error of `read` */
  async read<T>(what: string, read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      this.#unread.push({what, reason: explainDatabaseError(error, this.#url).message});
      return null;
    }
  }
}
