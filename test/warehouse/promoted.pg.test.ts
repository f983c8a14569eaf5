import type pg from 'pg';
import {afterEach, beforeEach, describe, expect, inject, test} from 'vitest';
import {allTables} from '../../src/streams/all-tables.ts';
import {upsertAccount} from '../../src/warehouse/accounts/accounts.ts';
import {rememberFields} from '../../src/warehouse/fields/fields.ts';
import {inTransaction, openPool} from '../../src/warehouse/postgres/database.ts';
import {asRepair, createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let pool: pg.Pool;
let accountId: string;

beforeEach(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  pool = openPool(asRepair(database.url), {max: 4, applicationName: 'test'});
  accountId = await addAccount('acme');
});

afterEach(async () => {
  await pool.end();
  await database.drop();
});

async function addAccount(name: string): Promise<string> {
  const account = {name, apiUrl: `https://example.com/${name}`, timeZone: 'UTC'};
  return (await upsertAccount(pool, account)).accountId;
}

async function addField(
  field: string,
  types: readonly string[] = ['text'],
  more: {account?: string; column?: string} = {},
) {
  await pool.query(
    `INSERT INTO sync.fields (account_id, table_name, field, stream, types, column_name, last_sweep_id)
     VALUES ($1, 'jobs', $2, 'jobs', $3, $4, 1)`,
    [more.account ?? accountId, field, types, more.column ?? null],
  );
}

async function addJob(number: number, attributes: object, account = accountId) {
  await pool.query('INSERT INTO warehouse.jobs (account_id, job_number, attributes) VALUES ($1, $2, $3)', [
    account,
    number,
    attributes,
  ]);
}

/** As a person would. */
async function promote(field: string, name: string | null, account?: string) {
  await pool.query(
    `UPDATE sync.fields SET promoted_as = $2
      WHERE table_name = 'jobs' AND field = $1 AND ($3::bigint IS NULL OR account_id = $3)`,
    [field, name, account ?? null],
  );
}

