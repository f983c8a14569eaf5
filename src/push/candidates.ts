// The place of a record that a create may have made: read, and matched on all that was sent.

import type {List} from '../api/client.ts';
import {isGone} from '../api/verdict.ts';
import {listRivalCreates, placeInTime} from '../changes/authored-rows.ts';
import type {NewSubject, Parent} from '../changes/compose-request.ts';
import {RecordError} from '../core/errors.ts';
import {readRows} from '../streams/record-rows.ts';
import {isLastLook} from './decide-look.ts';
import type {PushRun} from './push-run.ts';
import {readRemote} from './read-remote.ts';
import {type Candidates, filtersOf, isMatch, pickCandidates, toAppearance} from './recognize.ts';
import {listRemoteRows, type RemoteRow, type ShownRow} from './remote.ts';

/** Records that a create may have made. */
export async function findCandidates(run: PushRun, subject: NewSubject): Promise<Candidates> {
  const {deps, change, writes} = run;
  const rows = (await readPlace(run, subject)).filter((row) => isMatch(run, change.fields, row));
  if (rows.length === 0) return {ours: [], older: []};
  const records = rows.map(toAppearance);
  // Rivals first: when one is settled between the two questions, its record is known to the second.
  const rivals = await listRivalCreates(deps.pool, change);
  const times = await placeInTime(deps.pool, writes.table, {...change, key: writes.key, records});
  return pickCandidates(run, rows, {rivals, ...times});
}

/** The list in which a new record stands. */
async function readPlace(run: PushRun, {parent}: NewSubject): Promise<readonly ShownRow[]> {
  const {writes, account, signal} = run;
  const call = {signal, urgency: 'write-back'} as const;
  if (parent !== null) return await readUnderParent(run, parent);
  switch (writes.table.name) {
    case 'customers': {
      const filters = filtersOf(run.change.fields, {isLast: isLastLook(run)});
      return await readPages(run, (page) => account.api.customers.list({...call, page, filters}));
    }
    case 'tasks':
      return await readTogether(run, account.api.tasks, (shared) =>
        readPages(run, (page) => account.api.tasks.list({...call, signal: shared, page})),
      );
    default:
      return await readTogether(run, account.api.employees, async (shared) =>
        toShownRows(run, await account.api.employees.list({...call, signal: shared})),
      );
  }
}

async function readUnderParent(run: PushRun, {number}: Parent): Promise<readonly ShownRow[]> {
  const {writes, account, signal} = run;
  if (writes.isNested) {
    const remote = await readRemote(run, number);
    return isGone(remote) ? [] : showRows(listRemoteRows(run, remote), remote);
  }
  const call = {signal, urgency: 'write-back', include: ['employees']} as const;
  return await readPages(run, async (page) => {
    const list = await account.api.jobs.listOfCustomer(number, {...call, page});
    return isGone(list) ? {records: [], bad: [], dateHeader: null} : list;
  });
}

/** A list of the whole account, read once for all creates that look there beside each other. */
async function readTogether(
  {readings, signal}: PushRun,
  list: object,
  read: (shared: AbortSignal) => Promise<ShownRow[]>,
): Promise<readonly ShownRow[]> {
  const rows = await readings.ask(list, read);
  signal.throwIfAborted();
  return rows;
}

/** All pages, until one is empty or brings nothing new. */
async function readPages(
  run: PushRun,
  readPage: (page: number) => Promise<List>,
): Promise<ShownRow[]> {
  const rows = new Map<string, ShownRow>();
  for (let page = 1; ; page++) {
    const before = rows.size;
    for (const row of toShownRows(run, await readPage(page))) rows.set(row.number, row);
    if (rows.size === before) return [...rows.values()];
  }
}

function toShownRows(run: PushRun, list: List): ShownRow[] {
  const [bad] = list.bad;
  if (bad !== undefined)
    throw new RecordError(
      `one of the ${run.writes.list} cannot be read, and may be what was created: ${bad.reason}`,
    );
  const rows = list.records.flatMap((record) =>
    listRemoteRows(run, readRows(run.stream, record, run.account)),
  );
  return showRows(rows, list);
}

function showRows(rows: readonly RemoteRow[], {dateHeader}: Pick<List, 'dateHeader'>): ShownRow[] {
  return rows.map((row) => ({...row, dateHeader}));
}
