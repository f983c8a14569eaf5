// A service that stores another value says nothing of it, but the read back shows it: the change is
// reported as altered, and the first of its kind stops the others until a person has looked.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {listAccounts} from '../../src/accounts/accounts.ts';
import {listChanges, matchEveryChange} from '../../src/changes/change.ts';
import {listLateChanges} from '../../src/changes/states.ts';
import {readStory} from '../../src/changes/story.ts';
import {formatChange, formatChanges} from '../../src/cli/changes.ts';
import {pushAll} from '../../src/cli/push.ts';
import {dropMarks} from '../../src/core/text.ts';
import type {PushStep} from '../../src/push/run.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

let place: ScriptedPlace;

beforeEach(async () => {
  place = await openScriptedPlace();
});
afterEach(async () => await place.close());

/** 2027-03-01 becomes 2027-01-03. */
const swap = (field: string, value: string) =>
  field.endsWith('_at') ? value.replace(/-(\d\d)-(\d\d)T/, '-$2-$1T') : value;
const addTask = (name: string, at: string | null = null) =>
  place.author('INSERT INTO warehouse.tasks (name, scheduled_at) VALUES ($1, $2)', [name, at]);
const states = () => place.changes('state, held_for');
const list = async (state: 'altered' | null) => {
  const accounts = await listAccounts(place.pool);
  const wanted = {...matchEveryChange(accounts.map(({accountId}) => accountId)), state};
  return dropMarks(formatChanges(await listChanges(place.pool, wanted, 20), accounts));
};

describe('dates whose day and month the service swaps', () => {
  beforeEach(async () => {
    place.service.misread = swap;
    await addTask('first', '2027-03-01T15:00:00Z');
    await place.rest();
    await addTask('second', '2027-03-02T15:00:00Z');
    await addTask('no date');
    await place.rest();
  });

  test('hold later changes that contain a date, and no others', async () => {
    expect(await states()).toEqual([
      {state: 'done', held_for: null},
      {state: 'held', held_for: 'instant'},
      {state: 'done', held_for: null},
    ]);
    expect(
      await place.author('SELECT kind, field, is_stop, sent, got FROM sync.alterations'),
    ).toEqual([
      {
        kind: 'instant',
        field: 'scheduled_at',
        is_stop: true,
        sent: '2027-03-01T15:00:00+00:00',
        got: expect.stringMatching(/^2027-01-03T/),
      },
    ]);
  });

  test('are reported by changes list, changes show, status and push', async () => {
    expect(await list(null)).toMatch(/│ altered +│ the service altered scheduled_at/);
    expect(await list('altered')).not.toContain('held');
    const story = dropMarks(formatChange(await readStory(place.pool, '1')));
    expect(story).toContain('altered');
    expect(story).toMatch(/scheduled_at: sent .*2027-03-01.*, it keeps .*2027-01-03/);
    expect(story).toContain('fieldmirror changes accept 1');
    expect(story).toMatch(/\nsee: fieldmirror explain A12$/);
    expect(formatChange(await readStory(place.pool, '2'))).toContain(
      'changes list --state altered',
    );
    expect(await listLateChanges(place.pool, [place.accountId])).toMatchObject([
      {
        lateness: 'altered',
        changeId: '1',
        reason: 'scheduled_at; further changes of instant are held',
      },
    ]);
    const {signal} = new AbortController();
    const {needy} = await pushAll(place.world(), await listAccounts(place.pool), {signal});
    expect(needy.map(({changeId}) => changeId)).toEqual(['1']);
  });

  test('are sent after a person accepts the alteration, and hold no more changes', async () => {
    await expect(place.author('SELECT sync.release_change(2)')).rejects.toThrow(
      'a person checks that first',
    );
    expect(await place.author('SELECT sync.accept_change(1) AS state')).toEqual([{state: 'done'}]);
    await place.rest();
    await addTask('third', '2027-03-04T15:00:00Z');
    await place.rest();
    expect((await states()).map(({state}) => state)).toEqual(['done', 'done', 'done', 'done']);
    // Later alterations are reported all the same.
    expect(await listLateChanges(place.pool, [place.accountId])).toMatchObject([
      {lateness: 'altered', count: 2},
    ]);
    await expect(place.author('SELECT sync.accept_change(1)')).rejects.toThrow(
      'no one has accepted yet',
    );
    await place.author('SELECT sync.accept_change(2); SELECT sync.accept_change(4)');
    expect(await listLateChanges(place.pool, [place.accountId])).toEqual([]);
  });
});