async function columns(): Promise<Record<string, string>> {
  const {rows} = await pool.query(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
      WHERE attrelid = 'mart.jobs'::regclass AND attnum > 0 ORDER BY attnum`,
  );
  return Object.fromEntries(rows.map(({name, type}) => [name, type]));
}

async function values(column: string): Promise<unknown[]> {
  const {rows} = await pool.query(`SELECT ${column} AS value FROM mart.jobs ORDER BY account_id, job_number`);
  return rows.map(({value}) => value);
}

async function failure(action: Promise<unknown>): Promise<string> {
  return await action.then(
    () => 'nothing failed',
    (error: Error & {hint?: string}) => `${error.message}${error.hint === undefined ? '' : ` ${error.hint}`}`,
  );
}

/** Resolves when a session of this database waits for another's lock. */
async function waitForBlocked(): Promise<void> {
  for (;;) {
    const {rows} = await pool.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if (rows.length > 0) return;
  }
}

describe('a view in mart', () => {
  test('is there for every warehouse table, with a comment', async () => {
    const {rows} = await pool.query(
      `SELECT relname AS name, obj_description(oid) AS comment FROM pg_class
        WHERE relnamespace = 'mart'::regnamespace AND relkind = 'v' AND relname <> 'wanted' ORDER BY relname`,
    );
    expect(rows.map(({name}) => name)).toEqual(allTables.map(({name}) => name).toSorted());
    for (const {comment} of rows) expect(comment).toMatch(/Live records only: [^.]+\.$/);
  });

  test('has the columns of the service, the keys, when the row came and whether it is pending, and no bookkeeping', async () => {
    const names = Object.keys(await columns());
    expect(names.slice(0, 5)).toEqual(['row_id', 'account_id', 'external_key', 'id', 'job_number']);
    expect(names.slice(-4)).toEqual(['parent_row_id', '_first_seen_at', '_changed_at', '_pending']);
    for (const own of ['attributes', '_hash', '_deleted_at', '_sweep_id', '_page'])
      expect(names).not.toContain(own);
  });

  test('has live rows only', async () => {
    await addJob(1, {});
    await addJob(2, {});
    await pool.query('UPDATE warehouse.jobs SET _deleted_at = now() WHERE job_number = 2');
    expect(await values('job_number')).toEqual(['1']);
  });

  test('takes up new columns and new comments when it is built again', async () => {
    await pool.query(`ALTER TABLE warehouse.jobs ADD COLUMN colour text`);
    await pool.query(`COMMENT ON COLUMN warehouse.jobs.colour IS 'Colour of the job.'`);
    await pool.query('SELECT sync.build_mart()');
    expect(await columns()).toHaveProperty('colour');
    const {rows} = await pool.query(
      `SELECT col_description(attrelid, attnum) AS comment FROM pg_attribute WHERE attrelid = 'mart.jobs'::regclass AND attname = 'colour'`,
    );
    expect(rows).toEqual([{comment: 'Colour of the job.'}]);
  });
});

describe('a promoted field', () => {
  test('is a column at once, behind the others, with a comment, and gone when it is taken back', async () => {
    await addField('custom_datetime1', ['dateTime']);
    await addJob(1, {custom_datetime1: '2031-01-04T09:00:00-05:00'});
    await addJob(2, {});
    await promote('custom_datetime1', 'warranty_until');
    expect(Object.entries(await columns()).at(-1)).toEqual(['warranty_until', 'timestamp with time zone']);
    expect(await values('warranty_until')).toEqual(['2031-01-04T14:00:00Z', null]);
    const {rows} = await pool.query(
      `SELECT col_description(attrelid, attnum) AS comment FROM pg_attribute WHERE attrelid = 'mart.jobs'::regclass AND attname = 'warranty_until'`,
    );
    expect(rows).toEqual([{comment: 'Promoted from attributes: custom_datetime1.'}]);
    await promote('custom_datetime1', null);
    expect(await columns()).not.toHaveProperty('warranty_until');
  });

  test('may get another name, and may go with its row', async () => {
    await addField('a');
    await promote('a', 'one');
    await promote('a', 'two');
    expect(Object.keys(await columns()).slice(-1)).toEqual(['two']);
    await pool.query(`DELETE FROM sync.fields WHERE field = 'a'`);
    expect(await columns()).not.toHaveProperty('two');
  });

  test.each<[string[], string]>([
    [['integer'], 'bigint'],
    [['decimal'], 'numeric'],
    [['integer', 'decimal'], 'numeric'],
    [['float'], 'double precision'],
    [['float', 'integer'], 'double precision'],
    [['float', 'decimal'], 'numeric'],
    [['boolean'], 'boolean'],
    [['dateTime'], 'timestamp with time zone'],
    [['nested'], 'jsonb'],
    [['text'], 'text'],
    [['date'], 'text'],
    [['integer', 'text'], 'text'],
    [['boolean', 'integer'], 'text'],
    [[], 'text'],
  ])('sent as %j is %s', async (types, type) => {
    await addField('a', types);
    await promote('a', 'promoted');
    expect((await columns()).promoted).toBe(type);
  });

  test('has a hostile name, and harms nothing', async () => {
    const field = `o'x"; DROP TABLE warehouse.jobs; -- %s $1 \\`;
    await addField(field);
    await addJob(1, {[field]: 'kept'});
    await promote(field, 'odd');
    expect(await values('odd')).toEqual(['kept']);
  });

  test('keeps its type while what is sent changes, and takes the new one when it is promoted again', async () => {
    await addField('a', ['integer']);
    await addJob(1, {a: '5'});
    await addJob(2, {a: '5.5'});
    await promote('a', 'amount');
    const seen = {table: 'jobs', field: 'a', column: null, type: 'decimal', isTyped: true};
    await inTransaction(pool, (client) =>
      rememberFields(client, {accountId, stream: 'jobs', sweepId: '2', fields: [seen]}),
    );
    await addField('b');
    await promote('b', 'other');
    expect((await columns()).amount).toBe('bigint');
    expect(await values('amount')).toEqual(['5', null]);
    await promote('a', 'amount');
    expect((await columns()).amount).toBe('numeric');
    expect(await values('amount')).toEqual(['5', '5.5']);
  });

  test('that a later version gives a column has its values from there', async () => {
    await addField('a');
    await promote('a', 'amount');
    await pool.query('ALTER TABLE warehouse.jobs ADD COLUMN a text');
    await pool.query(`INSERT INTO warehouse.jobs (account_id, job_number, a) VALUES ($1, 1, 'moved')`, [
      accountId,
    ]);
    await pool.query('SELECT sync.build_mart()');
    expect(await values('amount')).toEqual(['moved']);
    const seen = {table: 'jobs', field: 'a', column: 'a', type: 'text', isTyped: true};
    await inTransaction(pool, (client) =>
      rememberFields(client, {accountId, stream: 'jobs', sweepId: '2', fields: [seen]}),
    );
  });
});

