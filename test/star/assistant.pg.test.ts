// An assistant speaks the Model Context Protocol with the program, as its client does, and tries
// what it must not.

import {randomBytes} from 'node:crypto';
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js';
import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {runStatement} from '../../src/cli/assistant-statement.ts';
import {openPool} from '../../src/postgres/database.ts';
import {refreshStar} from '../../src/star/mart.ts';
import {members, questions} from '../../src/star/star.ts';
import {main, runCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {openWorld, type TestWorld, timeZone} from '../support/world.ts';

let place: Place;
/** The account that both assistants are bound to, and another one with the same business. */
let account: {readonly id: string; readonly name: string};
let other: TestWorld;
let pool: pg.Pool;
let masked: Client;
let personal: Client;

async function openClient(
  args: readonly string[],
  changed: Record<string, string> = {},
): Promise<Client> {
  const client = new Client({name: 'test', version: '1'});
  const env = {PATH: process.env.PATH ?? '', ...place.env, ...changed};
  const command = [main, 'mcp', '--account', account.name, ...args];
  await client.connect(new StdioClientTransport({command: process.execPath, args: command, env}));
  return client;
}

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  expect(await runCommand(['sync'], place.env)).toMatchObject({code: 0});
  pool = openPool(place.databaseUrl, {max: 2, applicationName: 'test'});
  const [first] = await query('SELECT account_id AS id, name FROM sync.accounts');
  account = {id: String(first?.id), name: String(first?.name)};
  other = await openWorld(
    place.service,
    {url: place.databaseUrl, drop: async () => {}},
    {name: 'south', timeZone},
  );
  await other.sweepAll();
  await refreshStar(pool);
  masked = await openClient([]);
  personal = await openClient(['--personal']);
});
afterAll(async () => {
  await masked?.close();
  await personal?.close();
  await other?.close();
  await pool?.end();
  await place?.close();
});

const query = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows;

interface Told {
  readonly isError: boolean;
  readonly text: string;
}

async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Told> {
  const result = await client.callTool({name, arguments: args});
  const [part] = result.content as {type: string; text: string}[];
  return {isError: result.isError === true, text: part?.text ?? ''};
}
const sql = (client: Client, text: string) => call(client, 'query', {sql: text});
const rowsOf = ({text}: Told) => JSON.parse(text).rows;

test('every tool is marked as read-only', async () => {
  const {tools} = await masked.listTools();
  expect(tools.map(({name}) => name).sort()).toEqual([
    'ask',
    'definitions',
    'explain',
    'freshness',
    'query',
    'questions',
  ]);
  for (const {annotations} of tools) expect(annotations).toMatchObject({readOnlyHint: true});
});

test('the server lists the questions, and answers one with its definition', async () => {
  const listed = JSON.parse((await call(masked, 'questions')).text);
  expect(listed).toHaveLength(questions.length);
  const answer = JSON.parse((await call(masked, 'ask', {name: 'unbilled'})).text);
  const [held] = await query(
    'SELECT jobs::integer, amount::text FROM mart.ask_unbilled WHERE account_key = $1',
    [account.id],
  );
  expect(answer.rows).toEqual([expect.objectContaining(held)]);
  expect(answer).toMatchObject({
    broken: [],
    definition: expect.any(String),
    freshAsOf: expect.any(String),
  });
});

test('ask accepts dates and a grouping; a question without a period rejects dates', async () => {
  const days = {from: '2026-10-01', to: '2026-10-31'};
  const answer = JSON.parse(
    (await call(masked, 'ask', {name: 'technicians', by: 'day', ...days})).text,
  );
  expect(answer).toMatchObject({by: 'day', period: days, before: expect.anything()});
  for (const {date, name} of answer.rows) {
    expect(date >= days.from && date <= days.to).toBe(true);
    expect(name).toMatch(/^employee -?\d+$/);
  }
  const [listed] = JSON.parse((await call(masked, 'questions')).text).filter(
    ({name}: {name: string}) => name === 'technicians',
  );
  expect(listed).toMatchObject({hasPeriod: true, by: ['day']});
  const refused = await call(masked, 'ask', {name: 'debtors', ...days});
  expect(refused).toMatchObject({isError: true, text: expect.stringContaining('has no period')});
});

