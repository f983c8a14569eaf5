// A record that is known byte for byte is not parsed, and a row with the same hash is not written:
// both rely on notes made when the row was written. So each full sweep still parses some pages and
// compares them with the stored rows. If a row differs, it is corrected, and the next sweep
// compares all pages. The comparison runs in parallel with the reading of later pages, because it
// takes forty milliseconds. Pages that arrive meanwhile are compared together afterwards. Differing
// rows are searched again and corrected between two batches, so that no batch writes the same rows
// meanwhile.

import {randomInt} from 'node:crypto';
import pg from 'pg';
import {freeBytes} from '../core/own-bytes.ts';
import {inSweepTransaction, type Queryable} from '../postgres/database.ts';
import {decodeCopyRow} from '../postgres/sql.ts';
import {forgetKnown} from '../rows/held-rows.ts';
import {loadRows} from '../rows/load.ts';
import {findColumn, nameTable, sqlTypes} from '../rows/table-sql.ts';
import {findParentColumn} from '../streams/stream.ts';
import type {ColumnType, EncodedRow, MirrorTable} from '../streams/table.ts';
import type {Sample} from './evidence.ts';
import type {EncodedRowSet} from './packed-rows.ts';
import {type CutPage, unpack} from './pages.ts';
import {type SweepRun, scopeOf} from './sweep-run.ts';

/**
 * The sample is one page in this many of a long list, and about two pages of a short one. Measured:
 * 2 % of a full parse.
 */
const maxPageInterval = 50;

/** The maximum of pages that wait to be compared: each takes as much memory as it has bytes. */
const maxWaitingPages = 4;

/** The rows of one table that some pages contained, one per key. */
interface SentRows {
  readonly table: MirrorTable;
  readonly rows: readonly EncodedRow[];
}

/** The sample of one pass over a list. */
export class SpotCheck {
  readonly #run: SweepRun;
  readonly #every: number;
  readonly #offset: number;
  #records = 0;
  #altered = 0;
  #waiting: CutPage[] = [];
  /**
   * The running comparison. It resolves to the records of its pages if a row differs from them, and
   * otherwise to null.
   */
  #checking: Promise<readonly EncodedRowSet[] | null> = Promise.resolve(null);
  #isChecking = false;

  /** @param lastPass - the result of the last pass over the list */
  constructor(
    run: SweepRun,
    lastPass: {readonly pages: number | null; readonly sample: Sample | null},
  ) {
    this.#run = run;
    const isSuspect =
      lastPass.sample !== null && lastPass.sample.altered > 0 && !lastPass.sample.isWhole;
    this.#every = isSuspect
      ? 1
      : Math.min(maxPageInterval, Math.max(1, Math.floor((lastPass.pages ?? 1) / 2)));
    this.#offset = randomInt(this.#every);
  }

