import {describe, expect, test} from 'vitest';
import {SeenElements} from '../../src/api/value-types.ts';
import {readList} from '../../src/api/xml-strict.ts';
import {customers} from '../../src/streams/customers.ts';
import {jobs} from '../../src/streams/jobs.ts';
import type {Stream} from '../../src/streams/stream.ts';
import {tasks} from '../../src/streams/team.ts';
import {FieldSightings, listPageFields, type PageFields} from '../../src/sweeps/fields.ts';
import {makeJobPage} from '../api/job-page.ts';
import {job, list} from '../support/scripted-service.ts';

function fieldsOf(stream: Stream, body: string | Buffer): PageFields[] {
  const seen = new SeenElements();
  readList(Buffer.from(body), stream, {seen});
  return listPageFields(stream, seen);
}

/** Types by field by table. */
function byTable(pages: readonly PageFields[]): Record<string, Record<string, unknown[]>> {
  const tables: Record<string, Record<string, unknown[]>> = {};
  for (const {table, fields, types} of pages) {
    const found = tables[table] ?? {};
    tables[table] = found;
    for (const [at, field] of fields.entries()) found[field] = [...(found[field] ?? []), types[at]];
  }
  return tables;
}

const page = (more: string) => list('jobs', [job(1, more)]);

describe('the fields of a page', () => {
  test('are listed under the tables that store them; embedded rows are no fields', () => {
    const tables = byTable(fieldsOf(jobs, makeJobPage({jobs: 2})));
    expect(Object.keys(tables).toSorted()).toEqual([
      'job_charges',
      'job_notes',
      'job_types',
      'jobs',
      'tax_entities',
    ]);
    expect(tables.job_charges).toEqual({
      id: ['integer'],
      details: ['text'],
      quantity: ['decimal'],
      price_per_unit: ['decimal'],
    });
    expect(tables.jobs).toMatchObject({
      job_number: ['integer'],
      custom_datetime1: ['dateTime'],
      chosen_days_of_week: ['nested'],
      job_allocations: ['nested'],
    });
    for (const element of [
      'notes',
      'job_charges',
      'job_type',
      'customer',
      'time_entries',
      'tax_entity',
    ])
      expect(tables.jobs).not.toHaveProperty(element);
  });

  test('of a link are those that its columns store', () => {
    const link =
      '<employees type="array"><employee><id type="integer">7</id>' +
      '<pager>1</pager></employee></employees>';
    expect(byTable(fieldsOf(jobs, page(link))).job_employees).toEqual({id: ['integer']});
  });

  test('belong to one table, whichever stream embeds its records', () => {
    const tax = '<tax-entity type="Tax"><id type="integer">1</id><rate>x</rate></tax-entity>';
    const keys = '<id type="integer">1</id><customer-number type="integer">1</customer-number>';
    const customer = `<customer>${keys}${tax}</customer>`;
    const ofCustomers = byTable(fieldsOf(customers, list('customers', [customer]))).tax_entities;
    expect(byTable(fieldsOf(jobs, page(tax))).tax_entities).toEqual(ofCustomers);
    expect(ofCustomers).toEqual({id: ['integer'], rate: ['text']});
  });

  test('of an excerpt that no table stores are one nested field', () => {
    const task =
      '<task><id type="integer">1</id><job><job-number type="integer">5</job-number></job></task>';
    expect(byTable(fieldsOf(tasks, list('tasks', [task])))).toEqual({
      tasks: {id: ['integer'], job: ['nested']},
    });
  });

  test('include secrets by their names only', () => {
    const tables = byTable(
      fieldsOf(jobs, page('<api-token type="integer">5</api-token><b><password>x</password></b>')),
    );
    expect(tables.jobs).toMatchObject({api_token: ['secret'], b: ['nested']});
    expect(JSON.stringify(tables)).not.toContain('password');
  });

  test('show whether the page declares types', () => {
    expect(fieldsOf(jobs, makeJobPage({jobs: 1})).every(({isTyped}) => isTyped)).toBe(true);
    const documented = fieldsOf(jobs, makeJobPage({jobs: 1, dialect: 'documented'}));
    expect(documented.map(({table, isTyped}) => [table, isTyped])).toContainEqual(['jobs', false]);
    expect(documented.some(({isTyped}) => isTyped)).toBe(false);
  });

  test('leave out a name of more than 200 characters', () => {
    const long = 'x'.repeat(201);
    const short = 'x'.repeat(200);
    const tables = byTable(fieldsOf(jobs, page(`<${long}>1</${long}><${short}>1</${short}>`)));
    expect(tables.jobs).toHaveProperty(short);
    expect(tables.jobs).not.toHaveProperty(long);
  });

  test('can be sent to another thread', () => {
    const fields = fieldsOf(jobs, makeJobPage({jobs: 1}));
    expect(structuredClone(fields)).toEqual(fields);
  });
});

describe('the fields that a sweep has seen', () => {
  const one = (type: PageFields['types'][number], field = 'x', table = 'jobs'): PageFields => ({
    table,
    isTyped: true,
    fields: [field],
    types: [type],
  });

  test('are returned once', () => {
    const sightings = new FieldSightings(jobs);
    const pages = fieldsOf(jobs, makeJobPage({jobs: 3}));
    expect(sightings.take(pages).length).toBeGreaterThan(100);
    expect(sightings.take(pages)).toEqual([]);
    expect(sightings.take(fieldsOf(jobs, makeJobPage({jobs: 3, firstNumber: 7})))).toEqual([]);
  });

  test('have the column that stores them, or no column if they are kept in extra', () => {
    const sightings = new FieldSightings(jobs);
    const taken = sightings.take([
      one('integer', 'job_number'),
      one('text'),
      one('integer', 'id', 'job_employees'),
    ]);
    expect(taken).toEqual([
      {table: 'jobs', field: 'job_number', column: 'job_number', type: 'integer', isTyped: true},
      {table: 'jobs', field: 'x', column: null, type: 'text', isTyped: true},
      {table: 'job_employees', field: 'id', column: 'employee_id', type: 'integer', isTyped: true},
    ]);
  });

  test('are returned again with a new type, but not without a type', () => {
    const sightings = new FieldSightings(jobs);
    expect(sightings.take([one(null)])).toHaveLength(1);
    expect(sightings.take([one(null)])).toHaveLength(0);
    expect(sightings.take([one('text'), one('text')])).toHaveLength(1);
    expect(sightings.take([one('integer')])).toHaveLength(1);
    expect(sightings.take([one(null), one('text'), one('integer')])).toHaveLength(0);
    expect(sightings.take([one('integer', 'x', 'job_notes')])).toHaveLength(1);
    expect(sightings.take([one(null, 'x', 'job_notes')])).toHaveLength(0);
  });

  test('are limited in number, whatever names a service sends', () => {
    const sightings = new FieldSightings(jobs);
    const fields = Array.from({length: 10_000}, (_, n) => `f${n}`);
    const taken = sightings.take([
      {table: 'jobs', isTyped: true, fields, types: fields.map(() => 'text')},
    ]);
    expect(taken.length).toBeLessThan(5_000);
    expect(sightings.take([one('integer', 'f1')])).toHaveLength(1);
  });
});