describe('a value', () => {
  const cases: Record<string, [string, readonly (readonly [string, string | number | boolean | null])[]]> = {
    integer: [
      'integer',
      [
        ['5', '5'],
        ['-0012', '-12'],
        ['999999999999999999', '999999999999999999'],
        ['99999999999999999999', null],
        ['1.5', null],
        ['', null],
        ['x', null],
        ['5 ', null],
      ],
    ],
    decimal: [
      'decimal',
      [
        ['275.10', '275.10'],
        ['1e5', '100000'],
        ['.5', '0.5'],
        ['1e99999', null],
        ['NaN', null],
        ['1,5', null],
        ['', null],
      ],
    ],
    float: [
      'float',
      [
        ['33.3333333333333', 33.3333333333333],
        ['0', 0],
        ['0e400', 0],
        ['1e400', null],
        ['1e-400', null],
        ['Infinity', Number.POSITIVE_INFINITY],
        ['x', null],
      ],
    ],
    boolean: [
      'boolean',
      [
        ['true', true],
        ['false', false],
        ['yes', null],
        ['', null],
      ],
    ],
    instant: [
      'dateTime',
      [
        ['2031-01-04T09:00:00-05:00', '2031-01-04T14:00:00Z'],
        ['2028-02-29T23:59:59Z', '2028-02-29T23:59:59Z'],
        ['2031-01-04T09:00:00.25Z', '2031-01-04T09:00:00.25Z'],
        ['2031-02-29T09:00:00Z', null],
        ['2031-04-31T09:00:00Z', null],
        ['2031-13-01T09:00:00Z', null],
        ['0000-01-01T00:00:00Z', null],
        ['2031-01-04T24:00:00Z', null],
        ['2031-01-04T09:00:00', null],
        ['2031-01-04', null],
        ['1/4/31 9:00am', null],
        ['', null],
      ],
    ],
  };

  test.each(Object.entries(cases))(
    'that does not fit a column of type %s is null there',
    async (_, [type, pairs]) => {
      await addField('a', [type]);
      await promote('a', 'promoted');
      for (const [at, [sent]] of pairs.entries()) await addJob(at + 1, {a: sent});
      expect(await values('promoted')).toEqual(pairs.map(([, expected]) => expected));
    },
  );
});

describe('several accounts', () => {
  test('may promote different fields under one name, and what others did not promote is null', async () => {
    const other = await addAccount('other');
    const third = await addAccount('third');
    await addField('a', ['integer']);
    await addField('a', ['integer'], {account: other});
    await addField('b', ['decimal'], {account: other});
    for (const account of [accountId, other, third]) await addJob(1, {a: '1', b: '2.5'}, account);
    await promote('a', 'amount', accountId);
    await promote('b', 'amount', other);
    expect((await columns()).amount).toBe('numeric');
    expect(await values('amount')).toEqual(['1', '2.5', null]);
    await promote('a', null, accountId);
    expect(await values('amount')).toEqual([null, '2.5', null]);
  });

  test('may promote the same field in one statement', async () => {
    const other = await addAccount('other');
    await addField('a');
    await addField('a', ['text'], {account: other});
    for (const account of [accountId, other]) await addJob(1, {a: account}, account);
    await promote('a', 'mark');
    expect(await values('mark')).toEqual([accountId, other]);
  });

  test('promoting at the same moment both have their column', async () => {
    await addField('a');
    await addField('b');
    const first = await pool.connect();
    await first.query('BEGIN');
    await first.query(`UPDATE sync.fields SET promoted_as = 'one' WHERE field = 'a'`);
    const second = promote('b', 'two');
    await waitForBlocked();
    await first.query('COMMIT');
    first.release();
    await second;
    expect(await columns()).toMatchObject({one: 'text', two: 'text'});
  });
});

