import {describe, expect, test} from 'vitest';
import {decideWait, decideWithoutNumber, tryLater} from '../../src/push/decision.ts';
import {factsOf} from './facts.ts';

const job = {
  table: 'jobs',
  operation: 'create',
  number: null,
  fields: {name: 'Roof'},
  base: {},
} as const;

describe('a change that is due', () => {
  test('is held while a kind of its values is stopped', () => {
    const facts = factsOf({stoppedKinds: ['instant', 'customers.fax']});
    expect(decideWait(facts)).toEqual({
      what: 'hold',
      kind: 'customers.fax',
      reason: expect.stringContaining('fieldmirror changes list --state altered'),
    });
  });

  test.each([
    ['a request of an earlier one was lost just now', 0, 900_000],
    ['such a request may still arrive, for a second', 899_000, 1_000],
    ['such a request may still arrive, for a millisecond', 899_999, 1],
  ])('waits if %s', (_, sentAgainAgoMs, delayMs) => {
    expect(decideWait(factsOf({sentAgainAgoMs}))).toEqual({
      what: 'postpone',
      reason: expect.stringContaining('may still arrive'),
      delayMs,
      isFailure: false,
      attempt: null,
      refusal: null,
    });
  });

  test.each([
    ['nothing speaks against it', {}],
    ['what is stopped is a kind of other values', {stoppedKinds: ['instant', 'customers.name']}],
    ['no request of an earlier one can still arrive', {sentAgainAgoMs: 900_000}],
  ])('does not wait if %s', (_, change) => {
    expect(decideWait(factsOf(change))).toBeNull();
  });
});

describe('a change without a number that its path needs', () => {
  test('waits if its parent has no number yet', () => {
    expect(decideWithoutNumber(factsOf(job))).toMatchObject({
      what: 'postpone',
      reason: 'its customers has no number yet',
      isFailure: true,
    });
  });

  test.each([
    ['an update', factsOf({number: null}), 'the number of its record is no longer known'],
    [
      'a delete',
      factsOf({number: null, operation: 'delete'}),
      'the number of its record is no longer known',
    ],
    [
      'a create in doubt, which had one when it was sent',
      factsOf({...job, state: 'in_doubt'}),
      'the number of its customers is no longer known',
    ],
  ])('is left to a person if it is %s', (_, facts, reason) => {
    expect(decideWithoutNumber(facts)).toMatchObject({what: 'conflict', reason});
  });
});

test.each([
  [null, 1_700],
  [1_000, 1_700],
  [5_000, 5_000],
])(
  'a failure is retried after the longer of the back-off and the Retry-After (%s ms)',
  (retryAfterMs, delayMs) => {
    expect(tryLater(factsOf(), {reason: 'busy', retryAfterMs})).toMatchObject({
      delayMs,
      isFailure: true,
    });
  },
);