test('the server returns the columns of a table and the freshness of the star', async () => {
  const {columns} = JSON.parse((await call(masked, 'definitions', {table: 'fct_job'})).text);
  expect(columns).toContainEqual({column: 'job_key', comment: expect.any(String)});
  expect(JSON.parse((await call(masked, 'freshness')).text)).toMatchObject({waiting: 0});
});

test('query runs a SELECT over the star', async () => {
  const told = await sql(
    masked,
    `WITH done AS (SELECT * FROM fct_job WHERE job_state = 'completed') SELECT count(*) AS jobs
      FROM done JOIN dim_customer USING (customer_key);`,
  );
  expect(rowsOf(told)).toEqual(
    await query(
      `SELECT count(*)::integer AS jobs FROM mart.fct_job WHERE job_state = 'completed'
       AND account_key = $1`,
      [account.id],
    ),
  );
});

describe.each([
  ['without names', () => masked],
  ['with names', () => personal],
])('an assistant bound to one account, %s', (_, client) => {
  const named = [...members, ...questions].map(({name}) => name);

  test.each(named)('%s has every row of that account and no other row', async (name) => {
    const of = async (place: string, where = '') =>
      (await query(`SELECT count(*)::integer AS rows FROM ${place} ${where}`))[0]?.rows;
    const own = await of(
      `mart.${name}`,
      `WHERE account_key = ${account.id} OR account_key IS NULL`,
    );
    const [told] = rowsOf(
      await sql(
        client(),
        `SELECT count(*) AS rows, count(*) FILTER (WHERE account_key <> ${account.id}) AS others
         FROM ${name}`,
      ),
    );
    expect(told).toEqual({rows: own, others: 0});
  });

  test('cannot read rows of the other account, not even through an error', async () => {
    const [held] = await query(
      'SELECT count(*) > 0 AS has FROM mart.fct_job WHERE account_key = $1',
      [other.account.accountId],
    );
    expect(held).toEqual({has: true});
    // A value of a row that is not shown must not come out by an error: conditions are looked at
    // after the account.
    const [job] = await query('SELECT job_key FROM mart.fct_job WHERE account_key = $1 LIMIT 1', [
      other.account.accountId,
    ]);
    for (const text of [
      `SELECT 1 AS one FROM fct_job WHERE 1 / (job_key - ${job?.job_key}) = 2`,
      `SELECT 1 AS one FROM fct_job WHERE job_key = ${job?.job_key}`,
      `SELECT 1 AS one FROM dim_account WHERE (name || 'x')::text = 'southx'
       OR account_key <> ${account.id}`,
    ])
      expect([text, rowsOf(await sql(client(), text))]).toEqual([text, []]);
    for (const table of ['fct_job', 'freshness', 'capacity'].map((name) => `mart.${name}`))
      expect(await sql(client(), `SELECT count(*) FROM ${table}`)).toMatchObject({
        isError: true,
        text: expect.stringContaining('reads'),
      });
  });

  test('gets answers for that account from ask', async () => {
    const [first] = await query(
      `SELECT customer_number AS number, account_id FROM warehouse.customers
        ORDER BY row_id LIMIT 1`,
    );
    expect(first?.account_id).toBe(account.id);
    const answer = JSON.parse((await call(client(), 'ask', {name: 'open-jobs', limit: 1000})).text);
    const [held] = await query(
      'SELECT count(*)::integer AS rows FROM mart.ask_open_jobs WHERE account_key = $1',
      [account.id],
    );
    expect([answer.account, answer.rows.length]).toEqual([account.name, held?.rows]);
  });
});

