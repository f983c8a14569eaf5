import {describe, expect, expectTypeOf, test} from 'vitest';
import {
  composeRequest,
  type KnownSubject,
  parentInPath,
  pathOf,
  type Subject,
} from '../../src/changes/request.ts';
import {RecordError} from '../../src/core/errors.ts';
import {findCreatedRemoteNumber, findRemoteNumber} from '../../src/push/plan.ts';
import type {ChangeValues} from '../../src/rows/change-values.ts';
import {findWrites} from '../../src/streams/all.ts';

const customer = {table: 'customers', number: '7'} as const;
const job = {table: 'jobs', number: '5'} as const;

describe('the path of a request', () => {
  test.each<[string, Subject<string | null>, string]>([
    ['customers', {operation: 'create', parent: null}, '/customers.xml'],
    ['customers', {operation: 'update', number: '7', parent: null}, '/customers/7.xml'],
    ['customers', {operation: 'delete', number: '7', parent: null}, '/customers/7.xml'],
    ['jobs', {operation: 'create', parent: customer}, '/customers/7/jobs.xml'],
    ['jobs', {operation: 'update', number: '5', parent: null}, '/jobs/5.xml'],
    ['customer_notes', {operation: 'create', parent: customer}, '/customers/7/notes.xml'],
    [
      'customer_notes',
      {operation: 'delete', number: '12', parent: customer},
      '/customers/7/notes/12.xml',
    ],
    ['job_notes', {operation: 'update', number: '12', parent: job}, '/jobs/5/notes/12.xml'],
    ['time_entries', {operation: 'create', parent: job}, '/jobs/5/time_entries.xml'],
    [
      'jobs',
      {operation: 'create', parent: {table: 'customers', number: null}},
      '/customers/…/jobs.xml',
    ],
    [
      'job_notes',
      {operation: 'update', number: null, parent: {table: 'jobs', number: null}},
      '/jobs/…/notes/….xml',
    ],
  ])('of %s, %j, is %s', (table, subject, path) => {
    expect(pathOf(findWrites(table), subject)).toBe(path);
  });

  test.each(['', '0', '-1', '7/8', '1.5', '../9'])(
    'cannot be built if a number is %j',
    (number) => {
      const writes = findWrites('customers');
      expect(() => pathOf(writes, {operation: 'delete', number, parent: null})).toThrow(
        RecordError,
      );
      const parent = {table: 'customers', number} as const;
      expect(() => pathOf(findWrites('jobs'), {operation: 'create', parent})).toThrow(RecordError);
    },
  );

  test.each([
    ['jobs', 'create', 'customers'],
    ['jobs', 'update', undefined],
    ['job_notes', 'create', 'jobs'],
    ['job_notes', 'delete', 'jobs'],
    ['tasks', 'create', undefined],
  ] as const)('of %s, by %s, contains the number of the parent %s', (table, operation, parent) => {
    expect(parentInPath(findWrites(table), operation)?.table).toBe(parent);
  });
});

describe('a number that is not known yet', () => {
  test('is not allowed by the type of a request that is sent', () => {
    expectTypeOf<KnownSubject['number']>().toEqualTypeOf<string>();
    expectTypeOf<NonNullable<Subject['parent']>['number']>().toEqualTypeOf<string>();
    expectTypeOf<Subject<string | null>>().not.toExtend<Subject>();
    expectTypeOf(findRemoteNumber).parameter(0).toEqualTypeOf<KnownSubject>();
    expectTypeOf(findRemoteNumber).returns.toEqualTypeOf<string>();
  });
});

describe('the record that shows the outcome of a change', () => {
  test.each([
    ['its own', {operation: 'update', number: '7', parent: null}, '7'],
    ['its parent', {operation: 'delete', number: '12', parent: customer}, '7'],
  ] as const)('is %s', (_, subject, number) => {
    expect(findRemoteNumber(subject)).toBe(number);
  });

  test.each([
    ['the new one', 'jobs', customer, '5', '5'],
    ['the new one, also without a parent', 'jobs', null, '5', '5'],
    ['the parent of a note', 'job_notes', job, '12', '5'],
    ['unknown for a note whose parent is unknown', 'job_notes', null, '12', null],
  ])('after a create is %s', (_, table, parent, created, number) => {
    const subject = {operation: 'create', parent} as const;
    expect(findCreatedRemoteNumber({writes: findWrites(table)}, subject, created)).toBe(number);
  });
});

describe('the XML document of a request', () => {
  const timeZone = 'America/New_York';
  const compose = (table: string, operation: 'create' | 'update', fields: ChangeValues) => {
    const subject =
      operation === 'create' ? {operation, parent: null} : {operation, number: '7', parent: null};
    return composeRequest(findWrites(table), subject, {fields, timeZone});
  };

  test('has the fields in the order of their table, whatever the input order', () => {
    const one = compose('customers', 'create', {fax: '1', name: 'A & B'});
    expect(one).toEqual(compose('customers', 'create', {name: 'A & B', fax: '1'}));
    expect(one.method).toBe('POST');
    expect(one.body).toMatch(/<customer>\s*<name>A &amp; B<\/name>\s*<fax>1<\/fax>\s*<\/customer>/);
  });

  test('has times in the time zone of the account', () => {
    const {method, path, body} = compose('tasks', 'update', {scheduled_at: '2027-03-01T15:00:00Z'});
    expect([method, path]).toEqual(['PUT', '/tasks/7.xml']);
    expect(body).toContain('10:00');
    expect(body).not.toContain('15:00');
  });

  test.each([
    ['jobs', 'scheduled_on', '3/1/27 09:05am'],
    ['time_entries', 'started_on', '03/01/2027 09:05am'],
    ['tasks', 'scheduled_at', '3/1/2027 09:05am'],
  ])('of %s has %s in the shape of its resource', (table, field, text) => {
    const {body} = compose(table, 'create', {[field]: '2027-03-01T14:05:00Z'});
    expect(body).toContain(`<${field}>${text}</${field}>`);
  });

  test('marks an empty field with nil="true"', () => {
    expect(compose('customers', 'update', {fax: null}).body).toContain('<fax nil="true"');
  });

  test('does not exist for a delete', () => {
    const subject = {operation: 'delete', number: '7', parent: null} as const;
    const request = composeRequest(findWrites('customers'), subject, {fields: {}, timeZone});
    expect(request).toEqual({method: 'DELETE', path: '/customers/7.xml'});
  });

  test('cannot be built with a field that is not writable', () => {
    expect(() => compose('customers', 'update', {balance: '0'})).toThrow(RecordError);
  });
});
