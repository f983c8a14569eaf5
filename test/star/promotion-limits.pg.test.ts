// The limits of a promotion: the things that it leaves alone, and the cases in which it is refused.

import {beforeEach, describe, expect, test} from 'vitest';
import {inTransaction} from '../../src/postgres/database.ts';
import {rememberFields} from '../../src/sweeps/fields.ts';
import {inSequence} from '../support/patterns.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {
  accountId,
  addField,
  addJob,
  columns,
  database,
  failure,
  pool,
  promote,
  usePromotedPlace,
} from './promoted-place.ts';

usePromotedPlace();

describe('objects that depend on a mart view', () => {
  beforeEach(async () => {
    await addField('a', ['integer']);
    await addField('b');
    await promote('a', 'one');
    await pool.query('CREATE SCHEMA report');
    await pool.query('CREATE VIEW report.weekly AS SELECT job_number, one FROM mart.jobs');
  });

  test('are kept when a column is added', async () => {
    await promote('b', 'another');
    await addJob(1, {a: '1'});
    expect(Object.keys(await columns()).slice(-2)).toEqual(['one', 'another']);
    expect((await pool.query('SELECT one FROM report.weekly')).rows).toEqual([{one: '1'}]);
  });

  test('are named in the error if a column would be removed or retyped', async () => {
    expect(await failure(promote('a', null))).toMatch(
      inSequence(
        /^mart\.jobs: a column of it would be removed /,
        /.*view report\.weekly depends on view mart\.jobs.* Drop them first/,
      ),
    );
    await pool.query(`UPDATE sync.fields SET types = '{text}' WHERE field = 'a'`);
    expect(await failure(promote('a', 'one'))).toMatch(/report\.weekly/);
    expect(await columns()).toMatchObject({one: 'bigint'});
    const {rows} = await pool.query(`SELECT promoted_as FROM sync.fields WHERE field = 'a'`);
    expect(rows).toEqual([{promoted_as: 'one'}]);
  });

  test('do not stop a sweep, because a new type changes no view', async () => {
    const seen = {table: 'jobs', field: 'a', column: null, type: 'text', isTyped: true};
    await inTransaction(pool, (client) =>
      rememberFields(client, {accountId, stream: 'jobs', sweepId: '2', fields: [seen]}),
    );
    expect(await columns()).toMatchObject({one: 'bigint'});
  });

  test('include grants, which are kept when the view is recreated', async () => {
    const role = `bi_${database.url.slice(-12)}`;
    await pool.query('DROP VIEW report.weekly');
    await makeRole(role);
    try {
      await pool.query(`GRANT SELECT ON mart.jobs TO ${role}`);
      await promote('a', null);
      const {rows} = await pool.query(
        `SELECT has_table_privilege($1, 'mart.jobs', 'SELECT') AS may`,
        [role],
      );
      expect(rows).toEqual([{may: true}]);
    } finally {
      await pool.query(`DROP OWNED BY ${role}`);
      await dropRoles(role);
    }
  });
});

describe('a promotion is rejected with its reason', () => {
  test.each([
    ['total', /'total' is a column of jobs already; choose another name/],
    ['extra', /'extra' is a column of jobs already/],
    ['_hash', /expected a name of at most 63 small letters/],
    ['Warranty Until', /expected a name of at most 63 small letters.*got 'Warranty Until'/],
    ['x'.repeat(64), /expected a name/],
  ])('if its name is %s', async (name, words) => {
    await addField('a');
    const before = await columns();
    expect(await failure(promote('a', name))).toMatch(words);
    expect(await columns()).toEqual(before);
  });

  test('if another field of the account has its name', async () => {
    await addField('a');
    await addField('b');
    await promote('a', 'one');
    expect(await failure(promote('b', 'one'))).toMatch(/'one' is taken by a of the same account/);
  });

  test('if the field already has a column', async () => {
    await addField('name', ['text'], {column: 'name'});
    expect(await failure(promote('name', 'title'))).toMatch(
      /jobs\.name of account \d+ has a column already: mart\.jobs\.name/,
    );
  });

  test('if the field is a secret', async () => {
    await addField('api_token', ['secret']);
    expect(await failure(promote('api_token', 'token'))).toMatch(
      /is a secret, and secrets are not kept/,
    );
  });

  test('if the table does not exist', async () => {
    await addField('a');
    await pool.query(`UPDATE sync.fields SET table_name = 'nothing'`);
    expect(await failure(pool.query(`UPDATE sync.fields SET promoted_as = 'one'`))).toMatch(
      /there is no table warehouse\.nothing/,
    );
  });
});
