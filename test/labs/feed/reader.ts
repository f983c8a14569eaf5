import pg from 'pg';
import {type FeedPage, readFeed} from '../../../src/feed/feed.ts';
import type {Random} from '../../../src/service/vocabulary.ts';
import type {Noted} from './written.ts';

/**
 * A reader that is killed at any moment: what it noted and its cursor are kept together, as in one
 * transaction of an ERP, and all else is lost.
 */
export class Reader {
  readonly noted: Noted[] = [];
  /** Cursors at which it was killed, and went on. */
  kills = 0;
  readonly #url: string;
  readonly #random: Random;
  #cursor: string;
  #client: pg.Client | null = null;

  constructor(url: string, cursor: string, random: Random) {
    this.#url = url;
    this.#cursor = cursor;
    this.#random = random;
  }

  /** Reads one page, or is killed meanwhile. @returns whether there was something */
  async readOn(): Promise<boolean> {
    try {
      const client = await this.#open();
      await client.query('SELECT sync.sequence_feed()');
      const limit = this.#random.integer(1, 60);
      const page = await readFeed(client, {
        after: this.#cursor,
        limit,
        tables: ['tasks'],
        columns: null,
        changes: false,
        accountId: null,
        readers: null,
        system: null,
      });
      this.#note(page);
      return page.entries.length > 0;
    } catch (error) {
      if (!isKilled(error)) throw error;
      this.kills += 1;
      this.#client = null;
      return true;
    }
  }

  /** Kills the server's process of the session, at whatever it is. */
  async kill(admin: pg.Pool): Promise<void> {
    const pid = this.#client === null ? null : Reflect.get(this.#client, 'processID');
    if (pid !== null) await admin.query('SELECT pg_terminate_backend($1)', [pid]);
  }

  async close(): Promise<void> {
    await this.#client?.end();
  }

  async #open(): Promise<pg.Client> {
    if (this.#client !== null) return this.#client;
    const client = new pg.Client({connectionString: this.#url});
    client.on('error', () => {});
    await client.connect();
    this.#client = client;
    return client;
  }

  /** Some are noted, up to a cursor in the middle of the page: the process ends there as well. */
  #note({entries, cursor}: FeedPage): void {
    const isCut = entries.length > 1 && this.#random.isTrue(0.3);
    const kept = isCut ? entries.slice(0, this.#random.integer(1, entries.length - 1)) : entries;
    for (const {id, row_id, before, after, operation} of kept)
      this.noted.push({id, rowId: row_id, before: nameOf(before), token: nameOf(after), operation});
    this.#cursor = isCut ? (kept.at(-1)?.cursor ?? this.#cursor) : cursor;
  }
}

function nameOf(values: FeedPage['entries'][number]['before']): string | null {
  const name = values?.name;
  return typeof name === 'string' ? name : null;
}

/** 57P01: the administrator ended the session; else its socket broke. */
function isKilled(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    ('code' in error && error.code === '57P01') ||
    /terminat|ECONNRESET|not queryable/i.test(error.message)
  );
}
