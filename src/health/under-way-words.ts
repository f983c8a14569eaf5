// What is under way: told alike by a terminal, a log and a page.

import {countMovingChanges} from '../changes/moving-changes.ts';
import {describeChanges} from '../changes/moving-words.ts';
import {formatNumber, paceOf, tellPace, type UnderWay} from '../core/format.ts';
import type {Queryable} from '../postgres/database.ts';
import {nameSweep} from './log-words.ts';
import {listRunningSweeps, type RunningSweep} from './under-way.ts';

/** What is under way in some accounts, from the rows alone: sweeps first. */
export async function readUnderWay(
  db: Queryable,
  accounts: readonly {readonly accountId: string; readonly name: string}[],
): Promise<UnderWay[]> {
  const accountIds = accounts.map(({accountId}) => accountId);
  const names = new Map(accounts.map(({accountId, name}) => [accountId, name]));
  const nameOf = ({accountId}: {readonly accountId: string}) => names.get(accountId) ?? accountId;
  const sweeps = await listRunningSweeps(db, accountIds);
  const changes = await countMovingChanges(db, accountIds);
  return [
    ...sweeps.map((sweep) => describeSweep({...sweep, accountName: nameOf(sweep)})),
    ...changes.map((moving) => describeChanges({...moving, accountName: nameOf(moving)})),
  ];
}

type Named = {readonly accountName: string};

const stages = {read: '', verify: ', now verified', approved: ', as a person approved'} as const;

/** `sweep 12 of jobs (acme): 1,500 of about 3,000 records, 310 a second, 5 s left` */
export function describeSweep(sweep: RunningSweep & Named): UnderWay {
  const {accountName: account, records, lastRecords, elapsedMs, stage} = sweep;
  // A list that is read to its end takes as long to verify as it takes: no rate tells that.
  const pace =
    stage === 'read'
      ? paceOf({done: records, total: lastRecords, elapsedMs})
      : {done: records, total: null, perSecond: null, leftMs: null};
  const far =
    stage === 'read'
      ? tellPace(pace, {things: 'records'})
      : `${formatNumber(records)} records read`;
  return {account, pace, text: `${nameSweep(sweep)}: ${far}${stages[stage]}`};
}
