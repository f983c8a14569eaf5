import {describe, expect, test} from 'vitest';
import type {Rule} from '../../src/changes/authored-rows.ts';
import {decideComparedDelete, decideDelete, decideUpdate} from '../../src/push/decide.ts';
import {factsOf, gone, known, note, remoteOf, withFax} from './facts.ts';

const facts = factsOf();
const theirs = remoteOf(facts, withFax('555-0122'));

test('a value that differs from the service is sent, based on the record as read', () => {
  const remote = remoteOf(facts, withFax('555-0100'));
  expect(decideUpdate(facts, known(), remote)).toEqual({
    what: 'send',
    subject: known(),
    fields: {fax: '555-0199'},
    narrowed: null,
    conflicts: [],
    unsent: [],
    before: remote,
  });
});

test('a value that the service already has is not sent: the change is done', () => {
  expect(decideUpdate(facts, known(), remoteOf(facts, withFax('555-0199')))).toMatchObject({
    what: 'done',
    number: '7',
    since: facts.change.claimedAt,
    result: {unsent: ['fax']},
    attempt: null,
  });
});

test.each([
  ['that the service does not know any more', facts, known(), gone, 'Invalid customer.'],
  [
    'that is not in the list of what it hangs on',
    factsOf({table: 'customer_notes', number: '12', fields: {note: 'later'}, base: {note: 'now'}}),
    note('update'),
    remoteOf(facts, '<customer_number>7</customer_number><notes><note><id>13</id></note></notes>'),
    'it is not in the list',
  ],
] as const)('an update of a record %s is left to a person', (_, about, subject, reading, words) => {
  const reason = `the record no longer exists at the service (${words})`;
  expect(decideUpdate(about, subject, reading)).toMatchObject({
    what: 'conflict',
    reason,
    attempt: null,
  });
});

test.each([
  ['the reading', withFax('555-0120'), '555-0120'],
  [
    'what its author had seen, if the reading lacks the field',
    '<customer_number>7</customer_number>',
    '555-0100',
  ],
])('an update compared with what its author had seen has as its base %s', (_, shown, fax) => {
  const fields = {fax: '555-0120', name: 'Al'};
  const base = {fax: '555-0100', name: 'Bo'};
  const compared = factsOf({fields, base, seen: {fax: '555-0100'}});
  const reading = remoteOf(compared, `${shown}<name>Bo</name>`);
  expect(decideUpdate(compared, known(), reading)).toMatchObject({
    what: 'send',
    narrowed: {fields, base: {fax}},
  });
});

describe('a delete', () => {
  const erase = {operation: 'delete', fields: {}, base: {}} as const;

  test('is sent if its author had read the record as it is now', () => {
    expect(decideDelete(factsOf(erase), known('delete'))).toMatchObject({what: 'send', fields: {}});
  });

  test('is left to a person, with the names of the fields, if it is not', () => {
    const seen = {name: 'Bo', fax: '555-0100'};
    expect(decideDelete(factsOf({...erase, seen}), known('delete'))).toMatchObject({
      what: 'conflict',
      reason: 'changed by somebody else since its author had read it: fax, name',
    });
  });

  const compared = (base: Record<string, string | null>, more: object = {}) =>
    factsOf({...erase, base, ...more});
  const shown = (elements: string) => remoteOf(facts, elements);

  test('is sent if its record still shows the values that its author knew', () => {
    const base = {fax: '555-0100', name: 'Bo', pager: null, unknown: '1'};
    const reading = shown(`${withFax('555-0100')}<name>Bo</name>`);
    expect(decideComparedDelete(compared(base), known('delete'), reading)).toMatchObject({
      what: 'send',
      fields: {},
    });
  });

  test('is left to a person, with the names of the fields, if its record shows others', () => {
    const base = {name: 'Bo', fax: '555-0100', email_address: null};
    const reading = shown(
      `${withFax('555-0122')}<name>Ada</name><email_address>ada@example.com</email_address>`,
    );
    expect(decideComparedDelete(compared(base), known('delete'), reading)).toMatchObject({
      what: 'conflict',
      reason: 'changed at the service since its author had read it: email_address, fax, name',
    });
  });

  test('is sent if its record is not there: the service decides', () => {
    expect(decideComparedDelete(compared({fax: '1'}), known('delete'), gone)).toMatchObject({
      what: 'send',
    });
  });

  test('waits for a newer reading if its record shows a value that was replaced just now', () => {
    const recentWrites = [
      {
        operation: 'update',
        fields: {fax: '555-0199'},
        base: {fax: '555-0100'},
        made: {},
        agoMs: 3_000,
      },
    ];
    const erased = compared({fax: '555-0199'}, {recentWrites});
    const reading = shown(withFax('555-0100'));
    expect(decideComparedDelete(erased, known('delete'), reading)).toMatchObject({
      what: 'postpone',
      delayMs: 3_000,
    });
  });
});

