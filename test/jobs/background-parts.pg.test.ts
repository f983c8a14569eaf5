// Each background part of a worker, made to hang and to fail: `status`, `doctor`, an alert and the
// exit codes show it, by the same code for all of them.

import {randomUUID} from 'node:crypto';
import {readdirSync, readFileSync} from 'node:fs';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type pg from 'pg';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {openQueueBackend} from '../../jobs/queue.ts';
import {startWorkers, type Workers} from '../../jobs/workers.ts';
import {listLateParts} from '../../src/alerts/installation-problems.ts';
import {makePartsFactory} from '../../src/cli/start-parts.ts';
import {createLogger} from '../../src/core/log.ts';
import {parseKeys} from '../../src/core/secret.ts';
import {
  boundsOf,
  listOwnWaits,
  listParts,
  type PartName,
  partNames,
} from '../../src/health/installation.ts';
import {openPool} from '../../src/postgres/database.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {keyText} from '../support/alerts-place.ts';
import {runCommand} from '../support/command.ts';
import {addWorker, cancelChanges, openToldPlace, type ToldPlace} from '../support/told-place.ts';

interface Problem {
  readonly kind: string;
  readonly subject: string;
  readonly account: string | null;
  readonly text: string;
  readonly docs: string;
}

interface Write {
  readonly table: string;
  /** The writes alone that the part does; left out: all. */
  readonly event?: string;
  /** Gives it something to write. */
  readonly work?: string;
}

/** What each part writes, by which it can be held up. */
const writes: Readonly<Record<PartName, Write>> = {
  rounds: {
    table: 'sync.schedules',
    work: `INSERT INTO sync.schedules (account_id, name, stream, mode, every_ms, next_due_at)
           VALUES (1, 'nightly', 'jobs', 'full', 86400000, now())`,
  },
  star: {
    table: 'sync.stale_jobs',
    work: `INSERT INTO sync.stale_jobs (account_id, job_numbers, noted_at)
      VALUES (1, '{1}', now() - interval '10 seconds')`,
  },
  feed: {
    table: 'sync.feed_entries',
    work: `INSERT INTO warehouse.tasks (name) VALUES ('Roof'); ${cancelChanges}`,
  },
  hooks: {table: 'sync.feed_hooks'},
  alerts: {table: 'sync.alert_checks'},
  messages: {table: 'sync.alert_deliveries', event: 'UPDATE OF fence'},
  delivery: {
    table: 'sync.delivery_targets',
    event: 'UPDATE OF fence',
    work: `INSERT INTO sync.delivery_targets (name, place) VALUES ('lake', '/nowhere/lake');
      INSERT INTO sync.schedules (account_id, name, stream, mode, every_ms, next_due_at)
      VALUES (1, 'nightly', 'jobs', 'full', 86400000, now() + interval '20 hours');
      INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at)
      VALUES (1, 'jobs', 'full', 'schedule', 'certified', now(), now())`,
  },
  retention: {table: 'sync.prunings'},
  reports: {
    table: 'sync.weekly_reports',
    work: `DELETE FROM sync.weekly_reports;
      UPDATE sync.accounts SET time_zone = (SELECT name FROM pg_timezone_names
       WHERE name LIKE 'Etc/%' AND (now() AT TIME ZONE name) >= date_trunc('week',
         now() AT TIME ZONE name) + interval '6 hours' ORDER BY name LIMIT 1);
      INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at)
      VALUES (1, 'jobs', 'full', 'schedule', 'certified', now(), now())`,
  },
};

const pageReader = new PageReader();
let folder: string;
let place: ToldPlace;
let workerPool: pg.Pool;
let workers: Workers;
let holder: pg.PoolClient;
/** Milliseconds that have passed beside those of the machine. */
let passedMs = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parts-'));
});
afterAll(async () => {
  await pageReader.close();
  await rm(folder, {recursive: true, force: true});
});

