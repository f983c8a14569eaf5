// An ERP that follows the feed, some entries behind, and says with each write how far it has read.
// Its copy is made of entries alone, applied in their order, and of what it wrote itself since.

import type pg from 'pg';
import {type FeedEntry, readFeed, sequenceFeed} from '../../../src/feed/feed.ts';
import type {Random} from '../../../src/service/vocabulary.ts';
import {type Effect, type FinalConflict, type Intent, normal, type Value} from './history.ts';

const tables = ['customers', 'jobs'] as const;

type Values = Record<string, Value>;

/** A row of its copy. */
interface Copy {
  readonly table: (typeof tables)[number];
  readonly rowId: string;
  /** As of its cursor. */
  values: Values;
  /** All that it has read of each field, or written. */
  readonly known: Set<string>;
  /** What it wrote since, with the cursor of each entry that it has not read; latest last. */
  own: Values[];
}

/** What became of the records, to judge by. */
interface Outcome {
  readonly effects: readonly Effect[];
  readonly numberOf: (intent: Intent) => string | undefined;
  /** The conflicts of all changes of the row. */
  readonly conflictsOf: (intent: Intent) => readonly FinalConflict[];
}

/** One field that it wrote, and every value of that field that it knew by then. */
interface Stale {
  readonly intent: Intent;
  readonly field: string;
  readonly known: ReadonlySet<string>;
  readonly cursor: string;
  /** ISO 8601 in UTC. */
  readonly at: string;
}

/** A violation, and the row that it is about. */
interface LostInRow extends Pick<Intent, 'table' | 'rowId'> {
  readonly story: string;
}

/** What an ERP edits: the fields of each table, and those that move with each field. */
export interface ErpFields {
  /** Under which it writes, as a key of the HTTP API does: `http: erp`. */
  readonly name: string;
  readonly fields: Readonly<Record<(typeof tables)[number], readonly string[]>>;
  readonly groupOf: (field: string) => readonly string[];
}

export class Erp {
  readonly #pool: pg.Pool;
  readonly #random: Random;
  readonly #edited: ErpFields;
  readonly #most: number;
  readonly #copies = new Map<string, Copy>();
  readonly #unread: FeedEntry[] = [];
  readonly #intents: Intent[];
  readonly #stale: Stale[] = [];
  #told = '';
  #cursor = '';
  #count = 0;

  /**
   * @param about.lag - the most entries that it is behind
   * @param about.intents - those of all authors, in their order; its own are added
   */
  constructor(
    pool: pg.Pool,
    random: Random,
    {lag, intents, ...edited}: ErpFields & {readonly lag: number; readonly intents: Intent[]},
  ) {
    this.#pool = pool;
    this.#random = random;
    this.#edited = edited;
    this.#most = lag;
    this.#intents = intents;
  }

