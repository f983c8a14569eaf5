import type {Config} from '../config.ts';
import {FatalError} from '../errors.ts';
import {allStreams} from '../streams/all.ts';
import {type Account, listAccounts} from '../warehouse/accounts.ts';
import {checkMigrations} from '../warehouse/migration-check.ts';
import {listSchedules, type Schedule} from '../warehouse/schedules.ts';
import {readStatus, type StreamStatus} from '../warehouse/status.ts';
import {drawTable, formatDuration, print} from './report.ts';
import {withWarehouse} from './world.ts';

interface AccountStatus {
  readonly account: Account;
  readonly streams: readonly StreamStatus[];
  readonly schedules: readonly Schedule[];
}

/**
 * Health at a glance, from the rows alone: nothing is asked of the service or the queue.
 * @returns the exit code: 1 when a last full sweep failed or records are in quarantine
 */
export async function status(config: Config, options: {readonly json: boolean}): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`);
    const accounts: AccountStatus[] = [];
    for (const account of await listAccounts(pool)) {
      const {accountId} = account;
      const streams = await readStatus(pool, accountId, allStreams);
      accounts.push({account, streams, schedules: await listSchedules(pool, {accountId})});
    }
    print(options.json, {json: {warehouse: place, accounts}, text: draw(accounts, place)});
    return accounts.some(needsCare) ? 1 : 0;
  });
}

function needsCare({streams}: AccountStatus): boolean {
  return streams.some((stream) => lastFull(stream)?.state === 'failed' || stream.quarantined > 0);
}

function draw(accounts: readonly AccountStatus[], place: string): string {
  if (accounts.length === 0) return `${place}: no account yet; fieldmirror start begins with one`;
  return [`warehouse ${place}`, ...accounts.map(drawAccount)].join('\n\n');
}

function drawAccount({account, streams, schedules}: AccountStatus): string {
  const head = [
    'stream',
    'rows',
    'last full sweep',
    'ended',
    'last look at a window',
    'in quarantine',
    'next due',
  ];
  const rows = streams.map((stream) => [
    stream.stream,
    stream.rows,
    lastFull(stream)?.state ?? 'never',
    ago(lastFull(stream)?.endedAt),
    ago(lastWindow(stream)),
    stream.quarantined,
    ahead(schedules.find((schedule) => schedule.stream === stream.stream)?.nextDueAt),
  ]);
  const errors = streams.flatMap((stream) => {
    const error = lastFull(stream)?.error;
    return error ? [`${stream.stream}: ${error}`] : [];
  });
  return [`account ${account.name}`, drawTable(head, rows), ...errors].join('\n');
}

function lastFull(stream: StreamStatus) {
  return stream.sweeps.find((sweep) => sweep.mode === 'full');
}

function lastWindow(stream: StreamStatus): string | undefined {
  const ends = stream.sweeps
    .filter((sweep) => sweep.mode === 'window')
    .flatMap((sweep) => sweep.endedAt ?? []);
  return ends.sort().at(-1);
}

function ago(instant: string | null | undefined): string {
  return instant ? `${formatDuration(Date.now() - Date.parse(instant))} ago` : '';
}

function ahead(instant: string | undefined): string {
  if (instant === undefined) return '';
  const ms = Date.parse(instant) - Date.now();
  return ms <= 0 ? 'now' : `in ${formatDuration(ms)}`;
}
