import {describe, expect, test} from 'vitest';
import type {ClaimedChange} from '../../src/changes/claim-changes.ts';
import {decide, decideDeleted, decideUpdate, decideUpdated} from '../../src/push/decide.ts';
import type {RecentWrite} from '../../src/rows/change-values.ts';
import {begun, factsOf, gone, known, remoteOf, sendPlan, withFax} from './facts.ts';

const agoMs = 5_000;
const wrote = (more: Partial<RecentWrite> = {}): RecentWrite => ({
  operation: 'update',
  fields: {name: 'Ada'},
  base: {name: 'Bo'},
  made: {},
  agoMs,
  ...more,
});
const named = (name: string, fax = '555-0100') => `${withFax(fax)}<name>${name}</name>`;
const done = {outcome: 'done', status: 200, record: null, locatedNumber: null} as const;

/** Two fields with their old values. */
const both: Partial<ClaimedChange> = {
  fields: {fax: '555-0199', name: 'Ada'},
  base: {fax: '555-0100', name: 'Bo'},
};

/** Two fields, of which one is wanted as it was before. */
const oneUnchanged: Partial<ClaimedChange> = {
  fields: {fax: '555-0199', name: 'Bo'},
  base: {fax: '555-0100', name: 'Bo'},
};

describe('an update that the service confirmed, directly or in a later check', () => {
  const judge = (change: Partial<ClaimedChange>, shown: string) => {
    const facts = factsOf(change);
    const after = remoteOf(facts, shown);
    const outcome = {begun, result: done, created: null, after};
    const plan = sendPlan(known(), {fields: facts.change.fields});
    const checked = factsOf({
      ...change,
      state: 'in_doubt',
      isWritten: true,
      requestEndedAgoMs: agoMs,
      sends: 1,
    });
    return [decide(facts, {...outcome, plan}), decideUpdated(checked, known(), after)] as const;
  };

  test.each([
    ['the old value', {}, withFax('555-0100')],
    [
      'an old value that differs by a blank alone',
      {fields: {fax: '555-0100 '}},
      withFax('555-0100'),
    ],
    ['two old values', both, named('Bo')],
    ['an old value, and nothing of the other field', both, withFax('555-0100')],
    ['an old value, and a third one of the other field', both, named('Cem')],
    ['an old value, and one that is wanted as it was before', oneUnchanged, named('Bo')],
    [
      'the new value, and in another field a value that an earlier change replaced',
      {...both, recentWrites: [wrote({fields: {name: 'Bob'}, base: {name: 'Bo'}})]},
      named('Bo', '555-0199'),
    ],
    [
      'the new value, and no value in a field that an earlier change filled',
      {recentWrites: [wrote({fields: {name: 'Bob'}, base: {name: null}})]},
      `${withFax('555-0199')}<name nil="true"/>`,
    ],
    ['what an earlier change replaced', {recentWrites: [wrote()]}, named('Bo', '555-0199')],
  ])('is read again later if the record shows %s', (_, change, shown) => {
    const [written, checked] = judge(change, shown);
    expect(written).toMatchObject({
      what: 'doubt',
      delayMs: 2_000,
      reason: 'it was written, and the record still showed the old value',
      attempt: {end: {outcome: 'done'}},
    });
    expect(checked).toMatchObject({what: 'doubt', isCheck: true, delayMs: 8_000});
  });

  test.each([
    ['the new value', {}, withFax('555-0199'), null],
    [
      'the new value, which an earlier change had replaced: this change restores it',
      {recentWrites: [wrote({fields: {fax: '555-0100'}, base: {fax: '555-0199'}})]},
      withFax('555-0199'),
      null,
    ],
    [
      'a third value',
      {},
      withFax('555-0122'),
      {altered: {fax: {sent: '555-0199', got: '555-0122'}}},
    ],
    [
      'a third value beside one that is wanted as it was before',
      oneUnchanged,
      named('Bo', '555-0122'),
      {altered: {fax: {sent: '555-0199', got: '555-0122'}}},
    ],
    [
      'one new value beside an old one: the reading is no older than the write',
      both,
      named('Bo', '555-0199'),
      {altered: {name: {sent: 'Ada', got: 'Bo'}}},
    ],
    [
      'one new value with a blank after it, beside an old one',
      both,
      named('Ada '),
      {altered: {fax: {sent: '555-0199', got: '555-0100'}}},
    ],
  ])('is done if the record shows %s', (_, change, shown, result) => {
    for (const decision of judge(change, shown))
      expect(decision).toMatchObject({what: 'done', result});
  });

  test('is reported as altered if the record shows the old value after a minute', () => {
    const facts = factsOf({
      state: 'in_doubt',
      isWritten: true,
      requestEndedAgoMs: 60_000,
      sends: 1,
      checks: 2,
    });
    expect(decideUpdated(facts, known(), remoteOf(facts, withFax('555-0100')))).toMatchObject({
      what: 'done',
      result: {altered: {fax: {sent: '555-0199', got: '555-0100'}}},
    });
  });
});

