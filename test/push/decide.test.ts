import {describe, expect, test} from 'vitest';
import type {WriteResult} from '../../src/api/client.ts';
import {AccessError, FatalError, RecordError, RetryableError} from '../../src/core/errors.ts';
import {decide, type SendOutcome} from '../../src/push/decide.ts';
import {attempt, begun, factsOf, fresh, known, note, remoteOf, sendPlan, withFax} from './facts.ts';

const update = factsOf();
const create = factsOf({operation: 'create', number: null, base: {}, state: 'pending'});
const erase = factsOf({operation: 'delete', fields: {}, base: {}});

const before = remoteOf(update, withFax('555-0100'));
const after = remoteOf(update, withFax('555-0199'));

const done: WriteResult = {outcome: 'done', status: 200, record: null, locatedNumber: null};
const wasDone = attempt({outcome: 'done', status: 200, answer: null});

function outcomeOf(result: WriteResult, more: Partial<SendOutcome> = {}): SendOutcome {
  const plan = sendPlan(known(), {before});
  return {plan, begun, result, created: null, after: null, ...more};
}

function refused(
  status: number,
  message: string,
  more: {readonly isGone?: boolean; readonly error?: Error} = {},
) {
  const {isGone = false, error = new RecordError(message)} = more;
  return {outcome: 'refused', status, message, isGone, error} as const;
}
const wasRefused = (status: number, answer: string) =>
  attempt({outcome: 'refused', status, answer});

describe('a written change is done:', () => {
  test('an update, as of the start of its request', () => {
    expect(decide(update, outcomeOf(done, {after}))).toMatchObject({
      what: 'done',
      number: '7',
      remote: after,
      isGone: false,
      since: begun.startedAt,
      result: null,
      attempt: wasDone,
    });
  });

  test('an update that the service altered, with the fields that were not sent', () => {
    const odd = remoteOf(update, withFax('0'));
    const plan = sendPlan(known(), {unsent: ['name']});
    const altered = {fax: {sent: '555-0199', got: '0'}};
    expect(decide(update, outcomeOf(done, {plan, after: odd}))).toMatchObject({
      what: 'done',
      result: {altered, unsent: ['name']},
    });
  });

  test('a create, with the number from the answer', () => {
    const outcome = outcomeOf(done, {plan: sendPlan(fresh), created: '7', after});
    expect(decide(create, outcome)).toMatchObject({
      what: 'done',
      number: '7',
      remote: after,
      isGone: false,
    });
  });

  test('a delete, without reading the record back', () => {
    const outcome = outcomeOf(done, {plan: sendPlan(known('delete'), {fields: {}})});
    expect(decide(erase, outcome)).toMatchObject({
      what: 'done',
      number: '7',
      remote: null,
      isGone: true,
      result: null,
      attempt: wasDone,
    });
  });

  test('an update of a note that was deleted meanwhile, though its customer exists', () => {
    const facts = factsOf({
      table: 'customer_notes',
      number: '12',
      fields: {note: 'later'},
      base: {note: 'now'},
    });
    const bare = remoteOf(facts, '<customer_number>7</customer_number><notes></notes>');
    const outcome = outcomeOf(done, {
      plan: sendPlan(note('update'), {fields: {note: 'later'}}),
      after: bare,
    });
    expect(decide(facts, outcome)).toMatchObject({
      what: 'done',
      number: '12',
      remote: bare,
      isGone: true,
    });
  });
});

describe('a change written but not read back is in doubt, its request recorded as done:', () => {
  const other = remoteOf(update, '<customer_number>8</customer_number>');
  test.each<[string, Partial<SendOutcome>, string, string | null]>([
    ['an update', {}, 'it was written, and could not be read back', null],
    [
      'a create whose answer contains no number',
      {plan: sendPlan(fresh)},
      'the service created it, and did not say under which number',
      null,
    ],
    [
      'a create whose record is not to be had',
      {plan: sendPlan(fresh), created: '7'},
      'it was created as 7, and could not be read back',
      '7',
    ],
    [
      'a create of which another record was read',
      {plan: sendPlan(fresh), created: '7', after: other},
      'it was created as 7, and could not be read back',
      '7',
    ],
  ])('%s', (_, more, reason, number) => {
    const facts = more.plan === undefined ? update : create;
    const doubt = {what: 'doubt', reason, number, delayMs: 2_000, isCheck: false, attempt: wasDone};
    expect(decide(facts, outcomeOf(done, more))).toEqual(doubt);
  });
});

