// How far work has come, how fast it goes, and how long it will take: told alike by a terminal, a log and a page.

import {
  countMovingChanges,
  listRunningSweeps,
  type MovingChanges,
  type RunningSweep,
} from '../../warehouse/health/under-way.ts';
import type {Queryable} from '../../warehouse/postgres/database.ts';
import {formatDuration, formatNumber} from '../format.ts';
import {nameSweep} from './log-words.ts';

/** The state of work that has a beginning and an end. */
export interface Pace {
  readonly done: number;
  /** Null where nobody knows. */
  readonly total: number | null;
  /** Null as long as there is too little to measure by. */
  readonly perSecond: number | null;
  /** Null where rate or total are unknown, and when more is done than was expected. */
  readonly leftMs: number | null;
}

/** A rate that was measured for less is a guess. */
const measuredMs = 1_000;

/** @param elapsedMs - since the work began with nothing done */
export function paceOf({
  done,
  total,
  elapsedMs,
}: {
  readonly done: number;
  readonly total: number | null;
  readonly elapsedMs: number;
}): Pace {
  const perSecond = done === 0 || elapsedMs < measuredMs ? null : (done * 1_000) / elapsedMs;
  const isOpen = total !== null && total > done;
  return {
    done,
    total,
    perSecond,
    leftMs: isOpen && perSecond !== null ? ((total - done) * 1_000) / perSecond : null,
  };
}

/** `1,500 of about 3,000 records, 310 a second, 5 s left` @param isExact - the total is known, not guessed */
export function tellPace(
  {done, total, perSecond, leftMs}: Pace,
  {things, isExact = false}: {readonly things: string; readonly isExact?: boolean},
): string {
  const far =
    total === null
      ? `${formatNumber(done)} ${things} so far`
      : `${formatNumber(done)} of ${isExact ? '' : 'about '}${formatNumber(total)} ${things}`;
  const rate = perSecond === null ? [] : [tellRate(perSecond)];
  const left = leftMs === null ? [] : [`${formatDuration(Math.max(1_000, leftMs))} left`];
  return [far, ...rate, ...left].join(', ');
}

/** `310 a second`; of slow work `12 a minute`. */
function tellRate(perSecond: number): string {
  if (perSecond >= 2) return `${formatNumber(Math.round(perSecond))} a second`;
  return `${formatNumber(Math.max(1, Math.round(perSecond * 60)))} a minute`;
}

/** One thing that is under way, in words. */
export interface UnderWay {
  readonly account: string;
  readonly text: string;
  readonly pace: Pace;
}

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
    stage === 'read' ? tellPace(pace, {things: 'records'}) : `${formatNumber(records)} records read`;
  return {account, pace, text: `${nameSweep(sweep)}: ${far}${stages[stage]}`};
}

/** `acme: 1,200 changes to carry, 18 a second, 1 min 7 s to go` */
export function describeChanges({
  accountName: account,
  left,
  settledLastMinute,
}: MovingChanges & Named): UnderWay {
  const perSecond = settledLastMinute === 0 ? null : settledLastMinute / 60;
  const leftMs = perSecond === null ? null : (left * 1_000) / perSecond;
  const pace = {done: settledLastMinute, total: settledLastMinute + left, perSecond, leftMs};
  const rate = perSecond === null ? [] : [tellRate(perSecond)];
  const time = leftMs === null ? [] : [`${formatDuration(Math.max(1_000, leftMs))} to go`];
  const open = `${formatNumber(left)} ${left === 1 ? 'change' : 'changes'} to carry`;
  return {account, pace, text: `${account}: ${[open, ...rate, ...time].join(', ')}`};
}