describe('the account bound to a transaction', () => {
  test('must be set once, before the first read, and not by the statement itself', async () => {
    const client = await pool.connect();
    const read = (text: string) =>
      client.query('SELECT told FROM sync.read_as_assistant($1, 10, 1000) AS told', [text]);
    try {
      await client.query('BEGIN');
      await expect(read('SELECT * FROM fct_job')).rejects.toThrow(
        'expected a transaction that is bound',
      );
      await client.query('ROLLBACK; BEGIN');
      await client.query('SELECT sync.bind_assistant($1, false)', [account.id]);
      await expect(
        client.query('SELECT sync.bind_assistant($1, false)', [other.account.accountId]),
      ).rejects.toThrow('duplicate key');
      await client.query('ROLLBACK; BEGIN');
      await client.query('SELECT sync.bind_assistant($1, false)', [account.id]);
      await expect(
        read(`SELECT sync.bind_assistant(${other.account.accountId}, true)`),
      ).rejects.toThrow('permission denied');
      await client.query('ROLLBACK');
      expect(await query('SELECT * FROM sync.assistant_scopes')).toEqual([]);
      await expect(client.query('SELECT sync.bind_assistant(99, false)')).rejects.toThrow(
        'no account has that number',
      );
    } finally {
      client.release(true);
    }
  });

  test('is checked by each view of masked before the conditions of a statement', async () => {
    const views = await query(
      `SELECT relname AS name, reloptions AS options, pg_get_viewdef(oid) AS text FROM pg_class
       WHERE relnamespace = 'masked'::regnamespace`,
    );
    expect(views.length).toBeGreaterThan(40);
    const open = views.filter(
      ({options, text}) =>
        String(options) !== 'security_barrier=true' ||
        !/WHERE \(+(\w+\.)?account_key = \( SELECT sync\.assistant_account\(\)/.test(text),
    );
    expect(open).toEqual([]);
  });
});

describe('names of people', () => {
  test('are replaced by keys unless the server was started with --personal', async () => {
    const [{name, key}] = await query(
      `SELECT name, customer_key::text AS key FROM mart.ask_debtors AS debtor WHERE account_key = $1
       ORDER BY debtor.owed DESC, customer_key LIMIT 1`,
      [account.id],
    );
    expect(
      JSON.parse((await call(masked, 'ask', {name: 'debtors', limit: 1})).text).rows[0].name,
    ).toBe(`customer ${key}`);
    expect(
      JSON.parse((await call(personal, 'ask', {name: 'debtors', limit: 1})).text).rows[0].name,
    ).toBe(name);
    const text = `SELECT name FROM dim_customer WHERE customer_key = ${key}`;
    expect(rowsOf(await sql(masked, text))).toEqual([{name: `customer ${key}`}]);
    expect(rowsOf(await sql(personal, text))).toEqual([{name}]);
  });

  test('are in no table that can be read without --personal', async () => {
    const names = (
      await query(
        `SELECT name FROM mart.dim_customer WHERE customer_key <> -1 UNION SELECT name
         FROM mart.dim_employee WHERE employee_key <> -1`,
      )
    ).map((row) => String(row.name));
    expect(names.length).toBeGreaterThan(20);
    const tables = JSON.parse((await call(masked, 'definitions')).text);
    for (const {name} of tables) {
      const {text} = await sql(masked, `SELECT * FROM ${name} LIMIT 500`);
      expect([name, names.filter((one) => text.includes(JSON.stringify(one)))]).toEqual([name, []]);
    }
  });

  test('cannot be read with explain unless the server was started with --personal', async () => {
    expect(
      await call(masked, 'explain', {stream: 'customers', number: '1', field: 'name'}),
    ).toMatchObject({
      isError: true,
    });
    expect(await call(masked, 'explain', {stream: 'jobs', number: '1'})).toMatchObject({
      isError: true,
    });
    expect(
      (await call(masked, 'explain', {stream: 'jobs', number: '1', field: 'subtotal'})).text,
    ).toContain('jobs 1 of account');
    expect(
      (await call(personal, 'explain', {stream: 'customers', number: '1', field: 'name'})).text,
    ).toContain('customers 1');
  });
});

describe.each([
  ['without names', () => masked],
  ['with names', () => personal],
])('an assistant %s', (_, client) => {
  test.each<readonly [string, string, RegExp]>([
    ['an update', `UPDATE dim_date SET year = 1`, /syntax error/],
    [
      'a delete in a WITH',
      `WITH gone AS (DELETE FROM mart.settings RETURNING *) SELECT * FROM gone`,
      /WITH/,
    ],
    ['a second statement', `SELECT 1; DROP TABLE warehouse.jobs`, /multiple commands|syntax error/],
    [
      'a view that ends early, with a second statement',
      `SELECT 1) AS x; DELETE FROM warehouse.jobs; --`,
      /syntax error|multiple commands/,
    ],
    ['SELECT INTO', `SELECT 1 AS one INTO made`, /./],
    ['a row lock', `SELECT * FROM fct_job FOR UPDATE`, /./],
    ['another role', `SELECT set_config('role', 'none', false)`, /calls set_config/],
    ['a notice', `SELECT (pg_notify('fieldmirror_due', '1'))::text`, /calls pg_notify/],
    ['a lock', `SELECT (pg_advisory_lock(1))::text`, /calls pg_advisory_lock/],
    [
      'the end of a session',
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity`,
      /calls pg_terminate_backend/,
    ],
    ['a sleep', `SELECT (pg_sleep(60))::text`, /calls pg_sleep/],
    ['a file', `SELECT pg_read_file('/etc/passwd')`, /calls pg_read_file/],
    ['SQL in SQL', `SELECT query_to_xml('SELECT 1', true, true, '')`, /calls query_to_xml/],
    ['the next number', `SELECT nextval('warehouse.jobs_row_id_seq')`, /calls nextval/],
    [
      'a table through a function',
      `SELECT table_to_xml('sync.accounts', true, true, '')`,
      /calls table_to_xml/,
    ],
    ['the database as XML', `SELECT database_to_xml(true, true, '')`, /calls database_to_xml/],
    ...[
      'sync.accounts',
      'sync.assistant_scopes',
      'mart.fct_job',
      'mart.freshness',
      'warehouse.jobs',
    ].map((name) => [name, `SELECT * FROM ${name}`, /reads/] as const),
    ...['pg_shadow', 'pg_settings', 'pg_roles', 'pg_locks', 'pg_class', 'pg_stat_activity'].map(
      (name) => [name, `SELECT count(*) FROM ${name}`, /reads/] as const,
    ),
    ['columns of everything', `SELECT count(*) FROM information_schema.columns`, /reads/],
    [
      'names of the catalogue by their number',
      `SELECT (16384::oid::regclass)::text AS name`,
      /of type/,
    ],
    ['who asks', `SELECT current_user::text AS one`, /calls text/],
    ['a long text', `SELECT repeat('x', 1000000000) AS x`, /calls repeat/],
    ['a padded text', `SELECT lpad('x', 1000000000) AS x`, /calls lpad/],
    ['a padded type', `SELECT 'x'::char(10000000) AS x`, /calls bpchar/],
    [
      'a text of all rows',
      `SELECT string_agg(month_name, '') AS x FROM dim_date`,
      /calls string_agg/,
    ],
    ['an array of all rows', `SELECT array_agg(date) AS x FROM dim_date`, /calls array_agg/],
    ['an array of rows', `SELECT ARRAY(SELECT year FROM dim_date) AS x`, /an array of rows/],
    ['an array of arrays', `SELECT ARRAY[ARRAY[1], ARRAY[2]] AS x`, /an array of arrays/],
    ['a document', `SELECT to_jsonb(date) AS x FROM dim_date`, /calls to_jsonb/],
    ['a row in a row', `SELECT ROW(1, 2)::text AS x`, /ROW|record/],
    ['a whole row', `SELECT dim_date::text AS x FROM dim_date`, /of type/],
    ['XML', `SELECT xmlelement(name x)::text AS x`, /XMLEXPR|of type xml/],
    [
      'rows without end',
      `SELECT count(*) FROM generate_series(1, 1000000000)`,
      /calls generate_series/,
    ],
    [
      'recursion',
      `WITH RECURSIVE more AS (SELECT 'x' AS x UNION ALL SELECT x || x FROM more) SELECT x
        FROM more`,
      /recursion/,
    ],
    ['many joins of texts', `SELECT ${Array(10).fill(`'x'`).join(' || ')} AS x`, /texts joined/],
    ['many products', `SELECT ${Array(42).fill('1.5').join(' * ')} AS x`, /products/],
    ['a long constant', `SELECT '${'x'.repeat(300)}' AS x`, /bytes in one constant/],
    [
      'many columns',
      `SELECT ${Array.from({length: 600}, (_one, at) => `1 AS c${at}`).join(', ')}`,
      /columns in all/,
    ],
    ['a statement of nothing', ``, /./],
  ])('%s is rejected', async (_kind, text, expected) => {
    const [before] = await query('SELECT count(*) FROM warehouse.jobs');
    const {isError, text: said} = await sql(client(), text);
    expect([isError, said]).toEqual([true, expect.stringMatching(expected)]);
    expect(await query('SELECT count(*) FROM warehouse.jobs')).toEqual([before]);
  });
});

test.each([
  `SELECT count(*) AS jobs, sum(subtotal) AS amount,
    round(100.0 * avg(hours) / nullif(sum(hours), 0), 1) AS percent FROM fct_job`,
  `SELECT name, month, amount, sum(amount) OVER (PARTITION BY name ORDER BY month) AS so_far FROM (
     SELECT kind.name AS name, date_trunc('month', completed_date)::date AS month,
       sum(completed_amount) AS amount FROM fct_job AS job LEFT JOIN dim_job_type AS kind
     USING (job_type_key)
      WHERE completed_date >= CURRENT_DATE - INTERVAL '2 years' GROUP BY 1, 2) AS months
        ORDER BY 1, 2`,
  `WITH ranked AS (SELECT job_key, rank() OVER (ORDER BY total DESC) AS place,
    lag(total) OVER (ORDER BY total DESC) AS before FROM fct_job)
   SELECT ranked.*, CASE WHEN place <= 3 THEN 'top ' || place ELSE 'other' END AS kind FROM ranked
   WHERE place <= 10`,
  `SELECT extract(year FROM booked_at AT TIME ZONE 'UTC')::int AS year,
    count(*) FILTER (WHERE job_state IN ('completed', 'scheduled')) AS some,
          percentile_cont(0.5) WITHIN GROUP (ORDER BY hours) AS middle, stddev(total) AS spread
            FROM fct_job GROUP BY GROUPING SETS ((1), ())`,
  `SELECT upper(left(name, 3)) AS short, coalesce(is_active, false) AS is_active,
    greatest(1, 2) AS two FROM dim_customer
   WHERE name ILIKE '%a%' AND customer_key IN (SELECT customer_key FROM fct_job) LIMIT 5`,
  `SELECT DISTINCT weekday_name FROM dim_date
   WHERE EXISTS (SELECT 1 FROM fct_job WHERE completed_date = date) UNION ALL SELECT 'none'
   ORDER BY 1`,
  `SELECT to_char(date, 'YYYY-MM') AS month, working_hours[1] AS monday, total::float8 / 3 AS third,
    job_number::text AS number
     FROM fct_job JOIN dim_date ON date = booked_date JOIN dim_account USING (account_key)
     WHERE (year, month) > (2000, 1) LIMIT 3`,
])('query allows %s', async (text) => {
  const {isError, text: said} = await sql(masked, text);
  expect([isError, said]).toEqual([false, expect.stringContaining('"rows"')]);
});

test('the server also works with the login of a worker', async () => {
  const login = `mcp_${randomBytes(4).toString('hex')}`;
  await makeRole(login, `LOGIN PASSWORD 'made-up' IN ROLE fieldmirror_worker`);
  const address = Object.assign(new URL(place.databaseUrl), {username: login, password: 'made-up'});
  const client = await openClient([], {DATABASE_URL: address.href});
  try {
    const text = `SELECT count(*) AS others FROM fct_job WHERE account_key <> ${account.id}`;
    expect(rowsOf(await sql(client, text))).toEqual([{others: 0}]);
  } finally {
    await client.close();
    await dropRoles(login);
  }
});

describe('the limits of a statement', () => {
  const limits = {rows: 1000, bytes: 1_000_000, ms: 10_000};
  const bound = () => ({accountId: account.id, isPersonal: false});

  test('an answer with too many rows or bytes is cut off and marked as cut off', async () => {
    const many = JSON.parse((await sql(masked, 'SELECT date FROM dim_date ORDER BY date')).text);
    expect([many.rows.length, many.isCutOff]).toEqual([1000, true]);
    const text = 'SELECT * FROM dim_date LIMIT 100';
    const few = await runStatement(pool, text, bound(), {...limits, bytes: 5000});
    expect([few.isCutOff, JSON.stringify(few.rows).length < 5100, few.rows.length > 5]).toEqual([
      true,
      true,
      true,
    ]);
  });

  test('a row that is too large is left out and never converted to JSON', async () => {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT sync.bind_assistant($1, false)', [account.id]);
      // As JSON it would be larger than what Postgres can hold.
      const {rows} = await client.query(
        `SELECT told FROM sync.read_as_assistant($1, 10, 1000000) AS told`,
        [`SELECT repeat(E'\\x01', 200000000) AS x`],
      );
      expect(rows).toEqual([{told: null}]);
    } finally {
      client.release(true);
    }
  });

  test('a statement that exceeds the time limit fails', async () => {
    const text = 'SELECT count(*) AS days FROM dim_date AS a, dim_date AS b, dim_date AS c';
    await expect(runStatement(pool, text, bound(), {...limits, ms: 200})).rejects.toThrow(
      'longer than 0.2 s',
    );
  });

  test('statements that are requested at once run one after another', async () => {
    const ended: string[] = [];
    const holder = await pool.connect();
    try {
      await holder.query('BEGIN; LOCK TABLE mart.dim_job_state');
      const first = sql(masked, 'SELECT count(*) AS states FROM dim_job_state').then((told) => {
        ended.push('first');
        return told;
      });
      const second = sql(masked, 'SELECT 1 AS one').then(() => ended.push('second'));
      expect(await first).toMatchObject({
        isError: true,
        text: expect.stringContaining('being rebuilt'),
      });
      await second;
      expect(ended).toEqual(['first', 'second']);
    } finally {
      holder.release(true);
    }
  });

  test('a cancelled statement ends at once, and one that waited for it does not run', async () => {
    const text = 'SELECT count(*) AS days FROM dim_date AS a, dim_date AS b, dim_date AS c';
    const stop = new AbortController();
    const cancelled = [text, text].map((each) =>
      masked
        .callTool({name: 'query', arguments: {sql: each}}, undefined, {signal: stop.signal})
        .catch(() => 'cancelled'),
    );
    const running = `SELECT FROM pg_stat_activity
      WHERE state = 'active' AND query LIKE 'SELECT told FROM sync.read_as_assistant%'`;
    await expect.poll(async () => (await query(running)).length, {timeout: 5000}).toBe(1);
    const start = performance.now();
    stop.abort();
    expect(await Promise.all(cancelled)).toEqual(['cancelled', 'cancelled']);
    expect(rowsOf(await sql(masked, 'SELECT 1 AS one'))).toEqual([{one: 1}]);
    expect(performance.now() - start).toBeLessThan(5000);
    expect(await query(running)).toEqual([]);
  });
});

test('query rejects a user-defined function that deletes rows', async () => {
  await query(
    `CREATE FUNCTION public.harmless() RETURNS bigint
      LANGUAGE plpgsql STABLE AS $$ BEGIN DELETE FROM warehouse.jobs; RETURN 1; END $$`,
  );
  const {isError, text} = await sql(personal, 'SELECT public.harmless()');
  expect([isError, text]).toEqual([true, expect.stringMatching(/calls harmless/)]);
  await query('DROP FUNCTION public.harmless()');
});
