import {describe, expect, test} from 'vitest';
import type {ClaimedChange} from '../../src/changes/claim-changes.ts';
import {decideCreated, decideDeleted, decideUpdated} from '../../src/push/decide.ts';
import {factsOf, gone, known, note, remoteOf, withFax} from './facts.ts';

const hourMs = 3_600_000;
const doubtful = (more: Partial<ClaimedChange> = {}) =>
  factsOf({state: 'in_doubt', reason: 'reset', sends: 1, requestEndedAgoMs: 10_000, ...more});
/** Sent so long ago, and looked for so often, that no request can still arrive. */
const old = {requestEndedAgoMs: hourMs, checks: 2};

describe('a create in doubt', () => {
  const create = (more: Partial<ClaimedChange> = {}) =>
    doubtful({operation: 'create', number: null, base: {}, ...more});
  const made = remoteOf(create(), withFax('555-0199'));
  const none = {ours: [], older: []};

  test('is done, as of the time of its claim, if one record matches', () => {
    const facts = create();
    expect(decideCreated(facts, {ours: ['7'], older: []}, made)).toMatchObject({
      what: 'done',
      number: '7',
      remote: made,
      since: facts.change.claimedAt,
      result: null,
      attempt: null,
    });
  });

  test('is left to a person at once if several records match', () => {
    expect(decideCreated(create(), {ours: ['7', '8'], older: ['1']}, null)).toMatchObject({
      what: 'conflict',
      reason: 'several records could be it: 7, 8',
      result: {candidates: ['7', '8']},
    });
  });

  test.each([
    ['no record matches', none, null, 0, 8_000],
    ['no record matches for the third time', none, null, 2, 240_000],
    ['no record matches for the fourth time', none, null, 3, 300_000],
    ['no record matches for the hundredth time', none, null, 99, 300_000],
    ['the only match seems older', {ours: [], older: ['3']}, null, 0, 8_000],
  ])('is searched for again if %s', (_, candidates, remote, checks, delayMs) => {
    const doubt = {
      what: 'doubt',
      reason: 'reset',
      delayMs,
      number: null,
      isCheck: true,
      attempt: null,
    };
    expect(decideCreated(create({checks}), candidates, remote)).toEqual(doubt);
  });

  test.each([
    ['no longer exists', gone],
    ['has a parent that is no longer known', null],
    ['is not what was read', made],
  ])('whose record was found, and %s, keeps its number and is never sent again', (_, reading) => {
    const found = {ours: ['8'], older: []};
    expect(decideCreated(create(), found, reading)).toMatchObject({
      what: 'doubt',
      number: '8',
      isCheck: true,
    });
    expect(decideCreated(create(old), found, reading)).toMatchObject({
      what: 'conflict',
      reason: 'it was created as customers 8, and readings no longer show it: reset',
    });
  });

  test.each([
    ['long enough ago, but checked too few times', {requestEndedAgoMs: hourMs, checks: 1}],
    ['too recently, although checked often enough', {requestEndedAgoMs: 899_999, checks: 9}],
  ])('is kept in doubt if it was sent %s', (_, more) => {
    expect(decideCreated(create(more), none, null)).toMatchObject({what: 'doubt', isCheck: true});
  });

  test.each([hourMs, 900_000])(
    'is sent again once no request can still arrive, after %i ms',
    (ago) => {
      expect(decideCreated(create({...old, requestEndedAgoMs: ago}), none, null)).toEqual({
        what: 'resend',
        reason: 'no trace of it for 15 minutes: it is sent again',
      });
    },
  );

  test.each([
    ['that was sent twice', {sends: 2}, 'sent 2 times, and no trace of it for 15 minutes: reset'],
    [
      'whose answer said that it is written',
      {isWritten: true},
      'sent 1 times, and no trace of it for 15 minutes: reset',
    ],
    [
      'whose answer contained its number',
      {number: '7'},
      'it was created as customers 7, and readings no longer show it: reset',
    ],
  ])('%s is never sent again: it is left to a person', (_, more, reason) => {
    expect(decideCreated(create({...old, ...more}), none, null)).toMatchObject({
      what: 'conflict',
      reason,
    });
  });

  test.each([[['3']], [['3', '4']]])(
    'is left to a person with the numbers of matching records that seem older: %j',
    (older) => {
      const names = older.join(', ');
      expect(decideCreated(create(old), {ours: [], older}, null)).toMatchObject({
        what: 'conflict',
        reason:
          `it could be customers ${names}, which is all that was sent, ` +
          'but seems to have been there before',
        result: {candidates: older},
      });
    },
  );
});

