import {describe, expect, test} from 'vitest';
import {accountId, field, pool, seen, sweep, useFieldsPlace} from './fields-place.ts';

useFieldsPlace();

describe('the filled share', () => {
  async function insertJob(
    number: number,
    values: {name?: string | null; total?: number; extra?: object},
  ) {
    await pool.query(
      `INSERT INTO warehouse.jobs (account_id, job_number, name, total, extra)
       VALUES ($1, $2, $3, $4, $5)`,
      [accountId, number, values.name ?? null, values.total ?? null, values.extra ?? {}],
    );
  }

  const fields = [
    seen('name', 'text', {column: 'name'}),
    seen('total', 'decimal', {column: 'total'}),
    seen('custom_text1'),
    seen(`it's`, 'nested'),
    seen('api_token', 'secret'),
    seen('number', 'integer', {column: 'job_number'}),
    seen('gone', 'text', {column: 'no_such_column'}),
  ];

  test('counts live rows whose value is neither null nor an empty text', async () => {
    await insertJob(1, {name: 'Boiler', total: 0, extra: {custom_text1: 'x', "it's": {a: '1'}}});
    await insertJob(2, {name: '', extra: {custom_text1: ''}});
    await insertJob(3, {name: null, extra: {custom_text1: null, "it's": ['1']}});
    await insertJob(4, {name: 'Pump'});
    await insertJob(5, {name: 'Gone'});
    await pool.query('UPDATE warehouse.jobs SET _deleted_at = now() WHERE job_number = 5');
    await pool.query(
      `INSERT INTO warehouse.jobs (account_id, job_number, name) VALUES ($1 + 1, 1, 'Other')`,
      [Number(accountId)],
    );
    await sweep(fields, {wroteRows: true});
    const {rows} = await pool.query(
      'SELECT field, filled_share AS share FROM sync.fields ORDER BY field',
    );
    expect(rows).toEqual([
      {field: 'api_token', share: null},
      {field: 'custom_text1', share: 0.25},
      {field: 'gone', share: null},
      {field: "it's", share: 0.5},
      {field: 'name', share: 0.5},
      {field: 'number', share: 1},
      {field: 'total', share: 0.25},
    ]);
  });

  test('is unchanged if the sweep wrote no row, and null if the table has no rows', async () => {
    await insertJob(1, {name: 'Boiler'});
    await sweep(fields, {wroteRows: true});
    await pool.query('UPDATE warehouse.jobs SET name = NULL');
    await sweep(fields, {wroteRows: false});
    expect((await field('name')).filled_share).toBe(1);
    await pool.query('DELETE FROM warehouse.jobs');
    await sweep(fields, {wroteRows: true});
    expect((await field('name')).filled_share).toBeNull();
  });
});
