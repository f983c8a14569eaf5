// Whoever may connect is a stranger until a grant says otherwise. Nothing that a stranger can make
// decides anything: no advisory lock, no setting, no name of a connection, no temporary object.

import {randomBytes} from 'node:crypto';
import {globSync, readFileSync} from 'node:fs';
import pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {migrateQueue} from '../../jobs/queue.ts';
import {openPool} from '../../src/postgres/database.ts';
import {prepareTurn, takeTurn} from '../../src/postgres/migrations.ts';
import {definitions, migrateSchema} from '../../src/schema/migrate.ts';
import {type CaptureWorld, openCaptureWorld} from '../changes/capture-world.ts';
import {createDatabase} from '../support/postgres.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {withClient} from '../support/with-client.ts';

let world: CaptureWorld;
/** A login without any grant. */
let stranger: pg.Client;
const role = `stranger_${randomBytes(4).toString('hex')}`;
/** The locks that earlier versions took, and those of BullMQ. */
const oldLocks = [
  'pg_advisory_lock(7203685477580001)',
  'pg_advisory_lock(7302114)',
  'pg_advisory_lock(7302115)',
  ...[
    'sync.sequence_feed',
    'sync.grant_roles',
    'sync.file_settings',
    'mart.customers',
    'bullmq',
  ].map((name) => `pg_advisory_lock(720368547, hashtext('${name}'))`),
  ...['sweep', 'push'].flatMap((queue) => [
    `pg_advisory_lock(hashtext('bullmq:finalization'), hashtext('${queue}'))`,
    `pg_advisory_lock(hashtext('bullmq:jidseq:${queue}'))`,
    `pg_advisory_lock(hashtext('bullmq:limiter:${queue}'))`,
    `pg_advisory_lock(hashtext('bullmq:concurrency:${queue}'))`,
  ]),
];
/** As the migrator of BullMQ has it. */
const migratorKey = /MIGRATION_ADVISORY_LOCK_KEY = (\S+);/.exec(
  readFileSync('node_modules/bullmq/dist/esm/postgres/migrator.js', 'utf8'),
)?.[1];

beforeAll(async () => {
  world = await openCaptureWorld();
  await makeRole(role, `LOGIN PASSWORD 'made-up'`);
  stranger = await connectAsStranger(world.url);
});
afterAll(async () => {
  await stranger?.end();
  await dropRoles(role);
  await world?.close();
});

async function connectAsStranger(url: string): Promise<pg.Client> {
  const address = Object.assign(new URL(url), {username: role, password: 'made-up'});
  const client = new pg.Client({connectionString: address.href});
  await client.connect();
  for (const lock of oldLocks) await client.query(`SELECT ${lock}`);
  await client.query(`SELECT pg_advisory_lock(${Number(migratorKey)}, hashtext('bullmq'))`);
  return client;
}

describe('while a login without grants holds every advisory lock that was ever used', () => {
  test.each([
    ['the feed gives positions', 'SELECT sync.sequence_feed()'],
    ['grants are made', 'SELECT sync.grant_roles()'],
    ['a view of mart is made', `SELECT sync.build_mart_view('customers')`],
    [
      'settings of files are locked',
      'BEGIN; LOCK TABLE sync.write_rules IN SHARE ROW EXCLUSIVE MODE; COMMIT',
    ],
  ])('%s', async (_, statement) => {
    await world.author(
      `INSERT INTO warehouse.customers (account_id, name) VALUES (${world.accountId}, 'Ada')`,
    );
    await world.author(`SET statement_timeout = '10s'; ${statement}`);
  });

  test('an empty database is migrated, and its queue assigns job ids', async () => {
    const database = await createDatabase();
    const pool = openPool(database.url, {max: 4, applicationName: 'test'});
    const other = await connectAsStranger(database.url);
    try {
      expect(await migrateSchema(pool, definitions)).toMatchObject({applied: expect.any(Number)});
      await migrateQueue(database.url);
      const {rows} = await pool.query(
        `SELECT bullmq.next_job_id('sweep') AS one, bullmq.next_job_id('push') AS other`,
      );
      expect(rows).toHaveLength(1);
    } finally {
      await other.end();
      await pool.end();
      await database.drop();
    }
  });
});