beforeEach(async () => {
  passedMs = 0;
  place = await openToldPlace();
  await place.addHook('ops');
  holder = await place.pool.connect();
  await holder.query(`SET application_name = 'DBeaver'`);
  workerPool = openPool(place.url, {max: 12, applicationName: 'fieldmirror'});
  const log = createLogger({level: 'silent', secrets: []});
  const config = {
    keys: parseKeys(keyText),
    bounds: null,
    databaseUrl: place.url,
    directUrl: null,
    home: '',
    smtpUrl: null,
    storageKeys: null,
    consoleUrl: null,
    allowsHttp: false,
    allowsLinkLocal: false,
    reports: folder,
  };
  const backend = await openQueueBackend({redisUrl: null, databaseUrl: place.url, log});
  workers = await startWorkers(
    {
      pool: workerPool,
      databaseUrl: place.url,
      log,
      pageReader,
      openAccount: () => Promise.reject(new Error('expected no account to be opened, got one')),
      hookMeans: {keys: config.keys, allowsHttp: false, allowsLinkLocal: false, onSecret: () => {}},
    },
    backend,
    {
      accountIds: [place.accountId],
      keepsSchedules: true,
      heartbeat: {
        workerId: randomUUID(),
        host: 'host',
        pid: 4711,
        version: '0',
        consoleUrl: null,
        reach: () => ({keyIds: config.keys.map(({id}) => id), sendsMail: false, given: null}),
      },
      parts: makePartsFactory({pool: workerPool, log, config, onSecret: () => {}}),
      times: {tickMs: 20, noteMs: 20, clock: () => performance.now() + passedMs},
    },
  );
  const hasBegun = async () =>
    (await place.query('SELECT FROM sync.alert_checks, sync.workers WHERE checked_at IS NOT NULL'))
      .length;
  await expect.poll(hasBegun, {timeout: 10_000}).toBe(1);
});

afterEach(async () => {
  holder.release(true);
  await workers.stop();
  await workerPool.end();
  await place.close();
});

/** What the part writes waits for a lock of `holder`, or fails. */
async function breakPart(part: PartName, how: 'hangs' | 'fails'): Promise<void> {
  const {table, work, event = 'INSERT OR UPDATE OR DELETE'} = writes[part];
  await holder.query('SELECT pg_advisory_lock(4711)');
  const does =
    how === 'hangs' ? 'PERFORM pg_advisory_xact_lock(4711)' : `RAISE EXCEPTION 'the disk is full'`;
  await place.query(`CREATE FUNCTION public.break_it() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF current_setting('application_name') = 'fieldmirror' THEN ${does}; END IF;
      RETURN NULL;
    END $$`);
  await place.query(
    `CREATE TRIGGER break_it BEFORE ${event} ON ${table} FOR EACH STATEMENT
      EXECUTE FUNCTION public.break_it()`,
  );
  if (work !== undefined) await place.query(work);
}

async function mendPart(part: PartName): Promise<void> {
  await holder.query('SELECT pg_advisory_unlock(4711)');
  await place.query(`DROP TRIGGER break_it ON ${writes[part].table}`);
}

async function hasFailed(part: PartName): Promise<boolean> {
  const rows = await place.query(
    'SELECT FROM sync.heartbeats WHERE part = $1 AND last_error IS NOT NULL',
    [part],
  );
  return rows.length === 1;
}

/** Whether a session of the worker waits. */
async function isHeldUp(): Promise<boolean> {
  return (await listOwnWaits(place.pool)).length > 0;
}

const env = () => ({DATABASE_URL: place.url, FIELDMIRROR_KEY: keyText});

async function readStatus(): Promise<{readonly code: number | null; readonly problems: Problem[]}> {
  const {code, stdout} = await runCommand(['status', '--json'], env());
  return {code, problems: JSON.parse(stdout).problems};
}

async function readFindings() {
  const {code, stdout} = await runCommand(['doctor', '--json'], env());
  const findings: {what: string; state: string; found: string}[] = JSON.parse(stdout).findings;
  return {code, findings};
}

