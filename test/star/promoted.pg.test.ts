import {describe, expect, test} from 'vitest';
import {inTransaction} from '../../src/postgres/database.ts';
import {allTables} from '../../src/streams/all.ts';
import {rememberFields} from '../../src/sweeps/fields.ts';
import {
  accountId,
  addAccount,
  addField,
  addJob,
  columns,
  pool,
  promote,
  usePromotedPlace,
  values,
  waitForBlocked,
} from './promoted-place.ts';

usePromotedPlace();

describe('a view in mart', () => {
  test('exists for every warehouse table, with a comment', async () => {
    const {rows} = await pool.query(
      `SELECT relname AS name, obj_description(oid) AS comment FROM pg_class
        WHERE relnamespace = 'mart'::regnamespace AND relkind = 'v'
          AND relname <> ALL ('{wanted,freshness}') AND relname !~ '^(dim|fct|ask)_'
        ORDER BY relname`,
    );
    expect(rows.map(({name}) => name)).toEqual(allTables.map(({name}) => name).toSorted());
    for (const {comment} of rows) expect(comment).toMatch(/Live records only: [^.]+\.$/);
  });

  test('has the columns of the service and the keys, but no internal columns', async () => {
    const names = Object.keys(await columns());
    expect(names.slice(0, 5)).toEqual(['row_id', 'account_id', 'external_key', 'id', 'job_number']);
    expect(names.slice(-4)).toEqual(['parent_row_id', '_first_seen_at', '_changed_at', '_pending']);
    for (const own of ['extra', '_hash', '_deleted_at', '_sweep_id', '_page'])
      expect(names).not.toContain(own);
  });

  test('has live rows only', async () => {
    await addJob(1, {});
    await addJob(2, {});
    await pool.query('UPDATE warehouse.jobs SET _deleted_at = now() WHERE job_number = 2');
    expect(await values('job_number')).toEqual(['1']);
  });

  test('gets new columns and comments when it is rebuilt', async () => {
    await pool.query(`ALTER TABLE warehouse.jobs ADD COLUMN colour text`);
    await pool.query(`COMMENT ON COLUMN warehouse.jobs.colour IS 'Colour of the job.'`);
    await pool.query('SELECT sync.build_mart()');
    expect(await columns()).toHaveProperty('colour');
    const {rows} = await pool.query(
      `SELECT col_description(attrelid, attnum) AS comment FROM pg_attribute
       WHERE attrelid = 'mart.jobs'::regclass AND attname = 'colour'`,
    );
    expect(rows).toEqual([{comment: 'Colour of the job.'}]);
  });
});

describe('a promoted field', () => {
  test('is the last column of the view at once, until its promotion is undone', async () => {
    await addField('custom_datetime1', ['dateTime']);
    await addJob(1, {custom_datetime1: '2031-01-04T09:00:00-05:00'});
    await addJob(2, {});
    await promote('custom_datetime1', 'warranty_until');
    expect(Object.entries(await columns()).at(-1)).toEqual([
      'warranty_until',
      'timestamp with time zone',
    ]);
    expect(await values('warranty_until')).toEqual(['2031-01-04T14:00:00Z', null]);
    const {rows} = await pool.query(
      `SELECT col_description(attrelid, attnum) AS comment FROM pg_attribute
       WHERE attrelid = 'mart.jobs'::regclass AND attname = 'warranty_until'`,
    );
    expect(rows).toEqual([{comment: 'Promoted from extra: custom_datetime1.'}]);
    await promote('custom_datetime1', null);
    expect(await columns()).not.toHaveProperty('warranty_until');
  });

  test('can be renamed, and is removed with its row of sync.fields', async () => {
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
  ])('that was sent as %j gets the type %s', async (types, type) => {
    await addField('a', types);
    await promote('a', 'promoted');
    expect((await columns()).promoted).toBe(type);
  });

  test('may have a name that contains SQL, which is not executed', async () => {
    const field = `o'x"; DROP TABLE warehouse.jobs; -- %s $1 \\`;
    await addField(field);
    await addJob(1, {[field]: 'kept'});
    await promote(field, 'odd');
    expect(await values('odd')).toEqual(['kept']);
  });

  test('keeps its type when another type is sent, until it is promoted again', async () => {
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

  test('reads its values from the column if a later version adds one for it', async () => {
    await addField('a');
    await promote('a', 'amount');
    await pool.query('ALTER TABLE warehouse.jobs ADD COLUMN a text');
    await pool.query(
      `INSERT INTO warehouse.jobs (account_id, job_number, a) VALUES ($1, 1, 'moved')`,
      [accountId],
    );
    await pool.query('SELECT sync.build_mart()');
    expect(await values('amount')).toEqual(['moved']);
    const seen = {table: 'jobs', field: 'a', column: 'a', type: 'text', isTyped: true};
    await inTransaction(pool, (client) =>
      rememberFields(client, {accountId, stream: 'jobs', sweepId: '2', fields: [seen]}),
    );
  });
});

describe('a value', () => {
  const cases: Record<
    string,
    [string, readonly (readonly [string, string | number | boolean | null])[]]
  > = {
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
    'is null if it does not fit a column of type %s',
    async (_, [type, pairs]) => {
      await addField('a', [type]);
      await promote('a', 'promoted');
      for (const [at, [sent]] of pairs.entries()) await addJob(at + 1, {a: sent});
      expect(await values('promoted')).toEqual(pairs.map(([, expected]) => expected));
    },
  );
});

describe('several accounts', () => {
  test('may promote different fields under one name; it is null for other accounts', async () => {
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

  test('get both columns if two sessions promote at the same time', async () => {
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
