// The real dbt and MetricFlow read the package that `export dbt` writes: no warning, every test of
// the data passes, and the metrics equal what `ask` answers. DBT_PYTHON names a folder with the
// packages of requirements.txt: python3 -m pip install --target FOLDER -r test/dbt/requirements.txt

import {spawnSync} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {mkdtemp, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {stringify} from 'yaml';
import {
  askFigures,
  type Figures,
  listDifferences,
  type MetricsPlace,
  openMetricsPlace,
  questionsWithMetrics,
  type ToldMetrics,
  toNumber,
} from '../star/metrics-place.ts';
import {runCommand} from '../support/command.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {SetUp} from '../support/set-up.ts';
import {temporaryFolder} from '../support/temporary-folder.ts';

const packages = process.env.DBT_PYTHON;
const login = `analyst_${randomBytes(4).toString('hex')}`;
const password = randomBytes(12).toString('hex');
const setUp = new SetUp();
let place: MetricsPlace;
let folder: string;

function run(program: 'dbt' | 'mf', args: readonly string[]) {
  const {status, stdout, stderr} = spawnSync(
    'python3',
    [join(packages ?? '', 'bin', program), ...args],
    {
      cwd: folder,
      encoding: 'utf8',
      env: {
        ...process.env,
        PYTHONPATH: packages ?? '',
        PYTHONDONTWRITEBYTECODE: '1',
        DO_NOT_TRACK: '1',
        DBT_SEND_ANONYMOUS_USAGE_STATS: 'false',
        NO_COLOR: '1',
      },
    },
  );
  return {status, told: `${stdout}${stderr}`};
}

function dbt(...args: string[]) {
  return run('dbt', ['--warn-error', '--show-all-deprecations', '--no-use-colors', ...args]);
}

async function readJson(path: string) {
  return JSON.parse(await readFile(join(folder, path), 'utf8'));
}

/** The name of a column of the key, as MetricFlow calls it. */
function groupOf(column: string, word: string): string {
  if (column === 'place') return 'job_state__place';
  if (!column.endsWith('_key')) return `metric_time__${column === 'date' ? 'day' : column}`;
  // A repeat visit has the kind of its job.
  return `${word === 'repeat-visits' ? 'job__' : ''}${column.replace('_key', '')}`;
}

/** What MetricFlow says, row by row, of each account. */
async function measure({word, metrics, key, hasPeriod}: ToldMetrics) {
  const {days, accounts} = place;
  const file = join(folder, `${word}.csv`);
  const groups = ['account', ...key.map((column) => groupOf(column, word))];
  const day = `{{ TimeDimension('metric_time', 'day') }}`;
  const {status, told} = run('mf', [
    ...['query', '--metrics', metrics.map(({metric}) => metric).join(',')],
    ...['--group-by', groups.join(','), '--csv', file],
    ...(hasPeriod ? ['--where', `${day} >= '${days.from}' AND ${day} <= '${days.to}'`] : []),
  ]);
  expect(status, told).toBe(0);
  const [head = '', ...lines] = (await readFile(file, 'utf8')).trimEnd().split(/\r?\n/);
  const names = head.split(',');
  const found = new Map<string, Figures & Map<string, Record<string, number | null>>>();
  for (const {accountId} of accounts) found.set(accountId, new Map());
  for (const line of lines) {
    const cells = new Map(line.split(',').map((cell, at) => [names[at], cell]));
    const [account = '', ...id] = groups.map((name) => cells.get(name) ?? '');
    const days = id.map((cell) => cell.replace(/[T ]00:00:00.*$/, '').replace(/\.0$/, ''));
    found
      .get(account.replace(/\.0$/, ''))
      ?.set(
        days.join(' '),
        Object.fromEntries(metrics.map(({metric}) => [metric, toNumber(cells.get(metric))])),
      );
  }
  return found;
}

describe.runIf(packages !== undefined)('dbt', () => {
  beforeAll(async () => {
    place = await openMetricsPlace(setUp);
    await setUp.step(
      'making a login that may read',
      () => makeRole(login, `LOGIN PASSWORD '${password}' IN ROLE fieldmirror_reader`),
      () => dropRoles(login),
    );
    folder = await mkdtemp(join(temporaryFolder(), 'fieldmirror-dbt-'));
    expect(await runCommand(['export', 'dbt', folder], {})).toMatchObject({code: 0});
    const {hostname: host, port, pathname} = new URL(place.url);
    const dbname = pathname.slice(1);
    const warehouse = {
      ...{type: 'postgres', host, port: Number(port), dbname, user: login, password},
      ...{schema: 'mart', threads: 1},
    };
    await writeFile(
      join(folder, 'profiles.yml'),
      stringify({fieldmirror: {target: 'warehouse', outputs: {warehouse}}}),
    );
  });
  afterAll(() => setUp.end());

  test('parses the package without a warning', () => {
    const {status, told} = dbt('parse');
    expect(status, told).toBe(0);
    expect(told).not.toMatch(/warn|deprecat/i);
  }, 600_000);

  test('builds it as a login that may only read: every test of the data passes', async () => {
    const before = await place.pool.query('SELECT max(oid) AS last FROM pg_class');
    const {status, told} = dbt('build');
    expect(status, told).toBe(0);
    const {results} = await readJson('target/run_results.json');
    const states = results.map(({status: state}: {status: string}) => state);
    // An exposure has nothing to run.
    expect(new Set(states)).toEqual(new Set(['success', 'pass', 'no-op']));
    const passed = states.filter((state: string) => state === 'pass').length;
    expect(passed).toBeGreaterThan(100);
    process.stderr.write(`dbt build: ${passed} tests of the data passed\n`);
    expect((await place.pool.query('SELECT max(oid) AS last FROM pg_class')).rows).toEqual(
      before.rows,
    );
  }, 900_000);

  test('makes its documents without a warning', async () => {
    const {status, told} = dbt('docs', 'generate');
    expect(status, told).toBe(0);
    const {sources} = await readJson('target/catalog.json');
    expect(Object.keys(sources)).toContain('source.fieldmirror.fieldmirror.fct_job');
  }, 600_000);

  test.each(questionsWithMetrics)(
    '$word equals its metrics',
    async (question) => {
      const measured = await measure(question);
      const differences: string[] = [];
      for (const {accountId} of place.accounts) {
        const asked = await askFigures(place, question, accountId);
        const figures: Figures = measured.get(accountId) ?? new Map();
        differences.push(...listDifferences(question, {asked, measured: figures}));
      }
      expect(differences).toEqual([]);
    },
    300_000,
  );
});

test.runIf(packages === undefined)('dbt is missing here, so nothing is proven about it', () => {
  process.stderr.write(
    'dbt: not tested, for DBT_PYTHON names no folder with test/dbt/requirements.txt\n',
  );
});
