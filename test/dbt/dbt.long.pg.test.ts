// The real dbt and MetricFlow read the package that `export dbt` writes, on Postgres and on DuckDB
// over the files of a delivered snapshot, in a folder or a bucket: no warning, every test of the
// data passes, and the metrics equal what `ask` answers. DBT_PYTHON names a folder with the
// packages of requirements.txt: python3 -m pip install --target FOLDER -r test/dbt/requirements.txt

import {spawnSync} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {cp, mkdtemp, readdir, readFile, writeFile} from 'node:fs/promises';
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
import {bucket, openS3Server, type S3Server} from '../support/s3-server.ts';
import {SetUp} from '../support/set-up.ts';
import {temporaryFolder} from '../support/temporary-folder.ts';

const packages = process.env.DBT_PYTHON;
const login = `analyst_${randomBytes(4).toString('hex')}`;
const password = randomBytes(12).toString('hex');
const setUp = new SetUp();
let place: MetricsPlace;
let folder: string;
let storage: S3Server;

/** A warehouse that dbt builds on: this one, or DuckDB over the files of a delivered snapshot. */
type Engine = 'postgres' | 'duckdb';
const folderOf = (engine: Engine) => join(folder, engine);
const lake = () => join(folder, 'lake');

function run(engine: Engine, program: 'dbt' | 'mf' | 'ossie-guard', args: readonly string[]) {
  const {status, stdout, stderr} = spawnSync(
    'python3',
    [join(packages ?? '', 'bin', program), ...args],
    {
      cwd: folderOf(engine),
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

function dbt(engine: Engine, ...args: string[]) {
  const given = engine === 'duckdb' ? ['--vars', `fieldmirror_delivery: ${lake()}`] : [];
  const usual = ['--warn-error', '--show-all-deprecations', '--no-use-colors'];
  return run(engine, 'dbt', [...usual, ...args, ...given]);
}

async function readJson(engine: Engine, path: string) {
  return JSON.parse(await readFile(join(folderOf(engine), path), 'utf8'));
}

/** The name of a column of the key, as MetricFlow calls it. */
function groupOf(column: string, word: string): string {
  if (column === 'place') return 'job_state__place';
  if (!column.endsWith('_key')) return `metric_time__${column === 'date' ? 'day' : column}`;
  // A repeat visit has the kind of its job.
  return `${word === 'repeat-visits' ? 'job__' : ''}${column.replace('_key', '')}`;
}

/** What MetricFlow says, row by row, of each account. */
async function measure(engine: Engine, {word, metrics, key, hasPeriod}: ToldMetrics) {
  const {days, accounts} = place;
  const file = join(folderOf(engine), `${word}.csv`);
  const groups = ['account', ...key.map((column) => groupOf(column, word))];
  const day = `{{ TimeDimension('metric_time', 'day') }}`;
  const {status, told} = run(engine, 'mf', [
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

const longest = 900_000;

describe.runIf(packages !== undefined)('dbt', () => {
  beforeAll(async () => {
    place = await openMetricsPlace(setUp);
    await setUp.step(
      'making a login that may read',
      () => makeRole(login, `LOGIN PASSWORD '${password}' IN ROLE fieldmirror_reader`),
      () => dropRoles(login),
    );
    folder = await mkdtemp(join(temporaryFolder(), 'fieldmirror-dbt-'));
    const env = {DATABASE_URL: place.url};
    const settings = join(folder, 'settings.yaml');
    storage = await setUp.step(
      'starting a server of S3',
      () => openS3Server(),
      (opened) => opened.close(),
    );
    const inBucket = {to: `s3://${bucket}/star`, endpoint: storage.url};
    await writeFile(settings, stringify({delivery: {lake: {to: lake()}, bucket: inBucket}}));
    for (const args of [['config', 'apply', settings], ['deliver']])
      expect(await runCommand(args, {...env, ...storage.keys})).toMatchObject({code: 0});
    const {hostname: host, port, pathname} = new URL(place.url);
    const dbname = pathname.slice(1);
    const outputs = {
      postgres: {host, port: Number(port), dbname, user: login, password},
      duckdb: {path: join(folder, 'lake.duckdb')},
    };
    for (const engine of ['postgres', 'duckdb'] as const) {
      expect(await runCommand(['export', 'dbt', folderOf(engine)], {})).toMatchObject({code: 0});
      const output = {type: engine, ...outputs[engine], schema: 'mart', threads: 1};
      await writeFile(
        join(folderOf(engine), 'profiles.yml'),
        stringify({fieldmirror: {target: engine, outputs: {[engine]: output}}}),
      );
    }
  }, longest);
  afterAll(() => setUp.end());

  describe.each(['postgres', 'duckdb'] as const)('on %s', (engine) => {
    test(
      'parses the package without a warning',
      () => {
        const {status, told} = dbt(engine, 'parse');
        expect(status, told).toBe(0);
        expect(told).not.toMatch(/warn|deprecat/i);
      },
      longest,
    );

    test(
      'builds the package with a read-only login, and every data test passes',
      async () => {
        const before = await place.pool.query('SELECT max(oid) AS last FROM pg_class');
        const {status, told} = dbt(engine, 'build');
        expect(status, told).toBe(0);
        const {results} = await readJson(engine, 'target/run_results.json');
        const states = results.map(({status: state}: {status: string}) => state);
        // An exposure has nothing to run.
        expect(new Set(states)).toEqual(new Set(['success', 'pass', 'no-op']));
        const passed = states.filter((state: string) => state === 'pass').length;
        expect(passed).toBeGreaterThan(80);
        process.stderr.write(`dbt build on ${engine}: ${passed} tests of the data passed\n`);
        expect((await place.pool.query('SELECT max(oid) AS last FROM pg_class')).rows).toEqual(
          before.rows,
        );
      },
      longest,
    );

    test(
      'reports that the source is fresh',
      async () => {
        const {status, told} = dbt(engine, 'source', 'freshness');
        expect(status, told).toBe(0);
        const {results} = await readJson(engine, 'target/sources.json');
        expect(results).toMatchObject([
          {unique_id: 'source.fieldmirror.fieldmirror.dim_account', status: 'pass'},
        ]);
      },
      longest,
    );

    test(
      'generates its documents without a warning',
      async () => {
        const {status, told} = dbt(engine, 'docs', 'generate');
        expect(status, told).toBe(0);
        const {sources} = await readJson(engine, 'target/catalog.json');
        expect(Object.keys(sources)).toContain('source.fieldmirror.fieldmirror.fct_job');
      },
      longest,
    );

    test('has an Open Semantic Interchange file that passes a linter', () => {
      const {status, told} = run(engine, 'ossie-guard', ['osi.yaml']);
      expect(status, told).toBe(0);
      expect(told).toMatch(/no drift, safety, or determinism issues found/);
    });

    test.each(questionsWithMetrics)(
      'the metrics of $word equal the answer of ask',
      async (question) => {
        const measured = await measure(engine, question);
        const differences: string[] = [];
        for (const {accountId} of place.accounts) {
          const asked = await askFigures(place, question, accountId);
          const figures: Figures = measured.get(accountId) ?? new Map();
          differences.push(...listDifferences(question, {asked, measured: figures}));
        }
        expect(differences).toEqual([]);
      },
      longest,
    );
  });

  /**
   * Types in what the document shows, in an empty home.
   * @param which - the first or the second of its blocks
   * @param replaced - what stands for a place of the reader's own
   * @returns the jobs and the revenue of what was built
   */
  async function typeIn(which: number, replaced: Readonly<Record<string, string>>) {
    const home = await mkdtemp(join(temporaryFolder(), 'fieldmirror-dbt-typed-'));
    const folderThere = join(home, '.fieldmirror', 'dbt');
    expect(await runCommand(['export', 'dbt', folderThere], {})).toMatchObject({code: 0});
    // What `INSTALL httpfs` would fetch.
    const extensions = join(packages ?? '', 'duckdb_extension_httpfs', 'extensions');
    for (const version of await readdir(extensions))
      await cp(
        join(extensions, version),
        join(home, '.duckdb', 'extensions', version, 'linux_amd64'),
        {recursive: true},
      );
    const document = await readFile(join(import.meta.dirname, '../../docs/bi-tools.md'), 'utf8');
    const blocks = [...document.matchAll(/```dbt\n(.*?)```/gs)].map(([, block = '']) => block);
    const typed = Object.entries(replaced).reduce(
      (text, [from, to]) => text.replaceAll(from, to),
      blocks[which] ?? '',
    );
    const lines = typed.split('\n').filter((line) => !line.startsWith('python3 -m pip install '));
    const {status, stdout} = spawnSync(
      'bash',
      ['-ec', ['dbt() { python3 "$PROGRAM" "$@"; }', ...lines, show].join('\n')],
      {
        cwd: home,
        encoding: 'utf8',
        env: {
          ...process.env,
          ...storage.keys,
          HOME: home,
          PYTHONPATH: packages,
          PROGRAM: join(packages ?? '', 'bin', 'dbt'),
        },
      },
    );
    expect(status, stdout).toBe(0);
    expect(stdout).toMatch(/PASS=\d{3} WARN=0 ERROR=0 SKIP=0/);
    const [shown = ''] = /^\{\n[\s\S]*^\}/m.exec(stdout) ?? [];
    return JSON.parse(shown).show[0];
  }

  const sums = 'count(*)::varchar AS jobs, sum(completed_amount)::varchar AS revenue';
  const show = `dbt --quiet show --output json --inline \
    "SELECT ${sums} FROM {{ source('fieldmirror', 'fct_job') }}"`;

  async function expectWarehouse(built: {jobs: string; revenue: string}): Promise<void> {
    const {rows} = await place.pool.query(
      'SELECT count(*)::integer AS jobs, sum(completed_amount)::float AS revenue FROM mart.fct_job',
    );
    expect([{jobs: Number(built.jobs), revenue: Number(built.revenue)}]).toEqual(rows);
  }

  test(
    'builds the package on DuckDB as docs/bi-tools.md prints it',
    async () => {
      await expectWarehouse(await typeIn(0, {'/srv/lake': lake()}));
    },
    longest,
  );

  test(
    'builds the package from a bucket, with the rows of the warehouse',
    async () => {
      const {host} = new URL(storage.url);
      const built = await typeIn(1, {
        's3://my-bucket/star': `s3://${bucket}/star`,
        'endpoint: storage.example.com': `endpoint: '${host}', use_ssl: false`,
      });
      await expectWarehouse(built);
    },
    longest,
  );
});

test.runIf(packages === undefined)('dbt is missing here, so it is not tested', () => {
  process.stderr.write(
    'dbt: not tested, for DBT_PYTHON names no folder with test/dbt/requirements.txt\n',
  );
});
