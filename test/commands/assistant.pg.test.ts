// An assistant speaks the Model Context Protocol with the program, as its client does, and tries what it must not.

import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js';
import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {questions} from '../../src/insight/questions/questions.ts';
import {members} from '../../src/insight/star/star.ts';
import {openPool} from '../../src/warehouse/postgres/database.ts';
import {refreshStar} from '../../src/warehouse/star/refresh-star.ts';
import {main, runCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';
import {openWorld, type TestWorld, timeZone} from '../support/world.ts';

let place: Place;
/** The account that both assistants are bound to, and another one with the same business. */
let account: {readonly id: string; readonly name: string};
let other: TestWorld;
let pool: pg.Pool;
let masked: Client;
let personal: Client;

async function openClient(...args: string[]): Promise<Client> {
  const client = new Client({name: 'test', version: '1'});
  const env = {PATH: process.env.PATH ?? '', ...place.env};
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
  masked = await openClient();
  personal = await openClient('--personal');
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

async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<Told> {
  const result = await client.callTool({name, arguments: args});
  const [part] = result.content as {type: string; text: string}[];
  return {isError: result.isError === true, text: part?.text ?? ''};
}
const sql = (client: Client, text: string) => call(client, 'query', {sql: text});
const rowsOf = ({text}: Told) => JSON.parse(text).rows;

test('every tool says that it reads', async () => {
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

test('lists the questions, answers one, and tells its definition', async () => {
  const listed = JSON.parse((await call(masked, 'questions')).text);
  expect(listed).toHaveLength(questions.length);
  const answer = JSON.parse((await call(masked, 'ask', {name: 'unbilled'})).text);
  const [held] = await query(
    'SELECT jobs::integer, amount::text FROM mart.ask_unbilled WHERE account_key = $1',
    [account.id],
  );
  expect(answer.rows).toEqual([expect.objectContaining(held)]);
  expect(answer).toMatchObject({broken: [], definition: expect.any(String), freshAsOf: expect.any(String)});
});

test('tells the columns of a table, and how fresh it all is', async () => {
  const {columns} = JSON.parse((await call(masked, 'definitions', {table: 'fct_job'})).text);
  expect(columns).toContainEqual({column: 'job_key', comment: expect.any(String)});
  expect(JSON.parse((await call(masked, 'freshness')).text)).toMatchObject({waiting: 0});
});

test('runs a SELECT over the star', async () => {
  const told = await sql(
    masked,
    `WITH done AS (SELECT * FROM fct_job WHERE job_state = 'completed') SELECT count(*) AS jobs FROM done JOIN dim_customer USING (customer_key);`,
  );
  expect(rowsOf(told)).toEqual(
    await query(
      `SELECT count(*)::integer AS jobs FROM mart.fct_job WHERE job_state = 'completed' AND account_key = $1`,
      [account.id],
    ),
  );
});

describe.each([
  ['without names', () => masked],
  ['with names', () => personal],
])('bound to one account, %s:', (_, client) => {
  const named = [...members, ...questions].map(({name}) => name);

  test.each(named)('%s has the rows of that account', async (name) => {
    const of = async (place: string, where = '') =>
      (await query(`SELECT count(*)::integer AS rows FROM ${place} ${where}`))[0]?.rows;
    const own = await of(`mart.${name}`, `WHERE account_key = ${account.id} OR account_key IS NULL`);
    const [told] = rowsOf(
      await sql(
        client(),
        `SELECT count(*) AS rows, count(*) FILTER (WHERE account_key <> ${account.id}) AS others FROM ${name}`,
      ),
    );
    expect(told).toEqual({rows: own, others: 0});
  });

  test('the other one has rows, of which it hears in no way', async () => {
    const [held] = await query('SELECT count(*) > 0 AS has FROM mart.fct_job WHERE account_key = $1', [
      other.account.accountId,
    ]);
    expect(held).toEqual({has: true});
    // A value of a row that is not shown must not come out by an error: conditions are looked at after the account.
    const [job] = await query('SELECT job_key FROM mart.fct_job WHERE account_key = $1 LIMIT 1', [
      other.account.accountId,
    ]);
    for (const text of [
      `SELECT 1 AS one FROM fct_job WHERE 1 / (job_key - ${job?.job_key}) = 2`,
      `SELECT 1 AS one FROM fct_job WHERE job_key = ${job?.job_key}`,
      `SELECT 1 AS one FROM dim_account WHERE (name || 'x')::text = 'southx' OR account_key <> ${account.id}`,
    ])
      expect([text, rowsOf(await sql(client(), text))]).toEqual([text, []]);
    for (const table of ['fct_job', 'freshness', 'capacity'].map((name) => `mart.${name}`))
      expect(await sql(client(), `SELECT count(*) FROM ${table}`)).toMatchObject({
        isError: true,
        text: expect.stringContaining('permission denied'),
      });
  });

  test('what it explains and answers is of that account', async () => {
    const [first] = await query(
      'SELECT customer_number AS number, account_id FROM warehouse.customers ORDER BY row_id LIMIT 1',
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

describe('the account of a transaction', () => {
  test('is bound once, before anything is read, and by nobody who reads', async () => {
    const client = await pool.connect();
    const read = (text: string) =>
      client.query('SELECT told FROM sync.read_as_assistant($1, 10, 1000) AS told', [text]);
    try {
      await client.query('BEGIN');
      await expect(read('SELECT * FROM fct_job')).rejects.toThrow('expected a transaction that is bound');
      await client.query('ROLLBACK; BEGIN');
      await client.query('SELECT sync.bind_assistant($1, false)', [account.id]);
      await expect(
        client.query('SELECT sync.bind_assistant($1, false)', [other.account.accountId]),
      ).rejects.toThrow('duplicate key');
      await client.query('ROLLBACK; BEGIN');
      await client.query('SELECT sync.bind_assistant($1, false)', [account.id]);
      await expect(read(`SELECT sync.bind_assistant(${other.account.accountId}, true)`)).rejects.toThrow(
        'permission denied',
      );
      await client.query('ROLLBACK');
      expect(await query('SELECT * FROM sync.assistant_scopes')).toEqual([]);
      await expect(client.query('SELECT sync.bind_assistant(99, false)')).rejects.toThrow(
        'none of that number',
      );
    } finally {
      client.release(true);
    }
  });

  test('is what each view of the schema masked looks at, before conditions of the statement', async () => {
    const views = await query(
      `SELECT relname AS name, reloptions AS options, pg_get_viewdef(oid) AS text FROM pg_class WHERE relnamespace = 'masked'::regnamespace`,
    );
    expect(views.length).toBeGreaterThan(40);
    const open = views.filter(
      ({options, text}) =>
        String(options) !== 'security_barrier=true' ||
        !/WHERE \(+account_key = \( SELECT sync\.assistant_account\(\)/.test(text),
    );
    expect(open).toEqual([]);
  });
});

describe('names of people', () => {
  test('are keys, unless the person who started the server said otherwise', async () => {
    const [{name, key}] = await query(
      `SELECT name, customer_key::text AS key FROM mart.ask_debtors AS debtor WHERE account_key = $1 ORDER BY debtor.owed DESC, customer_key LIMIT 1`,
      [account.id],
    );
    expect(JSON.parse((await call(masked, 'ask', {name: 'debtors', limit: 1})).text).rows[0].name).toBe(
      `customer ${key}`,
    );
    expect(JSON.parse((await call(personal, 'ask', {name: 'debtors', limit: 1})).text).rows[0].name).toBe(
      name,
    );
    const text = `SELECT name FROM dim_customer WHERE customer_key = ${key}`;
    expect(rowsOf(await sql(masked, text))).toEqual([{name: `customer ${key}`}]);
    expect(rowsOf(await sql(personal, text))).toEqual([{name}]);
  });

  test('are nowhere in what can be read without them', async () => {
    const names = (
      await query(
        `SELECT name FROM mart.dim_customer WHERE customer_key <> -1 UNION SELECT name FROM mart.dim_employee WHERE employee_key <> -1`,
      )
    ).map((row) => String(row.name));
    expect(names.length).toBeGreaterThan(20);
    const tables = JSON.parse((await call(masked, 'definitions')).text);
    for (const {name} of tables) {
      const {text} = await sql(masked, `SELECT * FROM ${name} LIMIT 500`);
      expect([name, names.filter((one) => text.includes(JSON.stringify(one)))]).toEqual([name, []]);
    }
  });

  test('are in no story that is told', async () => {
    expect(await call(masked, 'explain', {stream: 'customers', number: '1', field: 'name'})).toMatchObject({
      isError: true,
    });
    expect(await call(masked, 'explain', {stream: 'jobs', number: '1'})).toMatchObject({isError: true});
    expect((await call(masked, 'explain', {stream: 'jobs', number: '1', field: 'subtotal'})).text).toContain(
      'jobs 1 of account',
    );
    expect(
      (await call(personal, 'explain', {stream: 'customers', number: '1', field: 'name'})).text,
    ).toContain('customers 1');
  });
});

describe.each([
  ['without names', () => masked],
  ['with names', () => personal],
])('refused %s:', (_, client) => {
  test.each([
    ['an update', `UPDATE dim_date SET year = 1`, /syntax error/],
    ['a delete in a WITH', `WITH gone AS (DELETE FROM mart.settings RETURNING *) SELECT * FROM gone`, /WITH/],
    ['a second statement', `SELECT 1; DROP TABLE warehouse.jobs`, /multiple commands|syntax error/],
    [
      'a view that ends and goes on',
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
    ['accounts and what belongs to them', `SELECT * FROM sync.accounts`, /permission denied/],
    ['passwords', `SELECT passwd FROM pg_shadow`, /permission denied/],
    [
      'a table through a function',
      `SELECT table_to_xml('sync.accounts', true, true, '')`,
      /permission denied|calls/,
    ],
    ['a statement of nothing', ``, /./],
  ])('%s', async (_kind, text, expected) => {
    const [before] = await query('SELECT count(*) FROM warehouse.jobs');
    const {isError, text: said} = await sql(client(), text);
    expect([isError, said]).toEqual([true, expect.stringMatching(expected)]);
    expect(await query('SELECT count(*) FROM warehouse.jobs')).toEqual([before]);
  });
});

test('without names the tables with names are closed', async () => {
  for (const table of ['mart.dim_customer', 'warehouse.customers', 'history.customers'])
    expect(await sql(masked, `SELECT * FROM ${table}`)).toMatchObject({
      isError: true,
      text: expect.stringContaining('permission denied'),
    });
});

test('more rows than the limit, and more bytes, are cut off and say so', async () => {
  const many = JSON.parse((await sql(masked, 'SELECT date FROM dim_date ORDER BY date')).text);
  expect([many.rows.length, many.isCutOff]).toEqual([1000, true]);
  const large = JSON.parse((await sql(masked, `SELECT repeat('x', 400000) AS text FROM dim_job_state`)).text);
  expect([large.rows.length, large.isCutOff]).toEqual([2, true]);
});

test('a function of somebody that is made to do more can do nothing', async () => {
  await query(
    `CREATE FUNCTION public.harmless() RETURNS bigint LANGUAGE plpgsql STABLE AS $$ BEGIN DELETE FROM warehouse.jobs; RETURN 1; END $$`,
  );
  const {isError, text} = await sql(personal, 'SELECT public.harmless()');
  expect([isError, text]).toEqual([true, expect.stringMatching(/not allowed|permission denied|read-only/)]);
  await query('DROP FUNCTION public.harmless()');
});
