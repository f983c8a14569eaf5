// Where a record would be that a create may have made: read, and matched on all that was sent.

import type {CustomerFilters} from '../../api/client.ts';
import type {List} from '../../api/operations.ts';
import {isGone} from '../../api/verdict.ts';
import {readRows} from '../../streams/rows.ts';
import {listKnownNumbers, listRivalCreates} from '../../warehouse/authored-rows.ts';
import type {ChangeValues} from '../../warehouse/change.ts';
import {FILTERS} from './filters.ts';
import type {PushRun} from './push-run.ts';
import {isEchoOf} from './same-value.ts';
import {subjectOf} from './subject.ts';
import {listTrueRows, readTruth, type TrueRow} from './truth.ts';

/** The service's clock and ours may differ by so much. */
const clockSkewMs = 120_000;

/**
 * Numbers of records that bear everything that was sent, were not there before it was sent, and are nobody else's: not
 * known as another's, and not nearer to another create whose fate is open.
 */
export async function findCandidates(run: PushRun): Promise<string[]> {
  const {deps, change, writes} = run;
  const rows = (await readPlace(run)).filter((row) => !isOlder(run, row) && isMatch(run, change.fields, row));
  const numbers = [...new Set(rows.map(({number}) => number))];
  if (numbers.length === 0) return [];
  const known = await listKnownNumbers(deps.pool, writes.table, {...change, key: writes.key, numbers});
  const rivals = await listRivalCreates(deps.pool, change);
  const isOurs = (row: TrueRow) =>
    !known.has(row.number) &&
    !rivals.some((rival) => isNearer(rival, change.fields) && isMatch(run, rival, row));
  return numbers.filter((number) => rows.some((row) => row.number === number && isOurs(row)));
}

/** Of two creates that a record could be, it is the one that said more of it. */
function isNearer(rival: ChangeValues, ours: ChangeValues): boolean {
  return Object.keys(rival).length > Object.keys(ours).length;
}

function isOlder({change}: PushRun, {values}: TrueRow): boolean {
  const {created_at: created = values.created_on} = values;
  if (typeof created !== 'string' || change.sentAt === null) return false;
  return Date.parse(created) < Date.parse(change.sentAt) - clockSkewMs;
}

function isMatch({rules}: PushRun, fields: ChangeValues, {values}: TrueRow): boolean {
  return Object.entries(fields).every(([name, value]) => {
    const kind = rules.get(name)?.kind ?? 'text';
    // A list need not say who is assigned.
    return kind === 'secret' || values[name] === undefined || isEchoOf(kind, value, values[name] ?? null);
  });
}

async function readPlace(run: PushRun): Promise<TrueRow[]> {
  const {writes, account, signal} = run;
  const call = {signal, urgency: 'write-back'} as const;
  const {parentNumber} = await subjectOf(run);
  if (writes.isNested) {
    const truth = await readTruth(run, parentNumber ?? '');
    return isGone(truth) ? [] : listTrueRows(run, truth);
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
        return isGone(list) ? {records: [], bad: []} : list;
      });
    case 'tasks':
      return await readPages(run, (page) => account.api.tasks.list({...call, page}));
    default:
      return toTrueRows(run, await account.api.employees.list(call));
  }
}

/** All pages, until one is empty or brings nothing new. */
async function readPages(run: PushRun, readPage: (page: number) => Promise<List>): Promise<TrueRow[]> {
  const rows = new Map<string, TrueRow>();
  for (let page = 1; ; page++) {
    const before = rows.size;
    for (const row of toTrueRows(run, await readPage(page))) rows.set(row.number, row);
    if (rows.size === before) return [...rows.values()];
  }
}

function toTrueRows(run: PushRun, {records}: List): TrueRow[] {
  return records.flatMap((record) => listTrueRows(run, readRows(run.stream, record, run.account)));
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