describe('a field that both sides changed', () => {
  const decideBy = (
    rule: Rule,
    more: Parameters<typeof remoteOf>[2] = {},
    elements = withFax('555-0122'),
  ) => {
    const ruled = factsOf(
      {fields: {fax: '555-0199', name: 'Ada'}, base: {fax: '555-0100', name: 'Bo'}},
      {rules: {fax: rule}},
    );
    return decideUpdate(ruled, known(), remoteOf(ruled, `${elements}<name>Bo</name>`, more));
  };

  test('is left to a person with both values if no rule decides', () => {
    expect(decideUpdate(facts, known(), theirs)).toMatchObject({
      what: 'conflict',
      reason: 'changed on both sides: fax',
      conflicts: [
        {
          field: 'fax',
          baseValue: '555-0100',
          warehouseValue: '555-0199',
          serviceValue: '555-0122',
          rule: 'ask',
          winner: null,
        },
      ],
    });
  });

  test('is sent under the rule warehouse, with the value of the service as its base', () => {
    expect(decideBy('warehouse')).toMatchObject({
      what: 'send',
      fields: {fax: '555-0199', name: 'Ada'},
      narrowed: {fields: {fax: '555-0199', name: 'Ada'}, base: {fax: '555-0122'}},
      conflicts: [{field: 'fax', winner: 'warehouse'}],
    });
  });

  test('is dropped under the rule service, and the other fields are sent', () => {
    const decision = decideBy('service');
    expect(decision).toMatchObject({
      what: 'send',
      fields: {name: 'Ada'},
      conflicts: [{field: 'fax', winner: 'service'}],
    });
    expect(decision).toHaveProperty('narrowed', {fields: {name: 'Ada'}, base: {fax: '555-0122'}});
  });

  test('ends the change under the rule service if it is the only field', () => {
    const ruled = factsOf({}, {rules: {fax: 'service'}});
    expect(decideUpdate(ruled, known(), theirs)).toMatchObject({
      what: 'done',
      result: null,
      conflicts: [{field: 'fax', winner: 'service'}],
    });
  });

  // The edit was an hour before the claim of the change; the document is 0 ms younger than the
  // claim.
  const shown = 'Mon, 01 Mar 2027 20:00:00 GMT';
  const updated = (at: string) => `${withFax('555-0122')}<updated_at>${at}</updated_at>`;
  test.each([
    [
      'is older than the wish, by the clock of the service, goes on',
      '2027-03-01T18:59:59Z',
      shown,
      'warehouse',
    ],
    ['is of the same moment as the wish goes on', '2027-03-01T19:00:00Z', shown, 'warehouse'],
    ['is newer than the wish is given to the service', '2027-03-01T19:00:01Z', shown, 'service'],
    ['has no moment that can be compared is left to a person', '2027-03-01T19:00:01Z', null, null],
  ] as const)('under the rule newest, that %s', (_, at, dateHeader, winner) => {
    const decision = decideBy('newest', {dateHeader}, updated(at));
    expect(decision).toMatchObject({
      what: winner === null ? 'conflict' : 'send',
      conflicts: [{field: 'fax', rule: 'newest', winner}],
    });
  });

  test('under the rule newest, is compared with the time from claim to read included', () => {
    const late = {dateHeader: shown, requestedAt: 50_000 + 10_000};
    expect(decideBy('newest', late, updated('2027-03-01T18:59:55Z'))).toMatchObject({
      conflicts: [{winner: 'service'}],
    });
  });
});

describe('a change that undoes others', () => {
  test.each([
    ['warehouse', {what: 'conflict', reason: 'changed on both sides: fax'}],
    ['newest', {what: 'conflict', reason: 'changed on both sides: fax'}],
    ['ask', {what: 'conflict', reason: 'changed on both sides: fax'}],
    ['service', {conflicts: [{winner: 'service'}]}],
  ] as const)(
    'overwrites nothing that was written at the service since, under the rule %s',
    (rule, plan) => {
      const undoing = factsOf({undoes: ['60']}, {rules: {fax: rule}});
      expect(decideUpdate(undoing, known(), remoteOf(undoing, withFax('555-0122')))).toMatchObject(
        plan,
      );
    },
  );
});
