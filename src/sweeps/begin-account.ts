import type {Account} from '../accounts/accounts.ts';
import type {Queryable} from '../postgres/database.ts';
import {planSchedules} from './default-schedules.ts';
import {isOfFreshness} from './freshness-schedule.ts';
import {insertSchedules, listSchedules} from './schedules.ts';
import {listLatestSweeps} from './stream-status.ts';
import {requestSweep} from './sweeps.ts';

/**
 * Gives an account that has no schedule those that every account begins with, and asks for a full
 * sweep of each stream that never had one. Done again, it changes nothing: a schedule that a person
 * took away stays away.
 * @param streams - names of the streams to sweep
 */
export async function beginAccount(
  db: Queryable,
  account: Pick<Account, 'accountId' | 'timeZone'>,
  streams: readonly string[],
): Promise<void> {
  const {accountId, timeZone} = account;
  const held = (await listSchedules(db, {accountId})).filter(
    (schedule) => !isOfFreshness(schedule),
  );
  if (held.length === 0)
    await insertSchedules(db, accountId, planSchedules(new Date(), timeZone, accountId));
  const latest = await listLatestSweeps(db, accountId);
  for (const stream of streams) {
    const isSwept = latest.some((sweep) => sweep.stream === stream && sweep.mode === 'full');
    if (!isSwept) await requestSweep(db, {accountId, stream, mode: 'full', requestedBy: 'command'});
  }
}
