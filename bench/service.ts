// npm run bench:service [-- --jobs 12000]: everything that a business has, by the built program's
// `start --once`: its process, the schema and four streams. The service keeps its answers ready. It
// reports; it asserts only that each sweep is certified.

import {fork} from 'node:child_process';
import {once} from 'node:events';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {parseArgs} from 'node:util';
import {formatNumber} from '../src/core/format.ts';
import {drawTable} from '../src/core/table.ts';
import {startProgram} from '../test/support/command.ts';
import {startPostgres} from '../test/support/own-postgres.ts';
import {SetUp} from '../test/support/set-up.ts';

const {values} = parseArgs({options: {jobs: {type: 'string', default: '12000'}}});
const runs = 3;
const certified = /│ certified │/g;
const streamCount = 4;

const setUp = new SetUp();
const {postgres} = await startPostgres(setUp, 'bench');
const service = fork(join(import.meta.dirname, 'load', 'kept-service.ts'), [
  await postgres.url('business'),
  values.jobs,
]);
try {
  const [{url, token}] = await once(service, 'message');
  const start = async (name: string) => await secondsOf(await postgres.url(name), {url, token});
  // The service renders each answer once; it keeps it from then on.
  await start('warm');
  const rows: (string | number)[][] = [];
  for (let run = 1; run <= runs; run++)
    rows.push([run, await start(`run_${run}`), await start(`run_${run}`)]);
  process.stdout.write(
    `${formatNumber(Number(values.jobs))} jobs and all that belongs to them, four streams\n` +
      `${drawTable(['run', 'first, s', 'unchanged, s'], rows)}\n`,
  );
} finally {
  service.disconnect();
  await setUp.end();
}

/** @returns how long a user waits for the command */
async function secondsOf(
  databaseUrl: string,
  service: {readonly url: string; readonly token: string},
): Promise<number> {
  const startedAt = performance.now();
  const program = join(import.meta.dirname, '..', 'bin', 'fieldmirror');
  const {code, stdout, stderr} = await startProgram([program, 'start', '--once'], {
    DATABASE_URL: databaseUrl,
    FIELDMIRROR_API_URL: service.url,
    FIELDMIRROR_API_TOKEN: service.token,
    FIELDMIRROR_TIME_ZONE: 'America/New_York',
    NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
  }).ended;
  if (code !== 0 || stdout.match(certified)?.length !== streamCount)
    throw new Error(`start --once ended with ${code}: ${stdout}${stderr}`);
  return (performance.now() - startedAt) / 1000;
}
