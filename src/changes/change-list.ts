// Lists changes, a page at a time, each with its next step and the name of its record, and counts
// them by state. A person knows "Kaja Thornholt", not row 4711.

import type {Account} from '../accounts/accounts.ts';
import type {Queryable} from '../postgres/database.ts';
import {nameTable} from '../rows/table-sql.ts';
import {allWrites} from '../streams/all.ts';
import {
  type Change,
  type ChangeFilter,
  changeColumns,
  countLatestSettled,
  listFilterValues,
  matchesFilterSql,
  needsPersonSql,
} from './change.ts';
import {
  type Circumstances,
  findNextStep,
  listConflictingFields,
  type NextStep,
  readCircumstances,
} from './next-step.ts';
import {
  countChanges,
  countMovingChanges,
  listLateChanges,
  type OpenState,
  openStates,
  type SettledState,
  settledStates,
} from './states.ts';
import {describeChanges} from './words.ts';

type Row = Pick<Change, 'table' | 'rowId'>;

/** The tables that changes can be made of, and whose rows have a name. */
const namedTables = allWrites.flatMap(({table}) =>
  table.columns.some(({name}) => name === 'name') ? [table] : [],
);

/** Names by `table/rowId`; a row without a name, or that no longer exists, is left out. */
type RecordNames = ReadonlyMap<string, string>;

export function findName(names: RecordNames, {table, rowId}: Row): string | null {
  return names.get(`${table}/${rowId}`) ?? null;
}

/** Reads the names of rows, in one statement; in none if no row can have a name. */
export async function readRecordNames(db: Queryable, rows: readonly Row[]): Promise<RecordNames> {
  const idsByTable = namedTables.flatMap((table) => {
    const ids = rows.filter((row) => row.table === table.name).map(({rowId}) => rowId);
    return ids.length === 0 ? [] : [{table, ids}];
  });
  if (idsByTable.length === 0) return new Map();
  const {rows: nameRows} = await db.query<{place: string; name: string}>(
    idsByTable
      .map(
        ({table}, index) =>
          `SELECT '${table.name}/' || row_id AS place, left(name, 200) AS name
             FROM ${nameTable(table)} WHERE row_id = ANY ($${index + 1}::bigint[]) AND name <> ''`,
      )
      .join(' UNION ALL '),
    idsByTable.map(({ids}) => ids),
  );
  return new Map(nameRows.map(({place, name}) => [place, name]));
}

/** The title of a change: `Kaja Thornholt: phone number`. Its fields are names of columns. */
export function titleChange(
  name: string,
  {operation, fields}: Pick<Change, 'operation'> & {readonly fields: readonly string[]},
): string {
  const mostFields = 3;
  if (operation !== 'update') return `${name}: ${operation}`;
  const fieldNames = fields.slice(0, mostFields).map((field) => field.replaceAll('_', ' '));
  const more = fields.length > mostFields ? ` and ${fields.length - mostFields} more` : '';
  return `${name}: ${fieldNames.join(', ')}${more}`;
}

/** The titles of changes by their numbers; one whose record has no name is left out. */
export async function readChangeTitles(
  db: Queryable,
  changeIds: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  if (changeIds.length === 0) return {};
  const {rows: changes} = await db.query<Row & Pick<Change, 'changeId' | 'operation' | 'fields'>>(
    `SELECT change_id AS "changeId", table_name AS "table", row_id AS "rowId", operation, fields
       FROM sync.changes WHERE change_id = ANY ($1::bigint[])`,
    [changeIds],
  );
  const names = await readRecordNames(db, changes);
  return Object.fromEntries(
    changes.flatMap((change) => {
      const name = findName(names, change);
      const facts = {operation: change.operation, fields: Object.keys(change.fields)};
      return name === null ? [] : [[change.changeId, titleChange(name, facts)]];
    }),
  );
}

const pageSize = 50;
/** Only this many of the settled changes are counted. */
const mostSettled = 1_000;

/** A change in a line. */
export interface ChangeLine
  extends Pick<
    Change,
    | 'changeId'
    | 'accountId'
    | 'state'
    | 'requestedAt'
    | 'requestedBy'
    | 'application'
    | 'batch'
    | 'waitsFor'
    | 'operation'
    | 'table'
    | 'number'
    | 'externalKey'
    | 'rowId'
    | 'reason'
    | 'result'
  > {
  /** The name of the record as it is here; null if it has none. */
  readonly name: string | null;
  /** Names of the fields wanted. */
  readonly fields: readonly string[];
  /** The fields that both sides changed and that no person has decided. */
  readonly conflictingFields: readonly string[];
  /** The next step; null if none is needed any more. */
  readonly next: Pick<NextStep, 'text' | 'note'> | null;
}

export interface ChangeCounts {
  /** How many need a person: the late ones, and all that are held. */
  readonly needy: number;
  readonly open: readonly {readonly state: OpenState; readonly count: number}[];
  /** Counts of the latest settled changes. */
  readonly settled: readonly {readonly state: SettledState; readonly count: number}[];
}

export interface ChangeList {
  readonly filter: ChangeFilter;
  readonly counts: ChangeCounts;
  /** `acme: 1,200 changes to carry, 18 a second, 1 min 7 s to go` */
  readonly underWay: readonly string[];
  readonly changes: readonly ChangeLine[];
  /** The place where the next page begins; null if this is the last. */
  readonly next: string | null;
}