describe('an update in doubt', () => {
  const decideBy = (fax: string, more: Partial<ClaimedChange> = {}) => {
    const facts = doubtful(more);
    return decideUpdated(facts, known(), remoteOf(facts, withFax(fax)));
  };

  test.each([
    ['contains the values that were sent', '555-0199', {}],
    ['contains them with blanks around them', ' 555-0199 ', {}],
    ['contains another value, after the service confirmed the write', '0', {isWritten: true}],
  ])('is done if the record %s', (_, fax, more) => {
    expect(decideBy(fax, more)).toMatchObject({what: 'done', number: '7', attempt: null});
  });

  test('is done if one field has arrived and another is wanted as it was before', () => {
    const facts = doubtful({fields: {fax: '2', name: 'Bo'}, base: {fax: '1', name: 'Bo'}});
    const remote = remoteOf(facts, `${withFax('2')}<name>Bo</name>`);
    expect(decideUpdated(facts, known(), remote)).toMatchObject({what: 'done', result: null});
  });

  test('is sent again at once if the record is unchanged', () => {
    expect(decideBy('555-0100')).toMatchObject({what: 'send', fields: {fax: '555-0199'}});
  });

  test('is sent again without the field that arrived, if another field is unchanged', () => {
    const facts = doubtful({fields: {fax: '2', name: 'Ada'}, base: {fax: '1', name: 'Bo'}});
    const remote = remoteOf(facts, `${withFax('2')}<name>Bo</name>`);
    expect(decideUpdated(facts, known(), remote)).toMatchObject({
      what: 'send',
      fields: {name: 'Ada'},
      unsent: ['fax'],
    });
  });

  test.each([
    ['contains a third value', '555-0122', {}],
    ['is as before, and the maximum number of times is reached', '555-0100', {sends: 20}],
    [
      'is as before, and its kind of value is stopped',
      '555-0100',
      {stoppedKinds: ['customers.fax']},
    ],
  ])('is checked again if the record %s', (_, fax, more) => {
    expect(decideBy(fax, more)).toMatchObject({what: 'doubt', isCheck: true, delayMs: 8_000});
  });

  test('is checked again if one field is unchanged and another has a third value', () => {
    const facts = doubtful({fields: {fax: '2', name: 'Ada'}, base: {fax: '1', name: 'Bo'}});
    const remote = remoteOf(facts, `${withFax('3')}<name>Bo</name>`);
    expect(decideUpdated(facts, known(), remote)).toMatchObject({what: 'doubt', isCheck: true});
  });

  test('is checked again if the record does not contain the field', () => {
    const facts = doubtful();
    const remote = remoteOf(facts, '<customer_number>7</customer_number>');
    expect(decideUpdated(facts, known(), remote)).toMatchObject({what: 'doubt', isCheck: true});
  });

  test('with a third value is merged again once no request can still arrive', () => {
    expect(decideBy('555-0122', old).what).toBe('resend');
  });

  test('that was sent the maximum number of times is left to a person', () => {
    expect(decideBy('555-0122', {...old, sends: 20})).toMatchObject({
      what: 'conflict',
      reason: 'sent 20 times, and no trace of it for 15 minutes: reset',
    });
  });

  test('of a deleted record is left to a person', () => {
    expect(decideUpdated(doubtful(), known(), gone)).toMatchObject({
      what: 'conflict',
      reason: 'the record no longer exists at the service (Invalid customer.)',
    });
  });
});

describe('a delete in doubt', () => {
  const erase = (more: Partial<ClaimedChange> = {}) =>
    doubtful({operation: 'delete', fields: {}, base: {}, ...more});
  const eraseNote = (more: Partial<ClaimedChange> = {}) =>
    erase({table: 'customer_notes', number: '12', ...more});
  const notes = (id: string) =>
    remoteOf(
      eraseNote(),
      `<customer_number>7</customer_number><notes><note><id>${id}</id></note></notes>`,
    );

  test.each([
    ['the record', erase(), known('delete'), gone],
    ['what a note hung on', eraseNote(), note('delete'), gone],
    ['a note, by the list of what it hung on', eraseNote(), note('delete'), notes('13')],
  ])('is done if the service no longer has %s', (_, facts, subject, reading) => {
    expect(decideDeleted(facts, subject, reading)).toMatchObject({
      what: 'done',
      number: subject.number,
      remote: null,
      isGone: true,
      since: facts.change.claimedAt,
    });
  });

  test.each([
    ['the record', erase(), known('delete'), remoteOf(erase(), withFax('1'))],
    ['a note', eraseNote(), note('delete'), notes('12')],
  ])('is sent again at once if %s still exists', (_, facts, subject, reading) => {
    expect(decideDeleted(facts, subject, reading)).toMatchObject({
      what: 'send',
      subject,
      fields: {},
      before: null,
    });
  });

  test.each([
    ['the service said that it is deleted', {isWritten: true}],
    ['it was sent as often as may be', {sends: 20}],
  ])('is checked again if the record still exists, and %s', (_, more) => {
    const facts = erase(more);
    expect(decideDeleted(facts, known('delete'), remoteOf(facts, withFax('1')))).toMatchObject({
      what: 'doubt',
      isCheck: true,
    });
  });
});
