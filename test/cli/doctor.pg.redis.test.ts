// The doctor finds the faults of each dependency by itself, and says how to mend them.

import {Redis} from 'ioredis';
import pg from 'pg';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';
import {asRepair, createDatabase} from '../support/postgres.ts';
import {isInstalled, startServer} from '../support/redis-server.ts';
import {scriptService} from '../support/scripted-service.ts';
import {withClient} from '../support/with-client.ts';

interface Finding {
  readonly what: string;
  readonly state: string;
  readonly found: string;
}

let place: Place;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  env = place.env;
});

afterAll(() => place.close());

async function examine(
  changed: Record<string, string> = {},
): Promise<{code: number | null; findings: Finding[]}> {
  const {code, stdout, stderr} = await runCommand(['doctor', '--json'], {...env, ...changed});
  expect(stderr).toBe('');
  return {code, findings: JSON.parse(stdout).findings};
}

function of(findings: readonly Finding[], what: string): Finding | undefined {
  return findings.find((finding) => finding.what === what);
}

test('if all is well, every finding is good and the exit code is 0', async () => {
  const {code, findings} = await examine();
  expect(findings.map(({state}) => state)).toEqual(findings.map(() => 'good'));
  expect(findings.length).toBeGreaterThanOrEqual(6);
  expect(code).toBe(0);
});

test.each([
  ['a wrong token', {FIELDMIRROR_API_TOKEN: 'wrong'}, 'API', /401.*token/is],
  [
    'an unreachable API',
    {FIELDMIRROR_API_URL: 'http://127.0.0.1:1'},
    'API',
    /127\.0\.0\.1:1.*FIELDMIRROR_API_URL/s,
  ],
  [
    'Postgres down',
    {DATABASE_URL: 'postgres://u:p@127.0.0.1:1/d'},
    'Postgres',
    /start Postgres, or fix.*DATABASE_URL/,
  ],
  ['Redis down', {REDIS_URL: 'redis://127.0.0.1:1'}, 'Redis', /start it, fix REDIS_URL, or unset/],
])('%s is the only bad finding, and the exit code is 3', async (_, changed, what, words) => {
  const {code, findings} = await examine(changed);
  expect(of(findings, what)).toMatchObject({state: 'bad', found: expect.stringMatching(words)});
  expect(findings.filter(({state}) => state === 'bad')).toHaveLength(1);
  expect(code).toBe(3);
});