/** @param after - the place where the page begins; null for the first */
export async function readChangeList(
  db: Queryable,
  {
    accounts,
    wanted,
    after,
  }: {accounts: readonly Account[]; wanted: ChangeFilter; after: string | null},
): Promise<ChangeList> {
  const placedChanges = await browseChanges(db, wanted, {after, limit: pageSize + 1});
  const page = placedChanges.slice(0, pageSize);
  const circumstancesByChange = await readCircumstances(db, page, accounts);
  const names = await readRecordNames(db, page);
  const changes = page.map((change) => {
    const circumstances = circumstancesByChange.get(change.changeId);
    if (circumstances === undefined)
      throw new TypeError(`change ${change.changeId}: every change has its circumstances`);
    return {...toLine(change, circumstances), name: findName(names, change)};
  });
  const next = placedChanges.length > pageSize ? (page.at(-1)?.place ?? null) : null;
  const counts = await readCounts(db, wanted.accountIds);
  return {filter: wanted, counts, underWay: await readMoving(db, accounts), changes, next};
}

async function readMoving(db: Queryable, accounts: readonly Account[]): Promise<string[]> {
  const movingChanges = await countMovingChanges(
    db,
    accounts.map(({accountId}) => accountId),
  );
  return movingChanges.map((counts) => {
    const account = accounts.find(({accountId}) => accountId === counts.accountId);
    return describeChanges({...counts, accountName: account?.name ?? counts.accountId}).text;
  });
}

async function readCounts(db: Queryable, accountIds: readonly string[]): Promise<ChangeCounts> {
  const stateCounts = await countChanges(db, accountIds);
  const lateChanges = await listLateChanges(db, accountIds);
  const open = openStates.map((state) => ({
    state,
    count: sum(stateCounts.filter((entry) => entry.state === state)),
  }));
  const heldCounts = open.filter(({state}) => state === 'held');
  return {
    needy: sum(lateChanges.filter(({lateness}) => lateness !== 'held')) + sum(heldCounts),
    open,
    settled: await countLatestSettled(db, accountIds, mostSettled),
  };
}

function sum(counts: readonly {readonly count: number}[]): number {
  return counts.reduce((total, {count}) => total + count, 0);
}

function toLine(change: Change, circumstances: Circumstances): Omit<ChangeLine, 'name'> {
  const {changeId, accountId, state, requestedAt, requestedBy, application, batch} = change;
  const {waitsFor, operation, table, number, externalKey, rowId, reason, result} = change;
  return {
    changeId,
    accountId,
    state,
    requestedAt,
    requestedBy,
    application,
    batch,
    waitsFor,
    operation,
    table,
    number,
    externalKey,
    rowId,
    reason,
    result,
    fields: Object.keys(change.fields),
    conflictingFields: listConflictingFields(circumstances.conflicts),
    next: findNextStep(change, circumstances),
  };
}

/** A change, and its place among all: the next page begins after the place of the last. */
type PlacedChange = Change & {readonly place: string};

/**
 * States that no settled change has: for them the settled changes, which are the most, are not
 * searched.
 */
const neverSettledStates = toSqlArray(['needy', ...openStates]);

/** States that no open change has. */
const neverOpenStates = toSqlArray(['needy', 'altered', ...settledStates]);

function toSqlArray(states: readonly string[]): string {
  return `ARRAY[${states.map((state) => `'${state}'`).join(', ')}]`;
}

/** A place: the part of the list, the rank in it, the number of the change. */
const placePattern = /^([123])\.(\d)\.([1-9]\d{0,17})$/;

/** Whether a text may be a place. */
export function isPlace(text: string): boolean {
  return placePattern.test(text);
}

/**
 * Lists changes: first those that need a person, the most urgent first; then the other open ones,
 * the oldest first; then the rest, the latest first.
 * @param after - the place of the last change of the page before; null for the first page
 */
async function browseChanges(
  db: Queryable,
  filter: ChangeFilter,
  {after, limit}: {readonly after: string | null; readonly limit: number},
): Promise<PlacedChange[]> {
  const [, part = '0', rank = '0', changeId = '0'] = placePattern.exec(after ?? '') ?? [];
  const {rows} = await db.query<PlacedChange>(
    // Open changes are found separately: in the order of numbers, years of settled ones come first.
    `WITH ${needsPersonSql}, unsettled AS MATERIALIZED (
       SELECT change_id FROM sync.changes
        WHERE is_open AND coalesce($2, '') <> ALL (${neverOpenStates}) AND $10 < 3
          AND change_id > CASE $10 WHEN 2 THEN $12 ELSE 0 END
          AND change_id NOT IN (SELECT change_id FROM needy) AND ${matchesFilterSql})
     SELECT * FROM (
       SELECT ${changeColumns}, '1.' || rank || '.' || change_id AS place
         FROM needy JOIN sync.changes USING (change_id)
        WHERE $10::integer < 2 AND (rank, change_id) > ($11::integer, $12::bigint)
          AND ${matchesFilterSql}
        ORDER BY rank, change_id LIMIT $13) AS needing
      UNION ALL
     SELECT * FROM (
       SELECT ${changeColumns}, '2.0.' || change_id FROM sync.changes
        WHERE change_id IN (SELECT change_id FROM unsettled ORDER BY change_id LIMIT $13)
        ORDER BY change_id) AS open
      UNION ALL
     SELECT * FROM (
       SELECT ${changeColumns}, '3.0.' || change_id FROM sync.changes
        WHERE NOT is_open AND coalesce($2, '') <> ALL (${neverSettledStates})
          AND change_id < CASE $10 WHEN 3 THEN $12 ELSE 9223372036854775807 END
          AND change_id NOT IN (SELECT change_id FROM needy) AND ${matchesFilterSql}
        ORDER BY change_id DESC LIMIT $13) AS settled
      LIMIT $13`,
    [...listFilterValues(filter), part, rank, changeId, limit],
  );
  return rows;
}
