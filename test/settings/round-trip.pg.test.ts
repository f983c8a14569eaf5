// Settings that are told by one installation and applied to an empty one are the same there.

import fc from 'fast-check';
import type pg from 'pg';
import {afterAll, beforeAll, expect, inject, test} from 'vitest';
import {formatFile, parseSettings, readEntries} from '../../src/cli/config-file.ts';
import {openPool} from '../../src/postgres/database.ts';
import {applyRetention} from '../../src/retention/retention.ts';
import {applySettings, planSettings} from '../../src/settings/settings.ts';
import {allTables} from '../../src/streams/all.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

const environment = {account: null, demo: 'demo'};
const databases: TestDatabase[] = [];
const pools: pg.Pool[] = [];

beforeAll(async () => {
  for (const _ of ['told', 'empty']) {
    const database = await createDatabase(inject('warehouseTemplate'));
    databases.push(database);
    pools.push(openPool(database.url, {max: 2, applicationName: 'test'}));
  }
});

afterAll(async () => {
  for (const pool of pools) await pool.end();
  for (const database of databases) await database.drop();
});

const hours = fc.array(
  fc.integer({min: 0, max: 96}).map((quarters) => quarters / 4),
  {
    minLength: 7,
    maxLength: 7,
  },
);
const text = fc
  .string({minLength: 1, maxLength: 12, unit: 'grapheme'})
  .filter((each) => !each.includes('\0'));
const number = fc.integer({min: 1, max: 2 ** 31}).map(String);
const day = fc.date({
  min: new Date('2000-01-01'),
  max: new Date('2049-12-31'),
  noInvalidDate: true,
});
const rule = fc.constantFrom('service', 'warehouse', 'newest', 'ask');
const every = fc
  .tuple(fc.integer({min: 1, max: 90}), fc.constantFrom('ms', 's', 'm', 'h'))
  .map((each) => each.join(''));
const time = fc
  .integer({min: 0, max: 86_399})
  .map((at) => `${new Date(at * 1000).toISOString().slice(11, 19)}${at % 2 === 0 ? '' : 'Z'}`);
const schedule = fc.oneof(
  fc.record({
    stream: fc.constantFrom('jobs', 'tasks', 'customers'),
    every: every.filter((each) => each !== '24h' && each !== '48h' && each !== '72h'),
  }),
  fc.record({
    stream: fc.constantFrom('jobs', 'tasks'),
    window: fc.constantFrom('today', 'this_week'),
    every: fc.constant('5m'),
  }),
  fc.record({stream: fc.constant('jobs'), every: fc.constantFrom('1d', '48h'), at: time}),
);
const fresh = fc.constantFrom('15m', '1h', '90m');
const keptFor = fc.constantFrom('31d', '365d', 'forever');
const names = fc.uniqueArray(fc.constantFrom('north', 'south', '7', 'demo'), {
  minLength: 1,
  maxLength: 3,
});
const promoted = fc.uniqueArray(
  fc.tuple(
    text,
    fc.stringMatching(/^x_[a-z0-9_]{1,9}$/),
    fc.constantFrom('text', 'integer', 'dateTime'),
  ),
  {
    selector: ([, name]) => name,
    maxLength: 3,
  },
);

const hook = (accounts: readonly string[]) =>
  fc.record(
    {
      host: fc.constantFrom('erp.example.com', '127.0.0.1:8080'),
      account: fc.constantFrom(...accounts),
      tables: fc.uniqueArray(fc.constantFrom('jobs', 'customers', 'tasks'), {minLength: 1}),
      columns: fc.uniqueArray(fc.constantFrom('name', 'external_key'), {minLength: 1}),
      leave_out: fc.uniqueArray(fc.constantFrom('http:erp', 'http: office'), {minLength: 1}),
      limit: fc.integer({min: 1, max: 1_000}),
      mask: fc.boolean(),
      system: fc.constantFrom('default', 'tryton'),
    },
    {requiredKeys: ['host']},
  );