test('a change in doubt with a value of a stopped kind is held instead of sent again', async () => {
  place.service.misread = swap;
  await addTask('first', '2027-03-01T15:00:00Z');
  await addTask('second');
  await place.rest();
  place.service.misread = (_, value) => value;
  await place.author(
    `UPDATE warehouse.tasks SET scheduled_at = '2027-03-02T15:00:00Z' WHERE name = 'second'`,
  );
  // Its request was lost so long ago, and looked for so often, that it can no longer arrive.
  await place.author(
    `UPDATE sync.changes SET state = 'sending', lease_until = now(), sends = 1,
      sent_at = now() - interval '2 hours' WHERE change_id = 3`,
  );
  await place.author(
    `UPDATE sync.changes SET state = 'in_doubt', lease_until = NULL, checks = 2, reason = 'reset'
      WHERE change_id = 3`,
  );
  const third = async () => (await place.changes('state, held_for, reason'))[2];
  await place.rest();
  expect(await third()).toMatchObject({
    state: 'held',
    held_for: 'instant',
    reason: expect.stringContaining('a person checks that first'),
  });
  await place.author('SELECT sync.accept_change(1)');
  await place.rest();
  expect(await third()).toMatchObject({state: 'done', held_for: null});
});

test('most concurrent changes are held once the first one is read back as altered', async () => {
  place.service.misread = swap;
  const all = 20;
  for (let at = 1; at <= all; at++) await addTask(`task ${at}`, '2027-03-01T15:00:00Z');
  const findAltered = async () => (await place.author('SELECT FROM sync.alterations')).length;
  let first: string | undefined;
  // All get their turn at once; all but one reach it when that one was read back.
  const onStep = async (step: PushStep, changeId: string) => {
    if (step !== 'turn') return;
    first ??= changeId;
    if (changeId !== first) await expect.poll(findAltered, {timeout: 20_000}).toBeGreaterThan(0);
  };
  await place.push({onStep}, place.openTransport({concurrency: {initial: 2 * all, max: 2 * all}}));
  await place.rest();
  const [held] = await place.author(
    `SELECT count(*)::integer FROM sync.changes WHERE state = 'held'`,
  );
  expect(held?.count).toBeGreaterThan(all / 2);
  await place.author('SELECT sync.accept_change(min(change_id)) FROM sync.alterations');
  await place.rest();
  expect(await place.author('SELECT DISTINCT state FROM sync.changes')).toEqual([{state: 'done'}]);
});

test.each([
  ['blanks and line ends', 'name', '  Ada \r\n Example ', 'Ada Example', true],
  ['the signs of a telephone number', 'phone_number', '555.010-0', '(555) 0100', true],
  ['the case of an e-mail address', 'email_address', 'Ada@Example.com', 'ada@example.com', true],
  ['the case of a name', 'name', 'McExample', 'Mcexample', false],
  ['the end of a text', 'billing_address', '1 Long Street, Rear', '1 Long Str', false],
  ['a digit of a telephone number', 'phone_number', '555-0100', '555-0101', false],
] as const)(
  'a service that changes %s (%s) is reported only if the meaning changes',
  async (_, field, sent, got, isSame) => {
    place.service.misread = (name, value) => (name === field ? got : value);
    const fields = field === 'name' ? {name: sent} : {name: 'Ada', [field]: sent};
    await place.author(
      `INSERT INTO warehouse.customers (${Object.keys(fields).join(', ')}) VALUES (${Object.keys(
        fields,
      )
        .map((_name, at) => `$${at + 1}`)
        .join(', ')})`,
      Object.values(fields),
    );
    await place.rest();
    const values = {[field]: {sent: expect.any(String), got}};
    expect(await place.changes('state, result')).toEqual([
      {state: 'done', result: isSame ? {tidied: values} : {altered: values}},
    ]);
    expect(await place.author('SELECT kind FROM sync.alterations')).toEqual(
      isSame ? [] : [{kind: `customers.${field}`}],
    );
  },
);