test('a waiting migration reports the login, application and process it waits for', async () => {
  const database = await createDatabase();
  const pool = openPool(database.url, {max: 4, applicationName: 'test'});
  try {
    await withClient(`${database.url}?application_name=somebody`, async (holder) => {
      await prepareTurn(holder);
      await takeTurn(holder);
      const {rows} = await holder.query<{pid: number}>('SELECT pg_backend_pid() AS pid');
      const told = Promise.withResolvers<string>();
      const migrated = migrateSchema(pool, definitions, false, {
        report: told.resolve,
        patienceMs: 20,
      });
      expect(await told.promise).toMatch(
        new RegExp(
          '^migrations: waiting for fieldmirror ' +
            `\\(somebody, pid ${rows[0]?.pid}\\), in a transaction since 2`,
        ),
      );
      await holder.query('ROLLBACK');
      expect((await migrated).applied).toBeGreaterThan(0);
    });
  } finally {
    await pool.end();
    await database.drop();
  }
});

describe('the code', () => {
  const files = globSync(['src/**/*.{ts,sql}', 'jobs/**/*.ts', 'migrations/**/*.sql', 'bin/*']).map(
    (name) => ({name, text: readFileSync(name, 'utf8')}),
  );

  test('uses no advisory lock, because any login could hold it', () => {
    expect(files.length).toBeGreaterThan(200);
    const taken = files.filter(({text}) => /pg_(try_)?advisory/.test(text)).map(({name}) => name);
    // The stand-ins for the advisory locks of BullMQ.
    expect(taken).toEqual(['jobs/queue.ts']);
  });

  test('listens for notifications only in known files', () => {
    const listeners = files
      .filter(({text}) => /\blisten\b[^;]*'[^']*\/listen\.ts'|query\([`'"]LISTEN /.test(text))
      .map(({name}) => name);
    // Each wakes a look at rows; a payload counts only where it is the number of an account that is
    // served here.
    expect(listeners.sort()).toEqual(known.listeners.toSorted());
  });
});

/** Every use of what anybody can make, each looked at. */
const known = {
  listeners: [
    'jobs/workers.ts',
    'src/service/database.ts',
    'src/feed/send-hooks.ts',
    'src/postgres/listen.ts',
    'src/console/live.ts',
  ],
  settings: {
    // Hints: what they say is about the author's own change.
    'fieldmirror.mode': ['sync.first_state'],
    'fieldmirror.seen': ['sync.seen_position'],
    // With either of these two, a delete is compared with the record before it is sent.
    'fieldmirror.was': ['sync.seen_row', 'sync.seen_assigned', 'sync.capture_delete'],
    'fieldmirror.batch': ['sync.batch', 'sync.undo_changes'],
    'fieldmirror.undoes': ['sync.record_change', 'sync.undoing', 'sync.capture_delete'],
    'fieldmirror.last_change': ['sync.last_change'],
    // Spares a session that chose no zone a second look; it may choose any.
    'fieldmirror.zone_checked': ['sync.check_zone'],
    // Believed of a worker alone.
    'fieldmirror.person': ['sync.decider'],
    // Read for a row that a worker read back, which no author can write.
    'fieldmirror.made': ['sync.cause_of'],
    application_name: ['sync.application'],
    // Of Postgres: who calls.
    role: ['sync.caller'],
    // Chooses the faster of two forms with the same value.
    TimeZone: [],
  } as Readonly<Record<string, readonly string[]>>,
};

