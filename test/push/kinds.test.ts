import {describe, expect, test} from 'vitest';
import {identifyKind, identifyKinds} from '../../src/push/decision.ts';
import {factsOf} from './facts.ts';

describe('the kind of a value', () => {
  test.each([
    ['tasks', 'scheduled_at', 'instant'],
    ['jobs', 'scheduled_on', 'instant'],
    ['job_charges', 'quantity', 'decimal'],
    ['jobs', 'employee_ids', 'ids'],
    ['customers', 'fax', 'customers.fax'],
    ['job_notes', 'note', 'job_notes.note'],
    ['employees', 'password', 'employees.password'],
    ['customers', 'a field without a rule', 'customers.a field without a rule'],
  ])('is shared across tables, except for texts and secrets: %s.%s is %s', (table, field, kind) => {
    expect(identifyKind(factsOf({table}), field)).toBe(kind);
  });
});

test('each kind of a change is listed once', () => {
  const facts = factsOf({table: 'job_charges'});
  expect(identifyKinds(facts, {quantity: '1', price_per_unit: '2', details: 'x'})).toEqual([
    'decimal',
    'job_charges.details',
  ]);
  expect(identifyKinds(facts, {})).toEqual([]);
});