  /** Keeps the cursor of now, and reads the tables. */
  async begin(): Promise<void> {
    await this.#listen();
    this.#cursor = this.#told;
    for (const table of tables) {
      const {rows} = await this.#pool.query<{row_id: string; values: Values}>(
        `SELECT row_id, to_jsonb(held) AS values FROM warehouse.${table} AS held ORDER BY row_id`,
      );
      for (const {row_id: rowId, values} of rows) {
        const copy: Copy = {table, rowId, values, known: new Set(), own: []};
        note(copy, values);
        this.#copies.set(`${table} ${rowId}`, copy);
      }
    }
  }

  /** Reads on, up to some entries before the end. */
  async read(lag = this.#random.integer(0, this.#most)): Promise<void> {
    await this.#listen();
    for (const entry of this.#unread.splice(0, Math.max(0, this.#unread.length - lag)))
      this.#apply(entry);
  }

  /** Writes some rows, rather those of which it has not read the latest, as of its cursor. */
  async write(count: number): Promise<void> {
    const client = await this.#pool.connect();
    try {
      await client.query(`SELECT set_config('application_name', $1, false)`, [this.#edited.name]);
      for (let each = 0; each < count; each++) {
        const copy = this.#pick();
        if (copy !== null) await this.#edit(client, copy);
      }
      await client.query('RESET application_name');
    } finally {
      client.release();
    }
  }

  /** Fields of its copy that are not those of the rows. */
  async findDiverged(): Promise<string[]> {
    await this.read(0);
    const found: string[] = [];
    for (const table of tables) {
      const {rows} = await this.#pool.query<{row_id: string; held: Values}>(
        `SELECT row_id, to_jsonb(held) AS held FROM warehouse.${table} AS held`,
      );
      for (const {row_id: rowId, held} of rows)
        for (const field of this.#edited.fields[table]) {
          const ours = this.#copies.get(`${table} ${rowId}`)?.values[field];
          if (normal(ours) !== normal(held[field]))
            found.push(
              `${table} row ${rowId}.${field}: ${this.#edited.name} has ${normal(ours)}, ` +
                `the row ${normal(held[field])}`,
            );
        }
    }
    return found;
  }

  /**
   * Values that it replaced without knowing them, and that no conflict keeps: at the service, and
   * those of other authors in changes that were not sent.
   */
  findLost({effects, numberOf, conflictsOf}: Outcome): LostInRow[] {
    return this.#stale.flatMap(({intent, field, known}) => {
      const value = normal(intent.fields[field]);
      const wishes = this.#intents.filter(
        ({table, rowId, fields}) =>
          table === intent.table && rowId === intent.rowId && field in fields,
      );
      const isOwn = ({author}: Intent) => author === this.#edited.name;
      // Of two wishes for one value, nobody can tell whose it was at the service: that of another
      // author, or a later one of this ERP, which is judged itself.
      const isShared = wishes.some(
        (wish, at) =>
          normal(wish.fields[field]) === value && (!isOwn(wish) || at > wishes.indexOf(intent)),
      );
      const own = wishes.filter(isOwn).map(({fields}) => normal(fields[field]));
      const kept = conflictsOf(intent)
        .filter((each) => each.field === field)
        .flatMap(({serviceValue, warehouseValue}) => [serviceValue, warehouseValue].map(normal));
      // It may have joined a wish that put back what this ERP had read. Then it replaced that wish,
      // as #findJoined judges; what the service held meanwhile was replaced by whoever put back,
      // and had seen it.
      const putBack = wishes
        .slice(0, wishes.indexOf(intent))
        .filter(({changeId}) => changeId === intent.changeId)
        .map(({saw}) => normal(saw[field]));
      const replaced = effects
        .filter(
          ({isOurs, table, number, fields}) =>
            isOurs &&
            !isShared &&
            table === intent.table &&
            number === numberOf(intent) &&
            field in fields &&
            normal(fields[field]) === value,
        )
        .map(({before}) => normal(before[field]))
        .filter((lost) => !putBack.includes(lost));
      return [...replaced, ...this.#findJoined(intent, field)]
        .filter((lost) => !known.has(`${field} ${lost}`) && ![...kept, ...own].includes(lost))
        .map((lost) => ({
          table: intent.table,
          rowId: intent.rowId,
          story:
            `change ${intent.changeId} of ${intent.table} row ${intent.rowId}: ${field} ` +
            `${lost} was replaced by ${value} of ${this.#edited.name}, which had not read it`,
        }));
    });
  }

  /** What it wrote of a row, each with what it knew by then, as lines of JSON. */
  tellWrites({table, rowId}: Pick<Intent, 'table' | 'rowId'>): string[] {
    return this.#stale
      .filter(({intent}) => intent.table === table && intent.rowId === rowId)
      .map(({intent: {changeId, fields}, field, known, cursor, at}) =>
        JSON.stringify({
          wrote: this.#edited.name,
          changeId,
          fields,
          cursor,
          at,
          knew: [...known].filter((each) => each.startsWith(`${field} `)),
        }),
      );
  }

  /** The wish of another author in the same change, which it replaced. */
  #findJoined(intent: Intent, field: string): string[] {
    const before = this.#intents
      .slice(0, this.#intents.indexOf(intent))
      .findLast((each) => each.changeId === intent.changeId && field in each.fields);
    return before === undefined || before.author === this.#edited.name
      ? []
      : [normal(before.fields[field])];
  }

  async #listen(): Promise<void> {
    await sequenceFeed(this.#pool);
    for (;;) {
      const page = await readFeed(this.#pool, {
        after: this.#told === '' ? 'end' : this.#told,
        limit: 1_000,
        tables,
        columns: null,
        changes: false,
        accountId: null,
        readers: [this.#edited.name],
        system: null,
      });
      this.#told = page.cursor;
      this.#unread.push(...page.entries);
      if (page.entries.length < 1_000) return;
    }
  }

  #apply({cursor, table, row_id: rowId, after, own}: FeedEntry): void {
    this.#cursor = cursor;
    const copy = this.#copies.get(`${table} ${rowId}`);
    if (copy === undefined) return;
    copy.values = {...copy.values, ...(after as Values | null)};
    note(copy, copy.values);
    if (own) copy.own.shift();
  }

  #pick(): Copy | null {
    const unread = this.#unread.flatMap(({table, row_id: rowId}) => {
      const copy = this.#copies.get(`${table} ${rowId}`);
      return copy === undefined ? [] : [copy];
    });
    const from =
      unread.length > 0 && this.#random.isTrue(0.7) ? unread : [...this.#copies.values()];
    const [first, ...rest] = from;
    return first === undefined ? null : this.#random.pick([first, ...rest]);
  }

  async #edit(client: pg.PoolClient, copy: Copy): Promise<void> {
    const {table, rowId, values, own} = copy;
    const seen: Values = Object.assign({}, values, ...own);
    const names = this.#edited.fields[table];
    const field = this.#random.pick(names as readonly [string, ...string[]]);
    const wish = this.#valueOf(field);
    // One write in three is of the whole record, as an ORM saves it.
    const isOwn = (name: string) => own.some((each) => name in each);
    const saved = this.#random.isTrue(0.3) ? names.filter((name) => !isOwn(name)) : [];
    const wanted: Values = Object.fromEntries(saved.map((name) => [name, seen[name] ?? null]));
    wanted[field] = wish;
    const columns = Object.keys(wanted);
    await client.query(`BEGIN; SELECT set_config('fieldmirror.last_change', '', false)`);
    await client.query(`SELECT set_config('fieldmirror.seen', $1, true)`, [this.#cursor]);
    const {rowCount} = await client.query(
      `UPDATE warehouse.${table} SET ${columns.map((name, at) => `${name} = $${at + 2}`).join(', ')}
        WHERE row_id = $1`,
      [rowId, ...Object.values(wanted)],
    );
    const {rows} = await client.query<{id: string | null}>('SELECT sync.last_change() AS id');
    await client.query('COMMIT');
    const changeId = rows[0]?.id ?? '';
    if (rowCount !== 1 || changeId === '') return;
    const group = this.#edited.groupOf(field);
    const intent = {
      changeId,
      operation: 'update',
      table,
      rowId,
      key: null,
      fields: {[field]: wish},
      saw: Object.fromEntries(group.map((name) => [name, seen[name] ?? null])),
      author: this.#edited.name,
    } as const;
    this.#intents.push(intent);
    note(copy, {[field]: wish});
    const at = new Date().toISOString();
    this.#stale.push({intent, field, known: new Set(copy.known), cursor: this.#cursor, at});
    copy.own.push({[field]: wish});
  }

  /** A value of its own, or now and then one that others write, too. */
  #valueOf(field: string): string {
    if (field === 'scheduled_on')
      return `2027-07-${this.#random.integer(10, 28)}T14:${this.#random.integer(10, 59)}:00+00:00`;
    if (this.#random.isTrue(0.2)) return `${field} ${this.#random.integer(1, 6)}`;
    return `${field} of ${this.#edited.name} ${++this.#count}`;
  }
}

function note({known}: Copy, values: Values): void {
  for (const [field, value] of Object.entries(values))
    if (value === null || typeof value === 'string') known.add(`${field} ${normal(value)}`);
}
