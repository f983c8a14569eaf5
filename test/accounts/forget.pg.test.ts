// A name is planted wherever one can be, its customer is forgotten, and then it is looked for in
// all that the database holds.

import {mkdtemp, readdir, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {countForgotten} from '../../src/accounts/forget-customer.ts';
import {inSweepTransaction, inTransaction} from '../../src/postgres/database.ts';
import {pushAccount} from '../../src/push/push.ts';
import {main, startProgram} from '../support/command.ts';
import {asSuperuser} from '../support/postgres.ts';
import {withClient} from '../support/with-client.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

const name = `Zebulon O'Quillfeather & "Sons"`;
const planted = /quillfeather|5175696c6c66656174686572/i;
let service: TestService;
let world: TestWorld;
let folder: string;
/** The customer, one of its jobs, and a customer beside it. */
let customer: string;
let job: string;
let other: string;

beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-forget-'));
  await world.sweepAll();
  [{customer, job, other}] = await query(
    `SELECT customer_number AS customer, min(job_number) AS job,
      (SELECT max(customer_number) FROM warehouse.customers WHERE _deleted_at IS NULL) AS other
       FROM warehouse.jobs JOIN warehouse.customers AS held USING (account_id, customer_number)
       JOIN warehouse.job_notes AS note USING (account_id, job_number)
      WHERE num_nonnulls(jobs._deleted_at, held._deleted_at, note._deleted_at) = 0 GROUP BY 1
      ORDER BY 1 LIMIT 1`,
  );
}, 60_000);
afterAll(async () => {
  await world?.close();
  await service?.close();
  await rm(folder, {recursive: true});
});

// biome-ignore lint/suspicious/noExplicitAny: rows of many shapes are compared as they are
const query = async (text: string, values: unknown[] = []): Promise<any[]> =>
  (await world.pool.query(text, values)).rows;
const push = () => pushAccount(world, world.account.accountId, new AbortController().signal);

async function forget(number: string, typed: string, ...more: string[]) {
  const call = `forget customers ${number} ${more.join(' ')}`;
  const command = `printf '%s\\n' "$LINE" | exec "$NODE" "$MAIN" ${call}`;
  return await startProgram(['sh', '-c', command], {
    DATABASE_URL: world.databaseUrl,
    LINE: typed,
    NODE: process.execPath,
    MAIN: main,
  }).ended;
}

/**
 * The tables with a row that holds the name, in every schema: those of the catalogue, with their
 * statistics, too.
 */
async function findName(): Promise<string[]> {
  const tables = await query(
    `SELECT oid::regclass::text AS place FROM pg_class WHERE relkind IN ('r', 'm')
     AND relpersistence = 'p' ORDER BY 1`,
  );
  const found: string[] = [];
  await withClient(asSuperuser(world.databaseUrl), async (superuser) => {
    for (const {place} of tables) {
      const {rows} = await superuser.query(
        `SELECT FROM ${place} AS held WHERE held::text ~* $1 LIMIT 1`,
        [planted.source],
      );
      if (rows.length > 0) found.push(place);
    }
  });
  return found;
}

/** Settings, which name no customer, and lists of ours. */
const settings = [
  ...[
    'accounts',
    'alert_rules',
    'api_keys',
    'author_accounts',
    'captured_tables',
    'change_transitions',
    'fields',
  ],
  ...[
    'forgotten',
    'installation',
    'migrations',
    'report_lists',
    'retention',
    'schedules',
    'sessions',
  ],
  ...['sign_in_codes', 'source', 'workers', 'write_rules'],
];

/** Columns of our own words, processes, positions and hashes. */
const ownWords = [
  ...['stream', 'mode', 'kind', 'field', 'table_name', 'window_name', 'cause', 'action', 'role'],
  ...['holder', 'claimed_by', 'cursor', 'after_cursor', 'to_cursor', 'feed_id', 'manifest_sha256'],
];

