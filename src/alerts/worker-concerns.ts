// Concerns from the rows of workers: whether one is alive, and which accounts none of them can
// serve.

import type {Worker} from '../accounts/workers.ts';
import {formatAgo, formatDuration, formatNumber} from '../core/format.ts';
import {demoName} from '../core/names.ts';
import type {AccountFacts} from '../health/account-status.ts';
import type {Concern} from './concerns.ts';

/** The workers, and the keys of the command that looks. */
export interface Workforce {
  readonly workers: readonly Worker[];
  /** The keys that the command itself was given: they are asked where no worker is alive. */
  readonly keyIds: readonly string[];
}

/** A worker looks every two seconds; a schedule that waits for longer has none. */
const lateMs = 60_000;
const shownWorkers = 5;
const unserved = {stream: null, kind: 'unserved', subject: '', since: null} as const;

/**
 * Finds the concerns that need a person:
 * - no worker is alive, and one was killed within the last day, or schedules are due;
 * - an active account that no worker serves, because none of them has its token or the key that
 *   opens it.
 * @param now - ISO 8601, by the database's clock
 */
export function findWorkerConcerns(
  accounts: readonly AccountFacts[],
  {workers, keyIds}: Workforce,
  now: string,
): Concern[] {
  const alive = workers.filter(({isAlive}) => isAlive);
  const active = accounts.filter(({account}) => account.state === 'active');
  const absence = alive.length > 0 ? null : describeAbsence(active, workers[0], now);
  return [
    ...(absence === null ? [] : [absence]),
    ...active.flatMap(({account}) => {
      const matter = describeUnserved(account, alive, keyIds);
      return matter === null ? [] : [{...unserved, account: account.name, ...matter}];
    }),
  ];
}

/** One line for each worker that is alive, the latest seen first. */
export function drawWorkers(workers: readonly Worker[], now: string): string {
  const alive = workers.filter(({isAlive}) => isAlive);
  const lines = alive.slice(0, shownWorkers).map(({host, pid, version, startedAt, accountIds}) => {
    const count =
      accountIds.length === 1 ? '1 account' : `${formatNumber(accountIds.length)} accounts`;
    const since = formatDuration(Math.max(0, Date.parse(now) - Date.parse(startedAt)));
    return `worker    ${host}, pid ${pid}, version ${version}, for ${since}: ${count}`;
  });
  if (alive.length > lines.length) lines.push(`          and ${alive.length - lines.length} more`);
  return lines.length === 0
    ? 'worker    none is alive; fieldmirror start is one'
    : lines.join('\n');
}

/**
 * Why nobody opens what is sealed with a key: `sealed with key 4f1c, and the workers have none`;
 * null where a live worker has it. Where no worker is alive, the keys of the command that looks
 * count.
 */
export function describeMissingKey(keyId: string, {workers, keyIds}: Workforce): string | null {
  const alive = workers.filter(({isAlive}) => isAlive);
  const held = alive.length === 0 ? keyIds : alive.flatMap((worker) => worker.keyIds);
  // Without a worker and without a key of our own nothing is known.
  if (held.includes(keyId) || (alive.length === 0 && held.length === 0)) return null;
  const they = alive.length === 0 ? 'the key given here is' : 'the workers have';
  return `sealed with key ${keyId}, and ${they} ${[...new Set(held)].join(', ') || 'none'}`;
}

function describeAbsence(
  active: readonly AccountFacts[],
  lost: Worker | undefined,
  now: string,
): Concern | null {
  const dueAts = active
    .flatMap(({schedules}) => schedules.map(({nextDueAt}) => nextDueAt))
    .toSorted();
  const due = dueAts.filter((dueAt) => Date.parse(now) - Date.parse(dueAt) > lateMs);
  const isTold = active.some(({overdue}) => overdue.length > 0);
  if (lost === undefined && (due.length === 0 || isTold)) return null;
  const waiting =
    due[0] === undefined ? '' : `; ${describeDue(due.length)}, the first for ${since(due[0], now)}`;
  const text =
    lost === undefined
      ? `no worker is alive${waiting}`
      : `no worker is alive: ${lost.host}, pid ${lost.pid}, was last heard of ${formatAgo(lost.seenAt, now)}, and did not stop as it should${waiting}`;
  const place = {account: null, stream: null, subject: ''};
  const from = lost?.seenAt ?? due[0] ?? null;
  return {...place, kind: 'no-worker', since: from, text, next: 'fieldmirror start'};
}

function describeDue(count: number): string {
  return count === 1 ? '1 schedule is due' : `${formatNumber(count)} schedules are due`;
}

function since(instant: string, now: string): string {
  return formatDuration(Date.parse(now) - Date.parse(instant));
}

function describeUnserved(
  {accountId, name, keyId}: AccountFacts['account'],
  alive: readonly Worker[],
  keyIds: readonly string[],
): Pick<Concern, 'text' | 'next'> | null {
  if (alive.some(({accountIds}) => accountIds.includes(accountId))) return null;
  if (name === demoName)
    return alive.length === 0
      ? null
      : {
          text: 'no worker serves it: made-up data of an earlier start',
          next: `fieldmirror accounts pause ${name}`,
        };
  if (keyId === null)
    return alive.length === 0
      ? null
      : {
          text: 'no worker knows its token',
          next: `start one with its FIELDMIRROR_API_URL and FIELDMIRROR_API_TOKEN, or keep the token here: fieldmirror accounts add ${name}`,
        };
  const lack = describeMissingKey(keyId, {workers: alive, keyIds});
  if (lack === null) return null;
  return {
    text: `its token is ${lack}`,
    next: `give start that key in FIELDMIRROR_KEY, or seal the token anew: fieldmirror accounts add ${name}`,
  };
}
