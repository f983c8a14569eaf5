// Where a record would be that a create may have made: read, and matched on all that was sent.

import type {CustomerFilters} from '../../api/client.ts';
import {readDate} from '../../api/http-date.ts';
import type {List} from '../../api/operations.ts';
import {isGone} from '../../api/verdict.ts';
import {readRows} from '../../streams/rows.ts';
import {type Appearance, listRivalCreates, placeInTime} from '../../warehouse/authored-rows.ts';
import type {ChangeValues} from '../../warehouse/change.ts';
import {FILTERS} from './filters.ts';
import type {PushRun} from './push-run.ts';
import {isEchoOf} from './same-value.ts';
import {subjectOf} from './subject.ts';
import {listTrueRows, readTruth, type TrueRow} from './truth.ts';

/** Numbers of records that bear everything that was sent and are nobody else's. */
export interface Candidates {
  /** Any of them can be what the create made. */
  readonly ours: readonly string[];
  /** By the service's clock these were there before it was sent. A clock proves nothing: a person decides. */
  readonly older: readonly string[];
}

/** A row as a document of the service showed it. */
interface ShownRow extends TrueRow {
  /** The `Date` of that document. */
  readonly dateHeader: string | null;
}

/**
 * Records that a create may have made. A record is somebody else's when it was known before the create was sent, when
 * another create has made it, and when it is nearer to another create whose fate is open.
 */
export async function findCandidates(run: PushRun): Promise<Candidates> {
  const {deps, change, writes} = run;
  const rows = (await readPlace(run)).filter((row) => isMatch(run, change.fields, row));
  if (rows.length === 0) return {ours: [], older: []};
  const records = rows.map(toAppearance);
  const {known, older} = await placeInTime(deps.pool, writes.table, {...change, key: writes.key, records});
  const rivals = await listRivalCreates(deps.pool, change);
  const isFree = (row: ShownRow) =>
    !known.has(row.number) &&
    !rivals.some((rival) => isNearer(rival, change.fields) && isMatch(run, rival, row));
  const free = new Set(rows.filter(isFree).map(({number}) => number));
  return {
    ours: [...free].filter((number) => !older.has(number)),
    older: [...free].filter((number) => older.has(number)),
  };
}

/** Of two creates that a record could be, it is the one that said more of it. */
function isNearer(rival: ChangeValues, ours: ChangeValues): boolean {
  return Object.keys(rival).length > Object.keys(ours).length;
}

function toAppearance({number, values, dateHeader}: ShownRow): Appearance {
  const {created_at: created = values.created_on} = values;
  const shownMs = readDate(dateHeader);
  return {
    number,
    createdAt: typeof created === 'string' ? created : null,
    shownAt: shownMs === null ? null : new Date(shownMs).toISOString(),
  };
}

function isMatch({rules}: PushRun, fields: ChangeValues, {values}: TrueRow): boolean {
  return Object.entries(fields).every(([name, value]) => {
    const kind = rules.get(name)?.kind ?? 'text';
    // A list need not say who is assigned.
    return kind === 'secret' || values[name] === undefined || isEchoOf(kind, value, values[name] ?? null);
  });
}

async function readPlace(run: PushRun): Promise<ShownRow[]> {
  const {writes, account, signal} = run;
  const call = {signal, urgency: 'write-back'} as const;
  const {parentNumber} = await subjectOf(run);
  if (writes.isNested) {
    const truth = await readTruth(run, parentNumber ?? '');
    return isGone(truth) ? [] : showRows(listTrueRows(run, truth), truth);
  }
  switch (writes.table.name) {
    case 'customers':
      return await readPages(run, (page) =>
        account.api.customers.list({...call, page, filters: filtersOf(run.change.fields)}),
      );
    case 'jobs':
      return await readPages(run, async (page) => {
        const asked = {...call, page, include: ['employees' as const]};
        const list = await account.api.jobs.listOfCustomer(parentNumber ?? '', asked);
        return isGone(list) ? {records: [], bad: [], dateHeader: null} : list;
      });
    case 'tasks':
      return await readPages(run, (page) => account.api.tasks.list({...call, page}));
    default:
      return toShownRows(run, await account.api.employees.list(call));
  }
}

/** All pages, until one is empty or brings nothing new. */
async function readPages(run: PushRun, readPage: (page: number) => Promise<List>): Promise<ShownRow[]> {
  const rows = new Map<string, ShownRow>();
  for (let page = 1; ; page++) {
    const before = rows.size;
    for (const row of toShownRows(run, await readPage(page))) rows.set(row.number, row);
    if (rows.size === before) return [...rows.values()];
  }
}

function toShownRows(run: PushRun, list: List): ShownRow[] {
  const rows = list.records.flatMap((record) => listTrueRows(run, readRows(run.stream, record, run.account)));
  return showRows(rows, list);
}

function showRows(rows: readonly TrueRow[], {dateHeader}: Pick<List, 'dateHeader'>): ShownRow[] {
  return rows.map((row) => ({...row, dateHeader}));
}

/** Exact filters; a text that the service may have trimmed is asked for as trimmed. */
function filtersOf(fields: ChangeValues): CustomerFilters {
  return Object.fromEntries(
    FILTERS.flatMap((name) => {
      const value = fields[name];
      return typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()]] : [];
    }),
  );
}