describe('a change that the service refused', () => {
  test.each([
    ['an update puts back what was read before', update, sendPlan(known(), {before}), before],
    ['a create has nothing to put back', create, sendPlan(fresh), null],
    ['a delete has nothing to put back', erase, sendPlan(known('delete')), null],
  ] as const)(
    'for good is rejected with the status and message of the service: %s',
    (_, facts, plan, remote) => {
      expect(decide(facts, outcomeOf(refused(422, 'Fax is odd.'), {plan}))).toEqual({
        what: 'reject',
        message: '422: Fax is odd.',
        remote,
        attempt: wasRefused(422, 'Fax is odd.'),
      });
    },
  );

  test('for lack of a permission is also rejected if the token is valid', () => {
    const result = refused(403, 'Not yours.', {error: new FatalError('expected access')});
    expect(decide(update, outcomeOf(result))).toMatchObject({
      what: 'reject',
      message: '403: Not yours.',
    });
  });

  test.each([
    ['requests no delay, after the random delay', null, 1_700],
    ['requests a shorter delay, after the random delay as well', 500, 1_700],
    ['requests a longer delay, after that', 60_000, 60_000],
  ])('temporarily is sent later; if the service %s', (_, retryAfterMs, delayMs) => {
    const error = new RetryableError('429: send it later', {retryAfterMs});
    expect(decide(update, outcomeOf(refused(429, 'Slow down.', {error})))).toEqual({
      what: 'postpone',
      reason: '429: send it later',
      delayMs,
      isFailure: true,
      attempt: wasRefused(429, 'Slow down.'),
      refusal: null,
    });
  });

  test('because of its token is sent at once if there is another token', () => {
    const error = new AccessError('401: the token');
    expect(decide(update, outcomeOf(refused(401, 'Who?', {error})))).toEqual({
      what: 'postpone',
      reason: '401: the token',
      delayMs: 0,
      isFailure: false,
      attempt: wasRefused(401, 'Who?'),
      refusal: error,
    });
  });

  const result = refused(404, 'Invalid customer.', {isGone: true});
  const ended = wasRefused(404, 'Invalid customer.');
  test.each([
    [
      'leaves an update to a person',
      update,
      sendPlan(known(), {before}),
      {
        what: 'conflict',
        reason: 'the record no longer exists at the service (Invalid customer.)',
        conflicts: [],
        result: null,
        attempt: ended,
      },
    ],
    [
      'makes a delete done',
      erase,
      sendPlan(known('delete')),
      {
        what: 'done',
        number: '7',
        remote: null,
        isGone: true,
        since: begun.startedAt,
        attempt: ended,
      },
    ],
    [
      'rejects a create, which hung on it',
      create,
      sendPlan(fresh),
      {what: 'reject', message: 'Invalid customer.', remote: null, attempt: ended},
    ],
  ] as const)('because of a missing record: %s', (_, facts, plan, decision) => {
    expect(decide(facts, outcomeOf(result, {plan}))).toMatchObject(decision);
  });
});

test('a request that never left is sent later and recorded as not sent', () => {
  const result = {outcome: 'not-sent', reason: 'connection refused'} as const;
  expect(decide(create, outcomeOf(result, {plan: sendPlan(fresh)}))).toEqual({
    what: 'postpone',
    reason: 'connection refused',
    delayMs: 1_700,
    isFailure: true,
    attempt: attempt({outcome: 'not-sent', status: null, answer: 'connection refused'}),
    refusal: null,
  });
});

describe('a request with an unknown outcome is checked:', () => {
  test.each([
    ['an update, soon after its first sending', update, null, 2_000],
    ['at once where the service says so, after the first sending', update, 500, 500],
    ['an update that was sent before, later', factsOf({sends: 2}), null, 50_000],
    [
      'no sooner than usual, though the service says so, when it was sent before',
      factsOf({sends: 1}),
      500,
      8_000,
    ],
    ['later where the service says so', factsOf({sends: 1}), 90_000, 90_000],
    [
      'an update that was sent very often, after the longest delay',
      factsOf({sends: 19}),
      null,
      300_000,
    ],
    [
      'a create, always soon: it is sent twice at the most',
      factsOf({operation: 'create', sends: 1}),
      null,
      2_000,
    ],
  ])('%s', (_, facts, retryAfterMs, delayMs) => {
    const result = {outcome: 'in-doubt', reason: 'reset', status: 500, retryAfterMs} as const;
    expect(decide(facts, outcomeOf(result))).toEqual({
      what: 'doubt',
      reason: 'reset',
      delayMs,
      number: null,
      isCheck: false,
      attempt: attempt({outcome: 'in-doubt', status: 500, answer: 'reset'}),
    });
  });
});