/** Looks as another worker does, until a rule has told it. */
async function expectTold(told: object): Promise<void> {
  await expect
    .poll(
      async () => {
        await place.round();
        return place.alertsOf('ops');
      },
      {timeout: 20_000},
    )
    .toContainEqual(expect.objectContaining(told));
}

const partsLate = async () => {
  const [{now} = {}] = await place.query('SELECT now() AS now');
  return listLateParts(await listParts(place.pool), String(now)).map(({part}) => part);
};

test('every part has a heartbeat, and none is late while all of them work', async () => {
  const noted = async () =>
    (await place.query('SELECT part FROM sync.heartbeats ORDER BY part')).map(({part}) => part);
  await expect.poll(noted).toEqual(partNames.toSorted());
  const [{now} = {}] = await place.query('SELECT now() AS now');
  passedMs += 3_600_000;
  // After an hour each one is due, does its work, and notes it.
  const isGood = async () =>
    (await place.query('SELECT FROM sync.heartbeats WHERE good_at > $1', [now])).length;
  await expect.poll(isGood, {timeout: 20_000}).toBe(partNames.length);
  expect(await partsLate()).toEqual([]);
  const {findings} = await readFindings();
  expect(findings.find(({what}) => what === 'background')).toMatchObject({state: 'good'});
  await workers.stop();
  expect(await noted()).toEqual([]);
});

describe.each(partNames)('the part %s', (part) => {
  test.each(['hangs', 'fails'] as const)(
    'that %s is reported by status, doctor and an alert until it works again',
    async (how) => {
      await breakPart(part, how);
      const {lateMs, longestMs = 0} = boundsOf(part);
      passedMs += lateMs + 1_000;
      // The part is due again by that clock; where it hangs, it does so for as long as it may.
      const isBroken = how === 'hangs' ? isHeldUp : () => hasFailed(part);
      await expect.poll(isBroken, {timeout: 10_000}).toBe(true);
      // A round that began before the part was broken may have ended well by that clock.
      passedMs += how === 'hangs' ? longestMs + lateMs : lateMs + 1_000;

      await expect.poll(partsLate, {timeout: 20_000}).toContain(part);
      const {code, problems} = await readStatus();
      expect(code).toBe(1);
      const problem = problems.find(({kind, subject}) => kind === 'part-late' && subject === part);
      expect(problem).toMatchObject({
        docs: 'A23',
        text: expect.stringMatching(
          how === 'fails' ? /on host, pid 4711, .*the disk is full/ : /DBeaver, pid \d+/,
        ),
      });
      const {code: doctorCode, findings} = await readFindings();
      expect(doctorCode).not.toBe(0);
      expect(findings).toContainEqual(
        expect.objectContaining({
          what: 'background',
          state: 'warning',
          found: expect.stringContaining(`part ${part} of the worker`),
        }),
      );
      await expectTold({cause: 'part-late', news: 'opened', subject: part});

      await mendPart(part);
      // Those that look once a minute are due again.
      passedMs += 60_000;
      await expectTold({cause: 'part-late', news: 'resolved', subject: part});
    },
  );
});