  get sample(): Sample {
    const isWhole = this.#every === 1 && this.#run.sweep.nextPage === 1;
    return {records: this.#records, altered: this.#altered, isWhole};
  }

  /** Selects the pages of the sample. */
  choose(pages: readonly CutPage[]): CutPage[] {
    if (this.#run.sweep.mode !== 'full') return [];
    return pages.filter(({page}) => page % this.#every === this.#offset);
  }

  /**
   * Starts to compare a page with its rows. While a comparison is running, the page waits for the
   * next one.
   * @param page - the caller must not use it afterwards: its body is freed when it is read
   */
  async compare(page: CutPage): Promise<void> {
    this.#waiting.push(page);
    if (this.#isChecking && this.#waiting.length < maxWaitingPages) return;
    await this.#putRightLast();
    this.#begin();
  }

  /** Waits until all pages are compared, and corrects the rows that differ from them. */
  async putRight(): Promise<void> {
    await this.#putRightLast();
    if (this.#waiting.length > 0) this.#begin();
    await this.#putRightLast();
  }

  /** Waits for the running comparison, even if it fails. */
  async settle(): Promise<void> {
    await this.#checking.catch(() => {});
  }

  #begin(): void {
    const pages = this.#waiting;
    this.#waiting = [];
    this.#isChecking = true;
    this.#checking = this.#check(pages).finally(() => {
      this.#isChecking = false;
    });
    // The comparison is awaited when its turn comes; until then its failure must not count as
    // unhandled.
    this.#checking.catch(() => {});
  }

  async #putRightLast(): Promise<void> {
    const rowSets = await this.#checking;
    this.#checking = Promise.resolve(null);
    if (rowSets === null) return;
    const {altered, parents} = await this.#find(rowSets);
    if (altered.length > 0 || parents.length > 0) await this.#write(altered, parents);
  }

  async #check(pages: readonly CutPage[]): Promise<readonly EncodedRowSet[] | null> {
    const rowSets = (await Promise.all(pages.map((page) => this.#read(page)))).flat();
    this.#records += rowSets.length;
    const {altered, parents} = await this.#find(rowSets);
    return altered.length > 0 || parents.length > 0 ? rowSets : null;
  }

  async #read(cut: CutPage): Promise<EncodedRowSet[]> {
    const {deps, stream, account} = this.#run;
    const body = await unpack(cut);
    const {page, contentType} = cut;
    const task = {
      page,
      body,
      contentType,
      stream: stream.name,
      timeZone: account.timeZone,
      known: null,
    };
    const {records} = await deps.pageReader.read(task);
    freeBytes(body);
    return records.map(({rowSet}) => rowSet);
  }

  async #find(
    rowSets: readonly EncodedRowSet[],
  ): Promise<{altered: SentRows[]; parents: string[]}> {
    const {deps, sweep} = this.#run;
    const altered: SentRows[] = [];
    for (const {table, rows} of this.#sentBy(rowSets)) {
      const alteredRows = await findAltered(deps.pool, table, {accountId: sweep.accountId, rows});
      if (alteredRows.length > 0) altered.push({table, rows: alteredRows});
    }
    return {altered, parents: await this.#findParents(rowSets)};
  }

  #sentBy(rowSets: readonly EncodedRowSet[]): SentRows[] {
    const {stream} = this.#run;
    // For records of the stream itself only the list counts, not their copies inside other records.
    const otherChildren = stream.children.filter(({isOfStream}) => isOfStream !== true);
    const children = otherChildren.map(({table, element}) => ({
      table,
      rows: rowSets.flatMap((rowSet) => listOf(rowSet, element) ?? []),
    }));
    return [{table: stream.table, rows: rowSets.map(({row}) => row)}, ...children].map(
      ({table, rows}) => ({
        table,
        rows: [...new Map(rows.map((row) => [row.key.join(','), row])).values()],
      }),
    );
  }

  /**
   * Numbers of records whose stored children differ from those that were sent: the next sweep reads
   * them again.
   */
  async #findParents(rowSets: readonly EncodedRowSet[]): Promise<string[]> {
    const {deps, stream, sweep} = this.#run;
    const alteredParents = new Set<string>();
    for (const child of stream.children.filter(({isOwned}) => isOwned)) {
      const lists = new Map<string, readonly EncodedRow[]>();
      for (const rowSet of rowSets) {
        const rows = listOf(rowSet, child.element);
        if (rows !== undefined) lists.set(rowSet.number, rows);
      }
      const family = {accountId: sweep.accountId, parentColumn: findParentColumn(child), lists};
      for (const number of await findAlteredFamilies(deps.pool, child.table, family))
        alteredParents.add(number);
    }
    return [...alteredParents];
  }

