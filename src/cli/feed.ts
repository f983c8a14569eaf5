// The verb `feed`: prints the changes in the warehouse after a cursor.

import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import {printErr, printFolded, printOut} from '../core/text.ts';
import {
  CursorError,
  type FeedEntry,
  type FeedPage,
  type FeedQuery,
  FeedWatch,
  readFeed,
  sequenceFeed,
} from '../feed/feed.ts';
import {allTables} from '../streams/all.ts';
import {chooseAccount} from './accounts.ts';
import {print} from './terminal.ts';
import {type Warehouse, withWarehouse} from './warehouse.ts';

interface FeedOptions {
  readonly after?: string;
  readonly table: readonly string[];
  readonly column: readonly string[];
  readonly account?: string;
  readonly limit: number;
  readonly follow: boolean;
  readonly json: boolean;
}

const tables = allTables.map(({name}) => name);
/** A wait ends with a notice, or at the latest after this time. */
const waitMs = 60_000;

/**
 * Prints the entries after a cursor; with `follow` also new ones, until a person stops it.
 * @returns the exit code
 * @throws {UsageError} no such table or account; an invalid cursor, or one that is no longer kept
 */
export async function feed(
  config: Config,
  options: FeedOptions,
  signal: AbortSignal,
): Promise<number> {
  for (const table of options.table) checkTable(table);
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const account =
      options.account === undefined ? null : await chooseAccount(warehouse, options.account);
    const query: FeedQuery = {
      after: options.after ?? null,
      limit: options.limit,
      tables: options.table.length === 0 ? null : options.table,
      columns: options.column.length === 0 ? null : options.column,
      changes: false,
      accountId: account?.accountId ?? null,
      readers: null,
      system: null,
    };
    if (options.follow) await follow(warehouse, {query, isJson: options.json}, signal);
    else {
      await sequenceFeed(warehouse.pool);
      const page = await readPage(warehouse, query);
      const {entries, cursor} = page;
      print(options.json, {json: {entries, cursor}, text: formatFeed(page)});
    }
    return 0;
  });
}

interface FollowOptions {
  readonly query: FeedQuery;
  readonly isJson: boolean;
}

async function follow(
  warehouse: Warehouse,
  {query, isJson}: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  const {pool, directUrl} = warehouse;
  const watch = new FeedWatch({directUrl, pool, onProblem: (text) => printErr(`feed: ${text}\n`)});
  try {
    for (let {after} = query; !signal.aborted; ) {
      const waitOn = watch.watch();
      await watch.sequence();
      const page = await readPage(warehouse, {...query, after});
      for (const entry of page.entries)
        if (isJson) printOut(`${JSON.stringify(entry)}\n`);
        else printFolded(`${formatEntry(entry)}\n`);
      after = page.cursor;
      if (!page.hasMore) await waitOn(waitMs, signal);
    }
  } finally {
    watch.close();
  }
}

async function readPage({pool}: Warehouse, query: FeedQuery): Promise<FeedPage> {
  return await readFeed(pool, query).catch((cause: unknown) => {
    if (!(cause instanceof CursorError)) throw cause;
    const nextStep = cause.isGone
      ? 'begin again: keep the cursor of `fieldmirror feed --after end`, read the tables, ' +
        'then continue from that cursor'
      : cause.message.startsWith('columns:')
        ? 'docs/data-dictionary.md lists the columns'
        : 'leave --after out to read from the oldest entry';
    throw new UsageError(`feed: ${cause.message}; ${nextStep}`, {
      cause,
      kind: cause.isGone ? 'cursor' : undefined,
    });
  });
}

function checkTable(typed: string): void {
  if (tables.includes(typed)) return;
  throw new UsageError(
    `feed: no table "${typed}"${nearest(typed, tables)}; there are ${tables.join(', ')}`,
  );
}

const longestValue = 40;
const shownFields = 4;

function formatFeed({entries, cursor}: FeedPage): string {
  const lastLine = `continue with: fieldmirror feed --after ${cursor}`;
  return entries.length === 0
    ? `nothing changed\n${lastLine}`
    : [...entries.map(formatEntry), lastLine].join('\n');
}

/** `2027-03-15T09:30:00Z  customers 12 changed by erp: phone_number 555-0100 → 555-0199` */
function formatEntry(entry: FeedEntry): string {
  const {at, account, table, number, row_id, operation, before, after} = entry;
  const row = number ?? (row_id === null ? '' : `row ${row_id}`);
  const author = entry.application ?? entry.written_by;
  const by = author === null ? '' : ` by ${author}`;
  const fields = formatFields(before ?? {}, after ?? {}, operation);
  const subject = [account, table, row, operation].filter((part) => part !== '').join(' ');
  return `${at.slice(0, 19)}Z  ${subject}${by}${fields === '' ? '' : `: ${fields}`}`;
}

function formatFields(
  before: NonNullable<FeedEntry['before']>,
  after: NonNullable<FeedEntry['after']>,
  operation: FeedEntry['operation'],
): string {
  if (operation === 'loaded')
    return 'it was read as a whole for the first time; take its rows from the table';
  if (operation !== 'changed') return '';
  const names = Object.keys(after);
  const shownValues = names
    .slice(0, shownFields)
    .map((name) => `${name} ${formatValue(before[name])} → ${formatValue(after[name])}`);
  return [
    ...shownValues,
    ...(names.length > shownFields ? [`${names.length - shownFields} more`] : []),
  ].join(', ');
}

function formatValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return '(empty)';
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/g, ' ');
  return text.length <= longestValue ? text : `${text.slice(0, longestValue - 1)}…`;
}