describe('a setting that no worker can use', () => {
  const cases: Readonly<Record<string, {readonly seal: string; readonly told: object}>> = {
    accounts: {
      seal: `UPDATE sync.accounts SET key_id = 'other', sealed_token = '\\x00'`,
      told: {kind: 'unserved', account: 'acme'},
    },
    alert_rules: {
      seal: `INSERT INTO sync.alert_rules (name, receiver, target, sealed_access, key_id, quiet_ms)
             VALUES ('pager', 'webhook', 'example.com', '\\x00', 'other', 0)`,
      told: {kind: 'alerts-failing', subject: 'pager'},
    },
    feed_hooks: {
      seal: `INSERT INTO sync.feed_hooks (name, target, sealed_access, key_id, cursor)
             VALUES ('erp', 'example.com', '\\x00', 'other', sync.feed_end())`,
      told: {kind: 'hook-failing', subject: 'erp'},
    },
  };

  test('each table with a key has a test case', async () => {
    const tables = await place.query(
      `SELECT table_name AS name FROM information_schema.columns
        WHERE table_schema = 'sync' AND column_name = 'key_id' ORDER BY table_name`,
    );
    expect(tables.map(({name}) => name)).toEqual(Object.keys(cases));
  });

  test.each(Object.entries(cases))(
    '%s sealed with a key that no worker has are reported by status, doctor and an alert',
    async (_table, {seal, told}) => {
      // Of the accounts that are served nobody asks for the key.
      await workers.stop();
      await place.query(addWorker('now()', '{}'));
      await place.query(`UPDATE sync.workers SET key_ids = '{mine}'`);
      await place.query(seal);
      const {code, problems} = await readStatus();
      expect(code).toBe(1);
      const lack = expect.stringContaining('sealed with key other, and the workers have mine');
      expect(problems).toContainEqual(expect.objectContaining({...told, text: lack}));
      const {findings} = await readFindings();
      expect(findings).toContainEqual(expect.objectContaining({state: 'warning', found: lack}));
      const {kind: cause, ...rest} = told as {readonly kind: string};
      await expectTold({cause, news: 'opened', ...rest});
    },
  );

  test('status reports an e-mail rule if no worker has a mail server', async () => {
    await place.query(
      `INSERT INTO sync.alert_rules (name, receiver, target, quiet_ms)
        VALUES ('mail', 'email', 'ops@example.com', 0)`,
    );
    const lacks = async () =>
      (await readStatus()).problems.filter(
        ({kind, subject}) => kind === 'alerts-failing' && subject === 'mail',
      );
    expect(await lacks()).toMatchObject([{text: expect.stringContaining('FIELDMIRROR_SMTP_URL')}]);
    await place.query('UPDATE sync.workers SET sends_mail = true');
    expect(await lacks()).toEqual([]);
  });
});

describe('code that runs in the background', () => {
  /** Each place in the code that keeps something going, and what sees that it does. */
  const known: Readonly<Record<string, string>> = {
    'jobs/background.ts': 'notes the heartbeats themselves',
    'jobs/workers.ts': 'part rounds, which makes up for a notice that was lost or woke nobody, too',
    'jobs/queue-jobs.ts': 'part star',
    'src/core/pauses.ts': 'the rounds of parts',
    'src/cli/start-parts.ts': 'parts alerts, messages and reports',
    'src/cli/process.ts': 'tells systemd, which misses it',
    'src/cli/stop.ts': 'ends the process with its parent',
    'src/cli/progress.ts': 'bars in a terminal',
    'src/delivery/deliver-star.ts': 'part delivery',
    'src/feed/send-hooks.ts': 'parts feed and hooks; hook-failing, by the row of the subscriber',
    'src/core/lease.ts': 'renews the lease of a sweep, which lapses without it',
    'src/retention/retention.ts': 'part retention',
    'src/push/push.ts': 'change-untaken, by the row of the change',
    'src/postgres/embedded.ts': 'keeps the embedded Postgres, without which no command works',
    'src/postgres/listen.ts': 'listens for whoever called it: pages of the console and the API',
  };
  const goesOn = new RegExp(
    [
      'setInterval\\(|new Rounds\\(|void listen\\(|while \\([^)]*aborted\\)',
      'for \\([^;]*; ; \\) \\{|class Rounds',
    ].join('|'),
  );

  test('is listed in this test, with the part or check that watches it', () => {
    const root = join(import.meta.dirname, '..', '..');
    const found = ['jobs', 'src']
      .flatMap((top) =>
        readdirSync(join(root, top), {recursive: true}).map((file) => `${top}/${String(file)}`),
      )
      .filter((file) => file.endsWith('.ts') && !/^src\/(console|http|service)\//.test(file))
      .filter((file) => goesOn.test(readFileSync(join(root, file), 'utf8')));
    expect(found.toSorted()).toEqual(Object.keys(known).toSorted());
  });
});