/** Writes the name into a column of each kind of message that takes it. @returns the columns */
async function plantMessages(): Promise<string[]> {
  const statements = [
    `INSERT INTO sync.audit (name, role, address, action, account_id, subject, before, after)
      VALUES ('operator', 'admin', '', 'sweep', 1, 'x', '{}', '{}')`,
    `INSERT INTO sync.alerts (account_id, cause, subject, since, text)
      VALUES (1, 'quarantine', 's', now(), 'x')`,
    `INSERT INTO sync.alert_rules (name, receiver, target, quiet_ms)
      VALUES ('ops', 'email', 'ops@example.com', 0)`,
    `INSERT INTO sync.alert_deliveries (rule_id, alert_id, kind) SELECT rule_id, alert_id, 'opened'
      FROM sync.alert_rules, sync.alerts`,
    `INSERT INTO sync.quarantine (account_id, stream, number, reason, xml, xml_hash)
      VALUES (1, 'jobs', 900000, 'x', 'x', 'x'),
      (1, 'jobs', ${job}, 'x', '<client>Quillfeather</client>', 'y')`,
    `INSERT INTO sync.tombstones (sweep_id, number, account_id, stream)
      VALUES (1, 900000, 1, 'jobs')`,
    `INSERT INTO sync.field_events (account_id, table_name, field, kind, detail, sweep_id)
      VALUES (1, 'jobs', 'hue', 'new', 'x', 1)`,
    `INSERT INTO sync.weekly_reports (account_id, week, file)
      VALUES (1, '2027-01-04', '${join(folder, 'one.html')}'),
      (1, '2027-01-11', '${join(folder, 'two.html')}')`,
    `INSERT INTO sync.report_lists (name, addresses, weekday, at)
      VALUES ('owners', '{a@example.com}', 1, '06:00')`,
    `INSERT INTO sync.report_mails (list, account_id, week, address, subject, body_text, body_html)
      VALUES ('owners', 1, '2027-01-04', 'a@example.com', 'x', 'x', 'x')`,
    `INSERT INTO sync.sweeps (account_id, stream, mode, record_number, state, requested_by, error,
      ended_at) VALUES (1, 'jobs', 'record', 1, 'failed', 'command', $1::text, now())`,
    `INSERT INTO sync.alterations (change_id, account_id, field, kind, sent, got, is_stop)
      SELECT max(change_id), 1, 'fax', 'other', to_jsonb($1::text), '1', false FROM sync.changes`,
    `INSERT INTO sync.conflicts (change_id, field, base_value, warehouse_value, service_value, rule)
      SELECT max(change_id), 'fax', '1', to_jsonb($1::text), '1', 'ask' FROM sync.changes`,
  ];
  for (const statement of statements)
    await query(statement, statement.includes('$1') ? [name] : []);
  const columns = await query(
    `SELECT class.oid::regclass::text AS place, attname AS name, format_type(atttypid, NULL) AS type
       FROM pg_class AS class JOIN pg_attribute ON attrelid = class.oid
      WHERE relnamespace = 'sync'::regnamespace AND relkind = 'r' AND attnum > 0
      AND NOT attisdropped AND attgenerated = ''
        AND atttypid IN ('text'::regtype, 'jsonb'::regtype, 'text[]'::regtype)
        AND relname <> ALL ($1)
        AND attname <> ALL ($2)
        AND (relname NOT IN ('delivery_targets', 'feed_hooks') OR attname = 'last_error')`,
    [[...settings, 'weekly_reports'], ownWords],
  );
  const took: string[] = [];
  for (const {place, name: column, type} of columns) {
    const value =
      {jsonb: JSON.stringify({told: [`about ${name}`]}), 'text[]': [`about ${name}`]}[
        type as string
      ] ?? `about ${name}`;
    const theirs = /changes$|attempts|alterations|conflicts/.test(place)
      ? 'WHERE change_id = (SELECT max(change_id) FROM sync.changes)'
      : '';
    // A column that takes only some words refuses it.
    const isTaken = await world.pool
      .query(
        `UPDATE ${place} SET ${column} = $1
          WHERE ctid = (SELECT ctid FROM ${place} ${theirs} LIMIT 1)`,
        [value],
      )
      .then(
        ({rowCount}) => rowCount === 1,
        () => false,
      );
    if (isTaken) took.push(`${place}.${column}`);
  }
  return took;
}

/**
 * A job of another customer is the customer's for a while. @returns the job as it was before and is
 * again
 */
async function strayJob(): Promise<unknown> {
  const read = () =>
    query(
      `SELECT job_number, customer_number, name FROM warehouse.jobs
        WHERE customer_number <> $1 AND name IS NOT NULL AND _deleted_at IS NULL
        ORDER BY 1 LIMIT 1`,
      [customer],
    );
  const [held] = await read();
  for (const values of [
    [customer, `At ${name}`],
    [held.customer_number, held.name],
  ])
    await inSweepTransaction(world.pool, (client) =>
      client.query(
        'UPDATE warehouse.jobs SET customer_number = $2, name = $3 WHERE job_number = $1',
        [held.job_number, ...values],
      ),
    );
  return held;
}