test('an account without any alert rule is a warning', async () => {
  const pool = new pg.Client({connectionString: env.DATABASE_URL ?? ''});
  await pool.connect();
  await pool.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone, state)
      VALUES ('acme', 'https://example.com', 'UTC', 'paused')`,
  );
  const {code, findings} = await examine();
  await pool.query('DELETE FROM sync.accounts');
  await pool.end();
  expect(of(findings, 'alerts')).toMatchObject({
    state: 'warning',
    found: expect.stringContaining(
      'no rule: no one is notified of problems; fieldmirror alerts add',
    ),
  });
  expect(code).toBe(1);
});

test('an alert rule whose messages do not arrive is a warning with the reason', async () => {
  const pool = new pg.Client({connectionString: env.DATABASE_URL ?? ''});
  await pool.connect();
  expect(of((await examine()).findings, 'alerts')).toMatchObject({
    state: 'good',
    found: expect.stringContaining('no rule'),
  });
  await pool.query(
    `INSERT INTO sync.alert_rules (name, receiver, target, quiet_ms)
      VALUES ('desk', 'email', 'ops@example.com', 0);
     INSERT INTO sync.alerts (cause, since, text) VALUES ('no-worker', now(), 'no worker is alive');
     INSERT INTO sync.alert_deliveries (rule_id, alert_id, kind, attempts, fence, last_error,
       created_at)
     SELECT rule_id, alert_id, 'opened', 4, 4, 'mail.example.com: 451', now() - interval '2 hours'
     FROM sync.alert_rules, sync.alerts`,
  );
  const {code, findings} = await examine();
  await pool.query('DELETE FROM sync.alert_rules; DELETE FROM sync.alerts');
  await pool.end();
  expect(of(findings, 'alerts')).toEqual({
    what: 'alerts',
    state: 'warning',
    found:
      'messages of the alert rule desk do not arrive, for 2 h: ' +
      'mail.example.com: 451; fieldmirror alerts test desk',
  });
  expect(code).toBe(1);
});

test('an account bound to a name that no role has is a warning with the next step', async () => {
  const renamed = await createDatabase(inject('warehouseTemplate'));
  const client = new pg.Client({connectionString: renamed.url});
  await client.connect();
  await client.query(
    `WITH made AS (INSERT INTO sync.accounts (name, api_url, time_zone)
       VALUES ('north', 'https://app.example.com/north', 'UTC') RETURNING account_id)
     INSERT INTO sync.author_accounts (role_name, account_id, holds_deletes)
     SELECT 'gone O''Neil', account_id, true FROM made`,
  );
  const before = of((await examine({DATABASE_URL: renamed.url})).findings, 'authors');
  await client.query(/SELECT sync\.revoke_account.*$/.exec(before?.found ?? '')?.[0] ?? '');
  const after = of((await examine({DATABASE_URL: renamed.url})).findings, 'authors');
  await client.end();
  await renamed.drop();
  expect(before).toMatchObject({
    state: 'warning',
    found: expect.stringMatching(/^gone O'Neil: bound to an account, but no role has that name/),
  });
  expect(after).toBeUndefined();
});

test('missing migrations are bad, and the command that applies them is named', async () => {
  const empty = await createDatabase();
  const {code, findings} = await examine({DATABASE_URL: empty.url});
  await empty.drop();
  expect(of(findings, 'migrations')).toMatchObject({
    state: 'bad',
    found: expect.stringContaining('fieldmirror migrate'),
  });
  expect(code).toBe(3);
});

test('functions of another state of the program are bad, although no migration lacks', async () => {
  const earlier = await createDatabase(inject('warehouseTemplate'));
  await withClient(earlier.url, (client) =>
    client.query(`UPDATE sync.source SET hash = 'that of another state'`),
  );
  const at = {DATABASE_URL: earlier.url};
  const before = await examine(at);
  const migrated = await runCommand(['migrate'], {...env, ...at});
  const after = await examine(at);
  await earlier.drop();
  expect(before.code).toBe(3);
  expect(of(before.findings, 'functions')).toMatchObject({
    state: 'bad',
    found: expect.stringMatching(/got those of another state of it; run `fieldmirror migrate`$/),
  });
  expect(migrated).toMatchObject({code: 0});
  expect(of(after.findings, 'functions')).toBeUndefined();
});

test('a sequence that is behind its table is bad, and makes start fail', async () => {
  const restored = await createDatabase(inject('warehouseTemplate'));
  const client = new pg.Client({connectionString: asRepair(restored.url)});
  await client.connect();
  await client.query(
    `INSERT INTO warehouse.customers (row_id, account_id, name) OVERRIDING SYSTEM VALUE
      VALUES (70, 1, 'x')`,
  );
  await client.end();
  const {code, findings} = await examine({DATABASE_URL: restored.url});
  const started = await runCommand(['start', '--once'], {...env, DATABASE_URL: restored.url});
  await restored.drop();
  const mend = `SELECT setval('warehouse.customers_row_id_seq', 70)`;
  expect(of(findings, 'sequences')).toMatchObject({
    state: 'bad',
    found: expect.stringContaining(mend),
  });
  expect(code).toBe(3);
  expect(started).toMatchObject({code: 3, stderr: expect.stringContaining(mend)});
});

describe.skipIf(!isInstalled())(
  'a Redis that cannot be used is bad, with its error and a fix',
  () => {
    test.each([
      [
        ['--databases', '2'],
        '/7',
        /DB index is out of range.*fix the number at the end of REDIS_URL/,
      ],
      [['--replicaof', '127.0.0.1 1'], '', /READONLY.*point REDIS_URL at the primary/],
      [['--maxmemory', '1'], '', /OOM.*raise its maxmemory/],
    ])('started with %j', async (options, path, words) => {
      const redis = await startServer(options);
      const {code, findings} = await examine({REDIS_URL: redis.url + path});
      await redis.stop();
      expect(of(findings, 'Redis')).toMatchObject({
        state: 'bad',
        found: expect.stringMatching(words),
      });
      expect(code).toBe(3);
    });

    test('if its password is missing', async () => {
      const redis = await startServer();
      const client = new Redis(redis.url);
      await client.config('SET', 'requirepass', 'geheim');
      const {findings} = await examine({REDIS_URL: redis.url});
      client.disconnect();
      await redis.stop();
      const found = expect.stringMatching(/NOAUTH.*fix the user and password in REDIS_URL/);
      expect(of(findings, 'Redis')).toMatchObject({state: 'bad', found});
    });

    test('if another server listens at its address', async () => {
      const {databaseUrl} = place;
      const {code, findings} = await examine({REDIS_URL: `redis://${new URL(databaseUrl).host}`});
      expect(of(findings, 'Redis')).toMatchObject({
        state: 'bad',
        found: expect.stringMatching(/fix REDIS_URL/),
      });
      expect(code).toBe(3);
    });
  },
);

describe.skipIf(!isInstalled())('a Redis that can lose queue jobs is a warning', () => {
  test.each([
    [['--appendonly', 'no'], /no append-only file.*CONFIG SET appendonly yes/],
    [
      ['--appendonly', 'yes', '--maxmemory-policy', 'allkeys-lru'],
      /maxmemory-policy is allkeys-lru.*noeviction/,
    ],
  ])('started with %j', async (options, words) => {
    const redis = await startServer(options);
    const {code, findings} = await examine({REDIS_URL: redis.url});
    await redis.stop();
    expect(of(findings, 'Redis')).toMatchObject({
      state: 'warning',
      found: expect.stringMatching(words),
    });
    expect(code).toBe(1);
  });
});

describe('a clock that is off by more than 2 s is bad', () => {
  test('if it is ours, compared with the database and the service', async () => {
    const ahead = 'const now = Date.now; Date.now = () => now() + 10_000;';
    const {code, findings} = await examine({
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}`,
    });
    for (const what of ["Postgres' clock", "the service's clock"]) {
      expect(of(findings, what)).toMatchObject({
        state: 'bad',
        found: expect.stringMatching(/got (9|10)\.\d s behind.*NTP/),
      });
    }
    expect(code).toBe(3);
  });

  test("if it is the service's", async () => {
    const late = await scriptService((_, response) => {
      response.setHeader('date', new Date(Date.now() - 60_000).toUTCString());
      return undefined;
    });
    const {findings} = await examine({FIELDMIRROR_API_URL: late.url});
    await late.close();
    expect(of(findings, "the service's clock")).toMatchObject({
      state: 'bad',
      found: expect.stringContaining('behind'),
    });
    expect(of(findings, "Postgres' clock")?.state).toBe('good');
  });
});
