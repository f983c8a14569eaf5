// Page 3,334 of a list costs Postgres 100,000 index entries. So the ids of a list, for one filter
// in one order, are read once and kept in memory. They are kept until a write to the table; until
// then a page is a slice and a look-up by ids.
//
// The service drops the affected lists before it answers its own writes. Writes of others (a seed,
// a person with psql) are reported by notifications of Postgres; while the service cannot listen,
// nothing is kept.

import pg from 'pg';
import type {Logger} from '../core/log.ts';
import type {Table} from './resource.ts';

/** One condition of a filter: SQL with `$` in place of the value. */
export interface Condition {
  readonly sql: string;
  readonly value?: string;
}

/** The records of a list, and their order. */
export interface ListQuery {
  readonly table: Table;
  readonly conditions: readonly Condition[];
  /** An SQL expression from this code, never from a request. */
  readonly order: string;
  /** The change that alters the list: records come or go, or any of their values changes. */
  readonly dependsOn: ListChange;
}

/** The effect of a write on a table: records came or went, or only their values changed. */
export type ListChange = 'members' | 'values';

type Ids = readonly string[];

const MAX_LISTS = 100;
const RECONNECT_MS = 500;

/** The ordered ids of lists, kept until their table changes. */
export class Lists {
  readonly #database: pg.Pool;
  readonly #databaseUrl: string;
  readonly #log: Logger | undefined;
  readonly #kept = new Map<string, {readonly query: ListQuery; readonly ids: Promise<Ids>}>();
  #listener: pg.Client | null = null;
  #isClosed = false;

  constructor(database: pg.Pool, databaseUrl: string, log?: Logger) {
    this.#database = database;
    this.#databaseUrl = databaseUrl;
    this.#log = log;
  }

  /** All ids of a list, in order. */
  async ids(query: ListQuery): Promise<Ids> {
    if (this.#listener === null) return await this.#select(query);
    const key = JSON.stringify(query);
    const cached = this.#kept.get(key);
    if (cached !== undefined) return await cached.ids;
    const ids = this.#select(query);
    this.#keep(key, query, ids);
    return await ids;
  }

  /**
   * Forgets the lists that a write may have changed. A list that is being read right now is
   * forgotten with them.
   */
  drop(table: string, change: ListChange): void {
    for (const [key, {query}] of this.#kept) {
      const isAffected =
        query.table === table && (change === 'members' || query.dependsOn === 'values');
      if (isAffected) this.#kept.delete(key);
    }
  }

  /** Begins to listen for writes of others; from then on lists are kept. */
  async listen(): Promise<void> {
    const listener = new pg.Client({connectionString: this.#databaseUrl, keepAlive: true});
    listener.on('notification', ({payload = ''}) => {
      const [table = '', change] = payload.split(' ');
      this.drop(table, change === 'values' ? 'values' : 'members');
    });
    listener.on('error', (error) => this.#lose(listener, error.message));
    listener.on('end', () => this.#lose(listener, 'the connection ended'));
    await listener.connect();
    await listener.query('LISTEN service_changed');
    this.#listener = listener;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const listener = this.#listener;
    this.#listener = null;
    await listener?.end();
  }

  #lose(listener: pg.Client, reason: string): void {
    if (this.#listener !== listener) return;
    this.#listener = null;
    this.#kept.clear();
    listener.end().catch(() => {});
    if (this.#isClosed) return;
    this.#log?.warn(
      {event: 'service.notifications_lost', reason},
      'reference service: lost the notifications; lists are read again each time until they are ' +
        'back',
    );
    this.#retry();
  }

  #retry(): void {
    const listenAgain = () => {
      if (this.#isClosed) return;
      this.listen().catch(() => this.#retry());
    };
    setTimeout(listenAgain, RECONNECT_MS).unref();
  }

  #keep(key: string, query: ListQuery, ids: Promise<Ids>): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= MAX_LISTS && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(key, {query, ids});
    ids.catch(() => this.#kept.delete(key));
  }

  /** One text instead of 100,000 rows: pg spends more on a row than Postgres on the list. */
  async #select({table, conditions, order}: ListQuery): Promise<Ids> {
    const values = conditions.flatMap(({value}) => (value === undefined ? [] : [value]));
    let position = 0;
    const conditionTexts = conditions.map(({sql}) => sql.replace('$', () => `$${++position}`));
    const where = ['deleted_at IS NULL', ...conditionTexts].join(' AND ');
    const list = `SELECT id FROM service.${table} WHERE ${where} ORDER BY ${order}`;
    // Sorted below the aggregate, not within it: an index may bring the order.
    const text = `SELECT string_agg(id::text, ',') AS ids FROM (${list}) AS list`;
    const {rows} = await this.#database.query<{ids: string | null}>(text, values);
    const ids = rows[0]?.ids ?? null;
    return ids === null ? [] : ids.split(',');
  }
}