test('forget rejects a customer with open changes, a wrong name or an unknown number', async () => {
  await query(`UPDATE warehouse.customers SET fax = '555-0100' WHERE customer_number = $1`, [
    other,
  ]);
  const [{held}] = await query(
    'SELECT name AS held FROM warehouse.customers WHERE customer_number = $1',
    [other],
  );
  expect(await forget(other, held)).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /changes of the customer are not over: \d+\. Push them, or cancel them/,
    ),
  });
  await push();
  const slip = await forget(other, 'Somebody Else');
  expect(slip).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/warehouse\.customers +│ +1 /),
  });
  expect(
    await query('SELECT name FROM warehouse.customers WHERE customer_number = $1', [other]),
  ).toEqual([{name: held}]);
  expect(await query('SELECT * FROM sync.forgotten')).toEqual([]);
  expect(await forget('999999', 'x')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/got 999999, of which nothing is here/),
  });
  expect(await forget('x1', 'x')).toMatchObject({code: 2});
});

test('a forgotten name is in no table, report or output, even after later sweeps', {
  timeout: 120_000,
}, async () => {
  await inTransaction(world.pool, async (client) => {
    await client.query(`SELECT set_config('application_name', $1, true)`, [`call ${name}`]);
    await client.query(
      `UPDATE warehouse.customers SET name = $2, email_address = 'z@quillfeather.example',
        external_key = $2 WHERE customer_number = $1`,
      [customer, name],
    );
    for (const key of ['Quillfeather-1', 'Quillfeather-2'])
      await client.query(
        `SELECT sync.set_link('customers', row_id, $2, 'tryton') FROM warehouse.customers
          WHERE customer_number = $1`,
        [customer, key],
      );
    await client.query(
      `UPDATE warehouse.jobs SET name = 'At Quillfeather''s' WHERE job_number = $1`,
      [job],
    );
    await client.query(
      `INSERT INTO warehouse.customer_notes (account_id, customer_number, note)
        VALUES (1, $1, 'Quillfeather called')`,
      [customer],
    );
    await client.query(
      `INSERT INTO warehouse.job_notes (account_id, job_number, note)
        VALUES (1, $1, 'Quillfeather called')`,
      [job],
    );
  });
  await push();
  expect(
    await query("SELECT state, reason FROM sync.changes WHERE is_open OR state <> 'done'"),
  ).toEqual([]);
  await world.sweepAll();
  const strayed = await strayJob();
  const messages = await plantMessages();
  expect(messages).toEqual(
    expect.arrayContaining([
      'sync.audit.before',
      'sync.alerts.text',
      'sync.attempts.request',
      'sync.changes.fields',
      'sync.quarantine.xml',
      'sync.sweeps.evidence',
      'sync.feed_entries.application',
      'sync.field_events.detail',
      'sync.alterations.got',
      'sync.conflicts.service_value',
      'sync.alert_deliveries.last_error',
      'sync.tombstones.message',
    ]),
  );
  await writeFile(join(folder, 'one.html'), '<p>O&#39;Brien</p>');
  await writeFile(
    join(folder, 'two.html'),
    '<p>Zebulon O&#39;Quillfeather &amp; &quot;Sons&quot;</p>',
  );
  await query('ANALYZE warehouse.customers');
  expect(await findName()).toEqual(
    expect.arrayContaining([
      'history.past_customers',
      'history.edits',
      'sync.changes',
      'sync.links',
      'warehouse.job_notes',
    ]),
  );
  const amounts = await query(
    'SELECT job_number, total, completed_on FROM warehouse.jobs ORDER BY 1',
  );

  const counted = await countForgotten(world.pool, {
    accountId: world.account.accountId,
    number: customer,
  });
  const done = await forget(customer, name, '--json');
  expect(done, done.stderr).toMatchObject({code: 0});
  expect(done.stdout).not.toMatch(planted);
  const receipt = JSON.parse(done.stdout);
  expect(receipt).toMatchObject({
    customer,
    isLive: true,
    reports: {removed: [join(folder, 'two.html')], unseen: []},
  });
  expect(receipt.removed).toEqual(counted);
  expect(await findName()).toEqual([]);
  expect(await readdir(folder)).toEqual(['one.html']);

  const [row] = await query('SELECT * FROM sync.forgotten');
  expect(row).toMatchObject({customer_number: customer, forgotten_by: receipt.forgottenBy});
  expect(row.removed).toMatchObject({
    'warehouse.customers': 1,
    'warehouse.customer_notes': expect.any(Number),
    'sync.changes': 4,
    'sync.links': 2,
  });
  expect(Object.keys(row.removed)).toEqual(
    expect.arrayContaining(receipt.removed.map(({table}: {table: string}) => table)),
  );
  expect(
    await query('SELECT job_number, total, completed_on FROM warehouse.jobs ORDER BY 1'),
  ).toEqual(amounts);

  expect(
    await query(
      'SELECT job_number, customer_number, name FROM warehouse.jobs WHERE job_number = $1',
      [(strayed as {job_number: string}).job_number],
    ),
  ).toEqual([strayed]);

  // The service has the name still, and every page is compared with its rows.
  await query(
    `UPDATE sync.sweeps SET evidence = evidence
      || '{"sample": {"records": 1, "altered": 1, "isWhole": false}}'`,
  );
  const [{last}] = await query('SELECT max(sweep_id) AS last FROM sync.sweeps');
  await world.sweepAll();
  expect(
    await query(
      `SELECT stream, evidence->'sample'->'altered' AS altered, updated FROM sync.sweeps
        WHERE sweep_id > $1 AND (evidence->'sample'->'records')::integer > 0 ORDER BY 1`,
      [last],
    ),
  ).toEqual(
    ['customers', 'employees', 'jobs', 'tasks'].map((stream) => ({
      stream,
      altered: 0,
      updated: '0',
    })),
  );
  await query('DELETE FROM sync.known_records');
  await world.sweepAll();
  await world.sweep('customers', {recordNumber: customer});
  expect(await world.api.customers.update(customer, {name: `${name} Quillfeather`})).toMatchObject({
    outcome: 'done',
  });
  await world.sweepAll();
  expect(await findName()).toEqual([]);
  await expect(
    query(`UPDATE warehouse.customers SET fax = '555-0101' WHERE customer_number = $1`, [customer]),
  ).rejects.toThrow(/the customer of this row was forgotten/);
  expect((await forget(customer, customer)).stdout).toMatch(/is forgotten: 0 rows in 0 tables/);
});

