import {once} from 'node:events';
import {openQueueBackend} from '../../jobs/backend.ts';
import {startWorkers, type Workers} from '../../jobs/workers.ts';
import type {Config} from '../config.ts';
import {allStreams} from '../streams/all.ts';
import {planSchedules} from '../sync/default-schedules.ts';
import {insertSchedules, listSchedules, type Schedule} from '../warehouse/schedules.ts';
import {countRows, listLatestSweeps} from '../warehouse/status.ts';
import {requestSweep} from '../warehouse/sweeps.ts';
import {type Progress, watchProgress} from './progress.ts';
import {drawTable, formatDuration, print} from './report.ts';
import {drawSummary, exitCodeOf, summarise, watchSweeps} from './sweeps.ts';
import {type World, withWorld} from './world.ts';

export interface StartOptions {
  readonly once: boolean;
  readonly json: boolean;
}

interface Run extends StartOptions {
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/**
 * The main job: migrate, then worker and schedules. With `once`: one full sweep of every stream, a summary, exit.
 * @param signal - aborts when a person or a supervisor asks to stop
 * @returns the exit code
 */
export async function start(config: Config, options: StartOptions, signal: AbortSignal): Promise<number> {
  return await withWorld(config, async (world) => {
    const {databaseUrl, log, account} = world;
    const run = {...options, progress: watchProgress(options.json), signal};
    const backend = await openQueueBackend({redisUrl: config.redisUrl, databaseUrl, log});
    if (!options.json) process.stdout.write(`${describe(world, backend.kind)}\n\n`);
    if (!options.once)
      await insertSchedules(world.pool, account.accountId, planSchedules(new Date(), account.timeZone));
    const deps = {...world, timeZone: account.timeZone, onProgress: run.progress.advance};
    const duty = {accountId: account.accountId, keepsSchedules: !options.once};
    const workers = await startWorkers(deps, backend, duty);
    try {
      return await (options.once ? runOnce(world, workers, run) : stay(world, workers, run));
    } finally {
      run.progress.close();
      await workers.stop();
    }
  });
}

function describe(world: World, queue: string): string {
  return [
    'Fieldmirror',
    `  from   ${world.source}`,
    `  to     ${world.place}`,
    `  queue  ${queue === 'redis' ? 'Redis' : 'in the same Postgres'}`,
  ].join('\n');
}

async function runOnce(world: World, workers: Workers, run: Run): Promise<number> {
  const sweepIds: string[] = [];
  for (const {name: stream, table} of allStreams) {
    const asked = {accountId: world.account.accountId, stream, mode: 'full', requestedBy: 'command'} as const;
    sweepIds.push((await requestSweep(world.pool, asked)).sweepId);
    run.progress.begin(stream, await countRows(world.pool, table, world.account.accountId));
  }
  await workers.ringDue();
  const sweeps = await Promise.race([watchSweeps(world, sweepIds, run), workers.broken]);
  run.progress.close();
  const summaries = await summarise(world, sweeps);
  print(run.json, {json: {streams: summaries}, text: `\n${drawSummary(summaries)}`});
  return exitCodeOf(summaries);
}

async function stay(world: World, workers: Workers, run: Run): Promise<number> {
  const {accountId} = world.account;
  const latest = await listLatestSweeps(world.pool, accountId);
  for (const {name: stream} of allStreams) {
    const isSwept = latest.some((sweep) => sweep.stream === stream && sweep.mode === 'full');
    if (!isSwept) await requestSweep(world.pool, {accountId, stream, mode: 'full', requestedBy: 'command'});
  }
  await workers.ringDue();
  const schedules = await listSchedules(world.pool, {accountId});
  print(run.json, {json: {schedules}, text: drawSchedules(schedules)});
  if (!run.signal.aborted) await Promise.race([once(run.signal, 'abort'), workers.broken]);
  if (!run.json)
    process.stdout.write('\nStopping: no more work is taken; what is under way goes on at the next start.\n');
  return 0;
}

function drawSchedules(schedules: readonly Schedule[]): string {
  const rows = schedules.map((row) => {
    const inMs = Date.parse(row.nextDueAt) - Date.now();
    return [
      row.name,
      `every ${formatDuration(row.everyMs)}`,
      inMs <= 0 ? 'now' : `in ${formatDuration(inMs)}`,
    ];
  });
  return `${drawTable(['schedule', 'comes round', 'next due'], rows)}\n\nAt work. Ctrl-C stops.`;
}
