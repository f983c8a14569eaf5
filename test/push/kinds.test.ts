import {describe, expect, test} from 'vitest';
import {kindOf, kindsOf} from '../../src/push/decision.ts';
import {factsOf} from './facts.ts';

describe('values are of one kind', () => {
  test.each([
    ['tasks', 'scheduled_at', 'instant'],
    ['jobs', 'scheduled_on', 'instant'],
    ['job_charges', 'quantity', 'decimal'],
    ['jobs', 'employee_ids', 'ids'],
    ['customers', 'fax', 'customers.fax'],
    ['job_notes', 'note', 'job_notes.note'],
    ['employees', 'password', 'employees.password'],
    ['customers', 'a field without a rule', 'customers.a field without a rule'],
  ])('across tables, but for texts and secrets: %s.%s is %s', (table, field, kind) => {
    expect(kindOf(factsOf({table}), field)).toBe(kind);
  });
});

test('the kinds of a change are named once each', () => {
  const facts = factsOf({table: 'job_charges'});
  expect(kindsOf(facts, {quantity: '1', price_per_unit: '2', details: 'x'})).toEqual([
    'decimal',
    'job_charges.details',
  ]);
  expect(kindsOf(facts, {})).toEqual([]);
});
