// npm run torture -- kills [--runs 20] [--seed 1]: `start --once` is killed with -9 at random
// moments, on both queue backends in turn, and restarted until it ends by itself; then the
// warehouse must match the service.

import {setTimeout as wait} from 'node:timers/promises';
import {parseArgs} from 'node:util';
import pg from 'pg';
import type {EmbeddedPostgres} from '../../src/postgres/embedded.ts';
import {seedBusiness} from '../../src/service/business.ts';
import {startService} from '../../src/service/server.ts';
import {allStreams} from '../../src/streams/all.ts';
import {startCommand} from '../support/command.ts';
import {findDifferences} from '../support/compare.ts';
import {startPostgres} from '../support/own-postgres.ts';
import {startServer} from '../support/redis-server.ts';
import {SetUp} from '../support/set-up.ts';
import {readTruth, type TrueRecord} from '../support/truth.ts';

const {values} = parseArgs({
  args: process.argv.slice(3),
  options: {runs: {type: 'string', default: '20'}, seed: {type: 'string', default: '1'}},
});
const runs = Number(values.runs);
const timeZone = 'America/New_York';
/** A whole run takes about this long; a kill comes at any moment of it. */
const longestMs = 5_000;
const killsPerRun = 2;

const random = randomFrom(Number(values.seed));
const setUp = new SetUp();
const {postgres} = await startPostgres(setUp, 'torture');
const service = await setUp.step(
  'starting the service',
  async () => {
    const databaseUrl = await postgres.url('service');
    await seedBusiness(databaseUrl, {
      seed: 7,
      customers: 100,
      jobs: 600,
      timeZone,
      today: '2026-11-02',
    });
    return await startService({databaseUrl, port: 0, timeZone, pageSize: 10});
  },
  (started) => started.close(),
);
const redis = await setUp.step('starting Redis', startServer, (server) => server.stop());
let wrong = 0;
try {
  const truth = new Map<string, TrueRecord[]>();
  for (const stream of allStreams) truth.set(stream.name, await readTruth(service, stream));
  for (let run = 1; run <= runs; run++) wrong += await torture(postgres, {run, truth});
} finally {
  await setUp.end();
}
process.stdout.write(
  `${runs} runs, ${runs * killsPerRun} kills, ${wrong} with other rows than the service\n`,
);
process.exit(wrong === 0 ? 0 : 1);

/** @returns 1 when the warehouse differs in the end */
async function torture(
  postgres: EmbeddedPostgres,
  {run, truth}: {readonly run: number; readonly truth: ReadonlyMap<string, TrueRecord[]>},
): Promise<number> {
  const backend = run % 2 === 0 ? 'redis' : 'postgres';
  const warehouseUrl = await postgres.url(`warehouse_${run}`);
  const env = {
    FIELDMIRROR_API_URL: service.url,
    FIELDMIRROR_API_TOKEN: service.token,
    FIELDMIRROR_TIME_ZONE: timeZone,
    DATABASE_URL: warehouseUrl,
    ...(backend === 'redis' ? {REDIS_URL: `${redis.url}/${run % 16}`} : {}),
  };
  const killedAt: number[] = [];
  for (let kill = 0; kill < killsPerRun; kill++) {
    const running = startCommand(['start', '--once'], env);
    killedAt.push(Math.round(random() * longestMs));
    await Promise.race([wait(killedAt.at(-1)), running.ended]);
    running.process.kill('SIGKILL');
    await running.ended;
  }
  const last = await startCommand(['start', '--once'], env).ended;
  const differences =
    last.code === 0
      ? await compare(warehouseUrl, truth)
      : [`exit code ${last.code}: ${last.stderr}`];
  const verdict = differences.length === 0 ? 'the same rows' : differences.slice(0, 5).join('; ');
  process.stdout.write(
    `run ${run} on ${backend}, killed after ${killedAt.join(' and ')} ms: ${verdict}\n`,
  );
  return differences.length === 0 ? 0 : 1;
}

async function compare(url: string, truth: ReadonlyMap<string, TrueRecord[]>): Promise<string[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const differences: string[] = [];
    for (const stream of allStreams)
      differences.push(...(await findDifferences(client, stream, truth.get(stream.name) ?? [])));
    return differences;
  } finally {
    await client.end();
  }
}

/** Mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