describe('a change that follows another change of its record', () => {
  const first = wrote({fields: {name: 'Bob'}, base: {name: 'Bo'}});
  const second = wrote({fields: {name: 'Ada'}, base: {name: 'Bob'}});
  const back = wrote({fields: {name: 'Bo'}, base: {name: 'Bob'}});
  const other = wrote({fields: {fax: '555-0100'}, base: {fax: '555-0199'}});
  const changed = wrote({made: {name: {sent: 'Ada', got: 'Bo'}}});

  test.each([
    ['the value before that one', [wrote()], named('Bo')],
    ['the value before an earlier one', [first, second], named('Bo')],
    ['no record, where that one created it', [wrote({operation: 'create', base: {}})], null],
  ])('waits for a newer reading if the current one shows %s', (_, recentWrites, shown) => {
    const facts = factsOf({recentWrites});
    const reading = shown === null ? gone : remoteOf(facts, shown);
    expect(decideUpdate(facts, known(), reading)).toEqual({
      what: 'postpone',
      reason: 'the service still shows its record as it was before the last change of it',
      delayMs: agoMs,
      isFailure: false,
      attempt: null,
      refusal: null,
    });
  });

  test.each([
    ['what that one wrote', [wrote()], named('Ada')],
    ['a third value', [wrote()], named('Cem')],
    ['an old value that was written back', [first, back], named('Bo')],
    ['one that was written back before another field', [first, back, other], named('Bo')],
    ['an old value that the service chose to keep', [changed], named('Bo')],
    ['nothing of its field', [wrote()], withFax('555-0100')],
    ['a record that it created', [wrote({operation: 'create', base: {}})], named('Cem')],
  ])('is sent if the record shows %s', (_, recentWrites, shown) => {
    const facts = factsOf({recentWrites});
    expect(decideUpdate(facts, known(), remoteOf(facts, shown)).what).toBe('send');
  });

  test.each([
    [
      'an update',
      {},
      withFax('555-0100'),
      [wrote({fields: {fax: '555-0100'}, base: {fax: '555-0199'}})],
      'send',
    ],
    [
      'an update that restores an old value',
      {},
      withFax('555-0199'),
      [wrote({fields: {fax: '555-0100'}, base: {fax: '555-0199'}})],
      'doubt',
    ],
    ['an update of a new record', {}, null, [wrote({operation: 'create', base: {}})], 'doubt'],
    [
      'a delete of a new record',
      {operation: 'delete'},
      null,
      [wrote({operation: 'create', base: {}})],
      'doubt',
    ],
    ['a delete', {operation: 'delete'}, null, [wrote()], 'done'],
  ] as const)(
    'whose answer was lost is decided only by a newer reading: %s',
    (_, change, shown, recentWrites, what) => {
      const facts = factsOf({
        ...change,
        recentWrites,
        state: 'in_doubt',
        sends: 1,
        requestEndedAgoMs: agoMs,
      });
      const reading = shown === null ? gone : remoteOf(facts, shown);
      const look = facts.change.operation === 'delete' ? decideDeleted : decideUpdated;
      expect(
        look(facts, known(facts.change.operation === 'delete' ? 'delete' : 'update'), reading).what,
      ).toBe(what);
    },
  );
});

test('employees that appear unchanged are read again, even if other fields are new', () => {
  const facts = factsOf({
    table: 'jobs',
    fields: {name: 'Roofs', employee_ids: ['8']},
    base: {name: 'Roof', employee_ids: []},
    state: 'in_doubt',
    isWritten: true,
    requestEndedAgoMs: agoMs,
  });
  const shown = (ids: string) =>
    `<job_number>7</job_number><name>Roofs</name><employees type="array">${ids}</employees>`;
  const look = (ids: string) => decideUpdated(facts, known(), remoteOf(facts, shown(ids)));
  expect(look('')).toMatchObject({what: 'doubt', isCheck: true});
  expect(look('<employee><id>8</id><employee_number>1</employee_number></employee>')).toMatchObject(
    {
      what: 'done',
      result: null,
    },
  );
});

test('an old value that differs only by a blank is not mistaken for the one sent', () => {
  const facts = factsOf({
    fields: {fax: '555-0100 '},
    state: 'in_doubt',
    sends: 1,
    requestEndedAgoMs: agoMs,
  });
  const reading = remoteOf(facts, withFax('555-0100'));
  expect(decideUpdated(facts, known(), reading)).toMatchObject({
    what: 'send',
    fields: {fax: '555-0100 '},
  });
});
