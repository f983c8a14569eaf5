import {describe, expect, test} from 'vitest';
import type {Change, FieldConflict} from '../../src/changes/change.ts';
import {type Circumstances, findNextStep, listDecisions} from '../../src/changes/next-step.ts';
import {describeNextStep} from '../../src/changes/words.ts';

const now = '2026-11-21T12:00:00Z';
const before = '2026-11-21T11:59:00Z';
const later = '2026-11-21T12:03:00Z';

function change(more: Partial<Change> = {}): Change {
  return {
    changeId: '12',
    accountId: '1',
    table: 'customers',
    rowId: '7',
    operation: 'update',
    number: '4711',
    parentRowId: null,
    externalKey: null,
    fields: {name: 'a', fax: 'b'},
    base: {name: 'x', fax: 'y'},
    seen: null,
    state: 'pending',
    reason: null,
    waitsFor: null,
    heldFor: null,
    isLarge: null,
    requestedAt: before,
    requestedBy: 'erp',
    application: null,
    batch: null,
    transactionId: null,
    undoes: null,
    dueAt: before,
    fence: 0,
    leaseUntil: null,
    failures: 0,
    sends: 0,
    sentAt: null,
    checks: 0,
    result: null,
    settledAt: null,
    ...more,
  };
}

const calm: Circumstances = {
  account: {name: 'acme', state: 'active', stateReason: null, keyId: null},
  blocker: null,
  conflicts: [],
  alterations: [],
  isOvertaken: false,
  now,
};

function next(more: Partial<Change>, around: Partial<Circumstances> = {}) {
  const step = findNextStep(change(more), {...calm, ...around});
  return {
    text: step === null ? undefined : describeNextStep(step),
    commands: step?.commands.map(({command}) => command) ?? [],
  };
}

const fought: FieldConflict = {
  field: 'name',
  baseValue: 'x',
  warehouseValue: 'a',
  serviceValue: 'z',
  rule: 'ask',
  winner: null,
  foundAt: before,
  decidedAt: null,
  decidedBy: null,
};

describe('the next step of a change', () => {
  const blocker = change({changeId: '11', state: 'held'});
  const paused = {...calm.account, state: 'paused'} as const;
  const stopped = {...calm.account, state: 'stopped', stateReason: '401'} as const;
  test.each<[string, Partial<Change>, Partial<Circumstances>, RegExp, string]>([
    [
      'a held one',
      {state: 'held'},
      {},
      /until a person releases it/,
      'fieldmirror changes release 12',
    ],
    ['a due one', {}, {}, /as soon as a worker/, 'fieldmirror push'],
    ['one in hand', {leaseUntil: later}, {}, /a worker has it/, ''],
    [
      'one whose lease ran out',
      {leaseUntil: before},
      {},
      /as soon as a worker/,
      'fieldmirror push',
    ],
    [
      'one that failed',
      {dueAt: later},
      {},
      /tried again at 2026-11-21 12:03:00 UTC \(in 3 min\)/,
      'fieldmirror changes retry 12',
    ],
    [
      'a waiting one',
      {waitsFor: '11'},
      {blocker},
      /once change 11 is done, which is held now/,
      'fieldmirror changes show 11',
    ],
    [
      'one that waits for a refused one',
      {waitsFor: '11'},
      {blocker: change({changeId: '11', state: 'rejected'})},
      /change 11 was refused: it is sent once that change is fixed/,
      'fieldmirror changes show 11',
    ],
    [
      'one of a paused account',
      {},
      {account: paused},
      /account acme is paused/,
      'fieldmirror accounts resume acme',
    ],
    [
      'one of an account whose sealed token is refused',
      {},
      {account: {...stopped, keyId: 'k'}},
      /account acme is stopped: nothing of it is sent \(401\)/,
      'fieldmirror accounts add acme',
    ],
    [
      'one of an account whose token is in the environment, and refused',
      {},
      {account: stopped},
      /account acme is stopped/,
      'fieldmirror start',
    ],
    ['one on its way', {state: 'sending', leaseUntil: later}, {}, /waits for the answer/, ''],
    [
      'one whose worker was lost',
      {state: 'sending', leaseUntil: before},
      {},
      /was lost: the next one finds out by reading/,
      '',
    ],
    [
      'a doubtful one',
      {state: 'in_doubt', dueAt: later},
      {},
      /a worker checks at .* \(in 3 min\) whether it arrived/,
      'fieldmirror changes retry 12',
    ],
    [
      'a refused one',
      {state: 'rejected'},
      {},
      /UPDATE warehouse\.customers/,
      'fieldmirror changes retry 12',
    ],
    [
      'a refused create',
      {state: 'rejected', operation: 'create'},
      {},
      /UPDATE the row .* it is created as it is then/,
      'fieldmirror changes retry 12',
    ],
    [
      'an overtaken one',
      {state: 'rejected'},
      {isOvertaken: true},
      /nothing: a later change/,
      'fieldmirror changes cancel 12',
    ],
  ])('is described, with the command if there is one: %s', (_, more, around, words, command) => {
    const {text, commands} = next(more, around);
    expect(text).toMatch(words);
    expect(commands[0] ?? '').toBe(command);
  });

  test.each(['done', 'cancelled'] as const)('is null if the change is %s', (state) => {
    expect(findNextStep(change({state}), calm)).toBeNull();
  });

  test('in a conflict is to choose the value of the service or of the warehouse', () => {
    const step = findNextStep(change({state: 'conflict'}), {...calm, conflicts: [fought]});
    expect(step?.commands).toEqual([
      {
        command: 'fieldmirror changes resolve 12 --take service',
        does: "keeps the service's name, and sends the rest",
        move: {decision: 'take service'},
      },
      {
        command: 'fieldmirror changes resolve 12 --take warehouse',
        does: 'sends what is wanted here all the same',
        move: {decision: 'take warehouse'},
      },
    ]);
  });

  test.each([
    ['create', ['adopt NUMBER', 'resend', 'take service']],
    ['update', ['take service']],
    ['delete', ['take service', 'resend']],
  ] as const)(
    'in a conflict of a %s without undecided fields is one of its allowed decisions',
    (operation, open) => {
      expect(
        listDecisions(change({state: 'conflict', operation}), [{...fought, winner: 'service'}]),
      ).toEqual(open);
    },
  );
});