test('our own words, keys and numbers stay, also if a customer is called so', async () => {
  const words = ['number', '345678', 'customers'];
  const evidence = {
    number: 12_345_678,
    numbers: [8, 'number'],
    said: 'number 345678 of customers',
    phone: 345_678,
    'Mr number': null,
  };
  await withClient(world.databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query(
      `UPDATE sync.sweeps SET evidence = CASE stream WHEN 'customers' THEN $1::jsonb
        ELSE '{"numbers": 12345678}' END`,
      [JSON.stringify(evidence)],
    );
    const forgetWords = async (countsOnly: boolean) => {
      const {rows} = await client.query(
        `SELECT (sync.forget_words($1, $2, $3, '{}', $4)->>'sync.sweeps')::integer AS sweeps,
                (SELECT count(*)::integer FROM sync.sweeps WHERE stream = 'customers') AS planted`,
        [world.account.accountId, words, customer, countsOnly],
      );
      return rows[0];
    };
    const {sweeps, planted: plantedSweeps} = await forgetWords(true);
    expect(sweeps).toBe(plantedSweeps);
    expect(await forgetWords(false)).toEqual({sweeps, planted: plantedSweeps});
    const {rows} = await client.query(
      `SELECT DISTINCT evidence FROM sync.sweeps WHERE stream = 'customers'`,
    );
    expect(rows).toEqual([
      {
        evidence: {
          number: 12_345_678,
          numbers: [8, '[forgotten]'],
          said: '[forgotten] [forgotten] of [forgotten]',
          phone: '[forgotten]',
          'Mr [forgotten]': null,
        },
      },
    ]);
    await client.query('ROLLBACK');
  });
});

test('any name of the service can be typed back, and a blank one by the number alone', async () => {
  const numbers = await query(
    `SELECT customer_number AS number FROM warehouse.customers
      WHERE name IS NOT NULL AND _deleted_at IS NULL ORDER BY customer_number LIMIT 3`,
  );
  const [spaced, accented, blank] = numbers.map(({number}) => String(number));
  const held = {
    [`${spaced}`]: "Two  Spaces,\nO'Neil ",
    [`${accented}`]: 'Jo\u0308rg',
    [`${blank}`]: ' ',
  };
  await inSweepTransaction(world.pool, async (client) => {
    for (const [number, text] of Object.entries(held))
      await client.query('UPDATE warehouse.customers SET name = $2 WHERE customer_number = $1', [
        number,
        text,
      ]);
  });
  expect(await forget(`${spaced}`, "O'Neil")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`echo 'Two Spaces, O'\\''Neil' | fieldmirror`),
  });
  expect(await forget(`${blank}`, '')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`expected ${blank} to be typed back`),
  });
  expect(await forget(`${spaced}`, "Two Spaces, O'Neil")).toMatchObject({code: 0});
  expect(await forget(`${accented}`, 'J\u00f6rg')).toMatchObject({code: 0});
  expect(await forget(`${blank}`, `${blank}`)).toMatchObject({code: 0});
});