const causes = fc.uniqueArray(fc.constantFrom('failed', 'drift', 'no-room'), {minLength: 1});
const rulesOf = (accounts: readonly string[]) => {
  const scope = {account: fc.constantFrom(...accounts), causes};
  const host = fc.constantFrom('hooks.example.com', '127.0.0.1:8080');
  return fc.oneof(
    fc.record(
      {
        receiver: fc.constantFrom('webhook', 'slack'),
        host,
        quiet: every.filter(isOfSeconds),
        ...scope,
      },
      {requiredKeys: ['receiver', 'host']},
    ),
    fc.record(
      {receiver: fc.constant('ping'), host, every: every.filter(isOfSeconds), ...scope},
      {requiredKeys: ['receiver', 'host']},
    ),
    fc.record(
      {
        receiver: fc.constant('email'),
        to: fc.constant('ops@example.com'),
        own_server: fc.boolean(),
        ...scope,
      },
      {requiredKeys: ['receiver', 'to']},
    ),
  );
};
const isOfSeconds = (text: string) => !text.endsWith('ms');

const settings = names.chain((accounts) => {
  const by = <T>(arbitrary: fc.Arbitrary<T>) =>
    fc.record(Object.fromEntries(accounts.map((name) => [name, arbitrary])));
  return fc.record({
    accounts: fc.record(
      Object.fromEntries(
        accounts.map((name) => [
          name,
          fc.record(
            {
              url: fc.constant(`https://app.example.com/${name}`),
              time_zone: fc.constantFrom('UTC', 'America/New_York'),
              paused: fc.boolean(),
            },
            {requiredKeys: ['url', 'time_zone']},
          ),
        ]),
      ),
    ),
    schedules: by(fc.dictionary(text, schedule, {maxKeys: 3})),
    freshness: by(fc.record({customers: fresh, jobs: fresh}, {requiredKeys: []})),
    write_rules: fc.record({
      customers: fc.record({fax: rule, phone_number: rule}, {requiredKeys: []}),
    }),
    promoted_fields: by(
      promoted.map((fields) => ({
        jobs: Object.fromEntries(
          fields.map(([field, name, type]) => [field, {name, types: [type]}]),
        ),
      })),
    ),
    insight: by(
      fc.record(
        {
          currency: fc.constantFrom('EUR', 'USD'),
          working_hours: hours,
          repeat_visit_days: fc.integer({min: 1, max: 365}),
        },
        {requiredKeys: []},
      ),
    ),
    deletions: by(
      fc.record(
        {customers: fc.constantFrom(7, '0', '20'), jobs: fc.constantFrom('5%', '2.5%', '100%')},
        {requiredKeys: []},
      ),
    ),
    capacity: by(fc.dictionary(fc.constantFrom('7', '8'), hours)),
    closed_days: by(
      fc.dictionary(
        day.map((each) => each.toISOString().slice(0, 10)),
        text,
        {maxKeys: 2},
      ),
    ),
    labels: by(
      fc.record({task_type: fc.dictionary(number, text, {maxKeys: 2})}, {requiredKeys: []}),
    ),
    retention: fc.record(
      {
        quiet_sweeps: keptFor,
        settled_changes: keptFor,
        versions: keptFor,
        feed: fc.constantFrom('7d', '90d'),
      },
      {requiredKeys: []},
    ),
    hooks: fc.dictionary(fc.constantFrom('erp', 'bi.2', '7'), hook(accounts), {maxKeys: 2}),
    alerts: fc.dictionary(fc.constantFrom('ops', 'desk.2', '7'), rulesOf(accounts), {maxKeys: 3}),
  });
});

test('an export applied to an empty installation gives the same rows, no difference', async () => {
  const [told, empty] = pools;
  if (told === undefined || empty === undefined) throw new Error('expected two warehouses');
  await fc.assert(
    fc.asyncProperty(settings, async (made) => {
      for (const pool of pools) await clear(pool);
      // Whatever came of it, the file goes the way of a file.
      expect(await apply(told, JSON.stringify(made))).toEqual([]);
      const file = await exportOf(told);
      expect(await apply(empty, file)).toEqual([]);
      expect(await rowsOf(empty)).toEqual(await rowsOf(told));
      expect(await exportOf(empty)).toBe(file);
      const {sections} = await planSettings(empty, parseSettings(file, 'f').settings, environment);
      expect(sections.flatMap(({differences, unnamed}) => [...differences, ...unnamed])).toEqual(
        [],
      );
    }),
    {numRuns: 12},
  );
}, 120_000);

/** Working hours come second: their employees are mirrored only once their accounts are there. */
async function apply(pool: pg.Pool, text: string) {
  const {settings: file} = parseSettings(text, 'f');
  const {capacity: _, ...rest} = file;
  const first = await applySettings(pool, {file: rest, isFile: true}, environment);
  await pool.query(`BEGIN; SET LOCAL fieldmirror.writer = 'repair';
    INSERT INTO warehouse.employees (account_id, employee_number, name)
    SELECT account_id, number, 'Ann' FROM sync.accounts, unnest('{7, 8}'::bigint[]) AS number
         ON CONFLICT DO NOTHING; COMMIT`);
  const second = await applySettings(pool, {file, isFile: true}, environment);
  return [...first.problems, ...second.problems];
}