  async #write(altered: readonly SentRows[], parents: readonly string[]): Promise<void> {
    const {deps, sweep, stream, tally} = this.#run;
    const {accountId, sweepId, startedAt: since} = sweep;
    const updatedCounts = await inSweepTransaction(deps.pool, async (client) => {
      const counts = [];
      for (const {table, rows} of altered)
        counts.push(
          await loadRows(client, table, rows, {accountId, sweepId, since, altered: new Set(rows)}),
        );
      await forgetKnown(client, {...scopeOf(this.#run), numbers: parents});
      return counts.map(({updated}) => updated);
    });
    const rows = updatedCounts.reduce((sum, updated) => sum + updated, 0);
    this.#altered += rows;
    if (altered[0]?.table === stream.table) tally.add({updated: updatedCounts[0] ?? 0});
    if (rows > 0)
      deps.log.warn(
        {
          event: 'rows.repaired',
          account: sweep.accountName,
          stream: stream.name,
          sweep: sweepId,
          rows,
        },
        'rows held something else than the service had sent, though nothing had said that ' +
          'they were changed: they hold it again',
      );
  }
}

function listOf(rowSet: EncodedRowSet, element: string): readonly EncodedRow[] | undefined {
  return rowSet.children.find((child) => child.element === element)?.rows;
}

// A hash describes the record as the service sent it, not the row as it is now. A write that
// bypasses the triggers leaves the hash as it was, and then no sweep checks the row again. So a
// sample of the rows is compared by value. The functions below write nothing.

const quote = (name: string) => pg.escapeIdentifier(name);
const statements = new WeakMap<MirrorTable, string>();

/**
 * Finds the rows whose values differ from those that their hash describes. Both kinds of line
 * breaks count as equal, as in the hash. Left out are rows with an open change, rows whose record
 * has changed since it was read, and rows of a forgotten customer.
 * @param rows - of one table, as the service sent them; one per key
 */
async function findAltered(
  db: Queryable,
  table: MirrorTable,
  {accountId, rows}: {readonly accountId: string; readonly rows: readonly EncodedRow[]},
): Promise<EncodedRow[]> {
  if (rows.length === 0) return [];
  const decodedRows = rows.map((row) => decodeCopyRow(row.line.toString()));
  const hashes = rows.map((row) => `\\x${row.hash}`);
  const values = [...table.columns, 'extra'].map((_, at) =>
    decodedRows.map((decodedRow) => decodedRow[at] ?? null),
  );
  const statement = statements.get(table) ?? alteredSql(table);
  statements.set(table, statement);
  const result = await db.query<{at: number}>(statement, [accountId, hashes, ...values]);
  return result.rows.flatMap(({at}) => rows[at] ?? []);
}

/** OFFSET 0 makes Postgres use an index look-up for each row, as in the probe of a load. */
function alteredSql(table: MirrorTable): string {
  const columns = [...table.columns, {name: 'extra', type: 'nested'} as const];
  const names = columns.map((_, at) => `v${at}`);
  const arrays = columns.map((_, at) => `$${at + 3}::text[]`);
  const key = table.key.map((name) => {
    const {at, sqlType} = findColumn(table, name);
    return `row.${quote(name)} = sent.v${at}::${sqlType}`;
  });
  const equalities = columns.map(({name, type}, at) => {
    const [storedValue, sentValue] = [`held.${quote(name)}`, `sent.v${at}`];
    return `${normalise(type, storedValue)} IS NOT DISTINCT FROM ${normalise(type, sentValue)}`;
  });
  return `
    SELECT sent.at::integer - 1 AS at
      FROM unnest($2::bytea[], ${arrays.join(', ')})
        WITH ORDINALITY AS sent (hash, ${names.join(', ')}, at)
     CROSS JOIN LATERAL (
           SELECT row.* FROM ${nameTable(table)} AS row WHERE row.account_id = $1
             AND ${key.join(' AND ')} OFFSET 0) AS held
     WHERE held._hash = sent.hash AND held._pending IS NULL AND held._deleted_at IS NULL
       AND CASE WHEN ${equalities.join(' AND ')} THEN false
         ELSE NOT sync.is_forgotten(to_jsonb(held)) END`;
}

const lineBreakNormalisers: Readonly<Record<'text' | 'nested', (value: string) => string>> = {
  text: (value) => `replace(replace(${value}, E'\\r\\n', E'\\n'), E'\\r', E'\\n')`,
  nested: (value) => `replace(replace(${value}::jsonb::text, '\\r\\n', '\\n'), '\\r', '\\n')`,
};

function normalise(type: ColumnType, value: string): string {
  if (type === 'text' || type === 'nested') return lineBreakNormalisers[type](value);
  return `${value}::${sqlTypes[type]}`;
}

/**
 * Finds the parents whose stored children differ from their lists: a child was inserted or removed
 * without the triggers, or the list has changed since it was read. Children with an open change are
 * left out.
 */
async function findAlteredFamilies(
  db: Queryable,
  table: MirrorTable,
  family: {
    readonly accountId: string;
    readonly parentColumn: string;
    /** The number of each parent, and the children that its list has. */
    readonly lists: ReadonlyMap<string, readonly EncodedRow[]>;
  },
): Promise<string[]> {
  const {accountId, parentColumn, lists} = family;
  if (lists.size === 0) return [];
  const keys = [...lists.values()].map((rows) =>
    [...new Set(rows.map((row) => row.key.join(',')))].sort().join(' '),
  );
  const key = table.key.map((name) => `child.${quote(name)}`);
  const keyText = `concat_ws(',', ${key.join(', ')})`;
  const {rows} = await db.query<{number: string}>(
    `SELECT sent.number
       FROM unnest($2::bigint[], $3::text[]) AS sent (number, keys)
      CROSS JOIN LATERAL (
            SELECT coalesce(string_agg(${keyText}, ' ' ORDER BY ${keyText} COLLATE "C"), '') AS keys
              FROM ${nameTable(table)} AS child
             WHERE child.account_id = $1 AND child.${quote(parentColumn)} = sent.number
               AND child._deleted_at IS NULL AND child._pending IS NULL
                 AND num_nulls(${key.join(', ')}) = 0) AS held
      WHERE held.keys <> sent.keys`,
    [accountId, [...lists.keys()], keys],
  );
  return rows.map(({number}) => number);
}