describe('what stands on a view', () => {
  beforeEach(async () => {
    await addField('a', ['integer']);
    await addField('b');
    await promote('a', 'one');
    await pool.query('CREATE SCHEMA report');
    await pool.query('CREATE VIEW report.weekly AS SELECT job_number, one FROM mart.jobs');
  });

  test('stays when a column is added', async () => {
    await promote('b', 'another');
    await addJob(1, {a: '1'});
    expect(Object.keys(await columns()).slice(-2)).toEqual(['one', 'another']);
    expect((await pool.query('SELECT one FROM report.weekly')).rows).toEqual([{one: '1'}]);
  });

  test('is named when a column would go or change its type, and nothing is done', async () => {
    expect(await failure(promote('a', null))).toMatch(
      /^mart\.jobs: a column of it would go .*view report\.weekly depends on view mart\.jobs.* Drop them first/,
    );
    await pool.query(`UPDATE sync.fields SET types = '{text}' WHERE field = 'a'`);
    expect(await failure(promote('a', 'one'))).toMatch(/report\.weekly/);
    expect(await columns()).toMatchObject({one: 'bigint'});
    const {rows} = await pool.query(`SELECT promoted_as FROM sync.fields WHERE field = 'a'`);
    expect(rows).toEqual([{promoted_as: 'one'}]);
  });

  test('does not stop a sweep: a type that is new changes no view', async () => {
    const seen = {table: 'jobs', field: 'a', column: null, type: 'text', isTyped: true};
    await inTransaction(pool, (client) =>
      rememberFields(client, {accountId, stream: 'jobs', sweepId: '2', fields: [seen]}),
    );
    expect(await columns()).toMatchObject({one: 'bigint'});
  });

  test('grants are kept, though the view is made anew', async () => {
    const role = `bi_${database.url.slice(-12)}`;
    await pool.query('DROP VIEW report.weekly');
    await pool.query(`CREATE ROLE ${role}`);
    try {
      await pool.query(`GRANT SELECT ON mart.jobs TO ${role}`);
      await promote('a', null);
      const {rows} = await pool.query(`SELECT has_table_privilege($1, 'mart.jobs', 'SELECT') AS may`, [role]);
      expect(rows).toEqual([{may: true}]);
    } finally {
      await pool.query(`DROP OWNED BY ${role}`);
      await pool.query(`DROP ROLE ${role}`);
    }
  });
});

describe('a promotion is refused, by what is wrong with it,', () => {
  test.each([
    ['total', /'total' is a column of jobs already; choose another name/],
    ['attributes', /'attributes' is a column of jobs already/],
    ['_hash', /expected a name of at most 63 small letters/],
    ['Warranty Until', /expected a name of at most 63 small letters.*got 'Warranty Until'/],
    ['x'.repeat(64), /expected a name/],
  ])('under the name %s', async (name, words) => {
    await addField('a');
    const before = await columns();
    expect(await failure(promote('a', name))).toMatch(words);
    expect(await columns()).toEqual(before);
  });

  test('under a name that another field of the account has', async () => {
    await addField('a');
    await addField('b');
    await promote('a', 'one');
    expect(await failure(promote('b', 'one'))).toMatch(/'one' is taken by a of the same account/);
  });

  test('where the field has a column', async () => {
    await addField('name', ['text'], {column: 'name'});
    expect(await failure(promote('name', 'title'))).toMatch(
      /jobs\.name of account \d+ has a column already: mart\.jobs\.name/,
    );
  });

  test('where the field is a secret', async () => {
    await addField('api_token', ['secret']);
    expect(await failure(promote('api_token', 'token'))).toMatch(/is a secret, and secrets are not kept/);
  });

  test('where there is no such table', async () => {
    await addField('a');
    await pool.query(`UPDATE sync.fields SET table_name = 'nothing'`);
    expect(await failure(pool.query(`UPDATE sync.fields SET promoted_as = 'one'`))).toMatch(
      /there is no table warehouse\.nothing/,
    );
  });
});