/** @returns the settings in force, as a file */
async function exportOf(pool: pg.Pool): Promise<string> {
  return formatFile(await readEntries(pool), null);
}

/**
 * The rows of each table that a file of settings is about, without numbers and times that are an
 * installation's own.
 */
async function rowsOf(pool: pg.Pool): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const statement of [
    'SELECT name, api_url, time_zone, state, state_reason FROM sync.accounts ORDER BY name',
    `SELECT a.name AS account, s.name, stream, mode, window_name, every_ms,
            CASE WHEN every_ms % 86400000 = 0 THEN to_char(next_due_at, 'HH24:MI:SS') END AS at
       FROM sync.schedules AS s JOIN sync.accounts AS a USING (account_id) ORDER BY a.name, s.name`,
    'SELECT table_name, field, rule FROM sync.write_rules ORDER BY 1, 2',
    'SELECT kind, kept_for::text FROM sync.retention ORDER BY kind',
    'SELECT keep_days FROM sync.feed_state',
    `SELECT hook.name, target, account.name AS account, tables, columns, leaves_out, masks,
      most, hook.system, hook.key_id, sealed_access
       FROM sync.feed_hooks AS hook LEFT JOIN sync.accounts AS account USING (account_id)
       ORDER BY hook.name`,
    `SELECT rule.name, receiver, target, account.name AS account, causes, quiet_ms, every_ms,
      rule.key_id, sealed_access, kind
       FROM sync.alert_rules AS rule LEFT JOIN sync.accounts AS account USING (account_id)
       LEFT JOIN sync.alert_deliveries USING (rule_id) ORDER BY rule.name`,
    `SELECT a.name, table_name, field, types, promoted_as FROM sync.fields
       JOIN sync.accounts AS a USING (account_id) ORDER BY 1, 2, 3`,
    ...['settings', 'closed_days', 'labels'].map(
      (table) =>
        `SELECT a.name AS account, (to_jsonb(t) - 'account_key')::text AS row
         FROM mart.${table} AS t JOIN sync.accounts AS a ON account_key = account_id ORDER BY 1, 2`,
    ),
    `SELECT a.name, employee_number, working_hours FROM mart.capacity
     JOIN warehouse.employees ON row_id = employee_key
       JOIN sync.accounts AS a USING (account_id) ORDER BY 1, 2`,
    `SELECT a.name, stream, most_rows, most_percent FROM sync.deletion_limits
       JOIN sync.accounts AS a USING (account_id) ORDER BY 1, 2`,
    `SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
     WHERE attrelid = 'mart.jobs'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY 1`,
  ])
    found.push((await pool.query(statement)).rows);
  return found;
}

async function clear(pool: pg.Pool): Promise<void> {
  await pool.query('UPDATE sync.fields SET promoted_as = NULL WHERE promoted_as IS NOT NULL');
  await pool.query('TRUNCATE mart.settings, mart.capacity, mart.closed_days, mart.labels');
  await pool.query(
    `TRUNCATE sync.accounts CASCADE; UPDATE sync.write_rules SET rule = 'ask';
     DELETE FROM sync.retention; UPDATE sync.feed_state SET keep_days = 30`,
  );
  await applyRetention(pool);
}

test('fields of every warehouse table can be promoted', async () => {
  const [pool] = pools;
  if (pool === undefined) throw new Error('expected a warehouse');
  await clear(pool);
  const file = {
    accounts: {north: {url: 'https://app.example.com/n', time_zone: 'UTC'}},
    promoted_fields: {
      north: Object.fromEntries(
        allTables.map(({name}) => [name, {custom: {name: 'x_custom', types: ['integer']}}]),
      ),
    },
  };
  expect(await apply(pool, JSON.stringify(file))).toEqual([]);
  const {rows} = await pool.query(
    `SELECT count(*)::int AS columns, count(DISTINCT format_type(atttypid, atttypmod))::int AS types
     FROM pg_attribute
      WHERE attname = 'x_custom' AND attrelid IN (SELECT oid FROM pg_class
        WHERE relnamespace = 'mart'::regnamespace)`,
  );
  expect(rows).toEqual([{columns: allTables.length, types: 1}]);
});