describe('the catalogue', () => {
  const ours = `pronamespace::regnamespace::text
    IN ('sync', 'history', 'mart', 'masked', 'warehouse')
    AND NOT EXISTS (SELECT FROM pg_depend
      WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e')`;

  test('has no function that reads a user setting, except in known places', async () => {
    const {rows} = await world.pool.query<{name: string; body: string}>(
      `SELECT pronamespace::regnamespace || '.' || proname AS name, prosrc AS body FROM pg_proc
       WHERE ${ours}`,
    );
    const read = rows.flatMap(({name, body}) =>
      [...body.matchAll(/current_setting\('+([a-z_.]+)'+/gi)].map(([, setting = '']) => ({
        name,
        setting,
        body,
      })),
    );
    const strange = read.filter(({name, setting, body}) => {
      const places = known.settings[setting];
      if (places?.length === 0 || places?.includes(name) === true) return false;
      // The writer counts beside the right to write as a worker, or is put back after a function
      // set it.
      const isGuarded =
        body.includes('write_as_worker') || body.includes(`set_config('${setting}', writer`);
      return !(/^fieldmirror\.(writer|feed)$/.test(setting) && isGuarded);
    });
    expect(strange.map(({name, setting}) => `${name} reads ${setting}`)).toEqual([]);
  });

  // A session that calls such a function, or inserts where it is a default, would run what another
  // login has put into a schema that the session searches, such as public. A function that only the
  // owner may call is left out: it is called by functions with a search_path and by our sessions.
  test('has no function that searches schemas of users', async () => {
    const {rows} = await world.pool.query(
      `SELECT oid::regprocedure::text AS name, proconfig FROM pg_proc
        WHERE ${ours}
          AND (prosecdef OR prolang = (SELECT oid FROM pg_language WHERE lanname = 'plpgsql')
               OR prosqlbody IS NULL AND EXISTS (
                 SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner)))
                  WHERE grantee <> proowner))
          AND NOT EXISTS (SELECT FROM unnest(proconfig) AS setting
            WHERE setting ~ '^search_path=(masked, )?(mart, )?pg_catalog, pg_temp$')`,
    );
    expect(rows).toEqual([]);
  });
});

describe('an author whose application name imitates an HTTP key', () => {
  test.each(['http: erp', 'HTTP:erp', ' http: erp', '"http: erp', 'console: Ada'])(
    'is recorded in quotes in the feed, the change and history: %j',
    async (name) => {
      await world.empty();
      const rowId = await world.sent('customers', {customer_number: '1', name: 'old'});
      await world.author('SELECT sync.sequence_feed()');
      const {rows: [start] = []} = await world.pool.query('SELECT sync.feed_end() AS cursor');
      const client = await world.pool.connect();
      try {
        await client.query('BEGIN; SET LOCAL ROLE fieldmirror_author');
        await client.query(`SELECT set_config('application_name', $1, true)`, [name]);
        await client.query(`UPDATE warehouse.customers SET name = 'new' WHERE row_id = $1`, [
          rowId,
        ]);
        await client.query('COMMIT');
      } finally {
        client.release(true);
      }
      await world.author('SELECT sync.sequence_feed()');
      const read = `SELECT own, application FROM sync.feed($1, readers => '{http: erp}')`;
      const {rows: entries} = await world.pool.query(read, [start?.cursor]);
      const [change] = await world.changes('application');
      const [edit] = await world.author('SELECT application FROM history.edits');
      for (const {application} of [...entries, change, edit]) expect(application).toMatch(/^ ?E?'/);
      expect(entries).toMatchObject([{own: false}]);
    },
  );

  test('differs from a worker that writes for a key, whose name is kept as it is', async () => {
    await world.empty();
    const rowId = await world.sent('customers', {customer_number: '1', name: 'old'});
    await world.author(
      `BEGIN; SET LOCAL application_name = 'http: erp'; UPDATE warehouse.customers SET name = 'new'
        WHERE row_id = ${rowId}; COMMIT`,
    );
    expect(await world.changes('application')).toEqual([{application: 'http: erp'}]);
  });
});
