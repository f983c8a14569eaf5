// Subscribers of the feed on the Alerts page: how far each is, and what an admin decides where one
// takes nothing. The subscriber is a server of HTTP that answers.

import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {planHook, sendDeadLetter} from '../../src/cli/hooks.ts';
import {loadConfig} from '../../src/core/config.ts';
import {sequenceFeed} from '../../src/feed/feed.ts';
import {giveAddress, insertHook, listHooks, writeHookSetting} from '../../src/feed/hooks.ts';
import {listen} from '../../src/postgres/listen.ts';
import {openHttpReceiver, type TestReceiver} from '../support/alert-receivers.ts';
import {keyText} from '../support/alerts-place.ts';
import {plainConsole} from '../support/plain-console.ts';
import {type ChangesPlace, openPlace} from './changes-place.ts';

let place: ChangesPlace;
let receiver: TestReceiver;
beforeAll(async () => {
  receiver = await openHttpReceiver();
  let pool: pg.Pool | null = null;
  place = await openPlace({
    services: {
      ...plainConsole().services,
      sendLetter: async (name, letterId) => {
        if (pool === null) throw new Error('asked before the place was open');
        const {answer} = await sendDeadLetter(configOf(place.databaseUrl), pool, {name, letterId});
        return `${name} took dead letter ${letterId}: ${answer}.`;
      },
    },
  });
  pool = place.pool;
  for (const [name, accountId] of [
    ['erp', null],
    ['own', place.account.accountId],
    ['theirs', place.stranger.accountId],
  ] as const)
    await addHook(name, accountId);
});
afterAll(async () => {
  await place?.close();
  await receiver?.close();
});

function configOf(databaseUrl: string) {
  return loadConfig({DATABASE_URL: databaseUrl, FIELDMIRROR_KEY: keyText});
}

async function addHook(name: string, accountId: string | null): Promise<void> {
  const url = `${receiver.url}/hook?token=hush`;
  const asked = {url, table: [], column: [], leaveOut: [], limit: 100, mask: false};
  const {plan} = planHook(configOf(place.databaseUrl), name, asked);
  await insertHook(place.pool, {...plan, accountId});
}

const hook = async (name: string) =>
  (await listHooks(place.pool)).find((each) => each.name === name);
const countLetters = async () =>
  (await place.pool.query('SELECT count(*)::integer AS n FROM sync.feed_dead_letters')).rows[0].n;

/** A subscriber did not take what is new since its cursor, so often that it is stopped. */
async function refuse(name: string): Promise<void> {
  await place.edit(1, `phone_number = '${Math.random()}'`);
  await sequenceFeed(place.pool);
  await place.pool.query(
    `UPDATE sync.feed_hooks
        SET batch_id = gen_random_uuid(), batch_to = sync.feed_end(), attempts = 34,
            failing_since = now() - interval '1 day', stopped_at = now(),
            last_error = 'erp: expected an answer of 2xx, got 422 <b>'
      WHERE name = $1`,
    [name],
  );
}

test('a person bound to one account sees only its subscribers, and no actions', async () => {
  await refuse('own');
  const person = await place.person({role: 'operator'});
  const story = await person.json('/alerts');
  expect(story.hooks.map(({name}: {name: string}) => name)).toEqual(['own']);
  const {text} = await person.get('/alerts');
  expect(text).toContain('got 422 &lt;b&gt;');
  expect(text).not.toContain('action="/alerts/hooks/');
  for (const told of [text, JSON.stringify(story)]) expect(told).not.toMatch(/hush|whsec_/);
  const {hooks} = await (await place.person({role: 'admin'})).json('/alerts');
  expect(hooks.map(({name}: {name: string}) => name)).toEqual(['erp', 'own', 'theirs']);
});

describe('an admin', () => {
  test('can resume a stopped subscriber at its cursor; the audit records it', async () => {
    await refuse('erp');
    const admin = await place.person({role: 'admin'});
    const before = await hook('erp');
    expect((await admin.get('/alerts?of=retry')).text).toContain(
      'action="/alerts/hooks/erp/retry"',
    );
    expect(await admin.post('/alerts/hooks/erp/retry', {back: '/alerts'})).toMatchObject({
      status: 303,
    });
    expect(await hook('erp')).toMatchObject({
      stoppedAt: null,
      failingSince: null,
      cursor: before?.cursor,
    });
    expect(await place.lastAudit()).toMatchObject({
      action: 'hooks.retry',
      subject: 'subscriber erp',
      before: {state: 'stopped', attempts: 34},
    });
    expect((await admin.get('/alerts')).text).toContain('erp is sent its message again at once.');
  });

  test('can resume a subscriber at the end of the feed or at a given cursor', async () => {
    await refuse('erp');
    const admin = await place.person({role: 'admin'});
    const before = await hook('erp');
    await place.edit(1, `phone_number = '${Math.random()}'`);
    expect((await admin.get('/alerts?of=after')).text).toContain('name="after"');
    const refused = await admin.post('/alerts/hooks/erp/retry', {after: 'nowhere'});
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('nowhere')]);
    expect(await hook('erp')).toEqual(before);
    expect(await admin.post('/alerts/hooks/erp/retry', {after: 'end'})).toMatchObject({
      status: 303,
    });
    const after = await hook('erp');
    expect(after).toMatchObject({behind: 0, stoppedAt: null});
    expect(await place.lastAudit()).toMatchObject({
      action: 'hooks.retry',
      before: {state: 'stopped', cursor: before?.cursor},
      after: {state: 'due', cursor: after?.cursor},
    });
    await admin.post('/alerts/hooks/erp/retry', {after: before?.cursor ?? ''});
    expect(await hook('erp')).toMatchObject({cursor: before?.cursor});
    await admin.post('/alerts/hooks/erp/retry', {after: 'end'});
  });

  test('can skip a message, recorded under their name, and send it later', async () => {
    await refuse('erp');
    const admin = await place.person({role: 'admin'});
    expect(await admin.post('/alerts/hooks/erp/skip')).toMatchObject({status: 303});
    expect(await hook('erp')).toMatchObject({behind: 0, deadLetters: 1, stoppedAt: null});
    const audit = await place.lastAudit();
    const {rows} = await place.pool.query(
      'SELECT letter_id, skipped_by FROM sync.feed_dead_letters',
    );
    expect(rows).toEqual([{letter_id: audit.after.letter, skipped_by: audit.name}]);

    const to = `/alerts/hooks/erp/letters/${rows[0].letter_id}`;
    expect((await admin.get('/alerts?of=letters')).text).toContain(`action="${to}/retry"`);
    receiver.manners = () => 503;
    const refused = await admin.post(`${to}/retry`);
    receiver.manners = () => undefined;
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('503')]);
    expect(await countLetters()).toBe(1);
    expect(await place.lastAudit()).toEqual(audit);

    expect(await admin.post(`${to}/retry`)).toMatchObject({status: 303});
    expect(JSON.parse(receiver.arrived.at(-1)?.body ?? '').data).toMatchObject({hook: 'erp'});
    expect(await place.lastAudit()).toMatchObject({
      action: 'hooks.retry-letter',
      after: {answer: expect.stringContaining('200')},
    });
    expect(await countLetters()).toBe(0);
    expect((await admin.post(`${to}/retry`)).text).toContain('has no dead letter');
  });

  test('can drop a dead letter only once, and only of the right subscriber', async () => {
    await refuse('erp');
    const admin = await place.person({role: 'admin'});
    await admin.post('/alerts/hooks/erp/skip');
    const {after} = await place.lastAudit();
    expect((await admin.post(`/alerts/hooks/own/letters/${after.letter}/skip`)).status).toBe(404);
    expect(await countLetters()).toBe(1);
    expect((await admin.post(`/alerts/hooks/erp/letters/${after.letter}/skip`)).status).toBe(303);
    expect(await place.lastAudit()).toMatchObject({
      action: 'hooks.skip-letter',
      after: {state: 'dropped'},
    });
    expect((await admin.post(`/alerts/hooks/erp/letters/${after.letter}/skip`)).status).toBe(404);
  });

  test('gets an error for an unknown subscriber or letter, or with nothing to skip', async () => {
    const admin = await place.person({role: 'admin'});
    expect((await admin.post('/alerts/hooks/nobody/retry')).status).toBe(404);
    expect((await admin.post('/alerts/hooks/erp/letters/x/skip')).status).toBe(404);
    const refused = await admin.post('/alerts/hooks/theirs/skip');
    expect([refused.status, refused.text]).toEqual([
      422,
      expect.stringContaining('got none. Nothing was done'),
    ]);
  });
});

test.each(['retry', 'skip', 'letters/1/retry', 'letters/1/skip'])(
  'a viewer and an operator are refused %s, and nothing is sent',
  async (step) => {
    const before = receiver.arrived.length;
    for (const role of ['viewer', 'operator'] as const) {
      const person = await place.person({role, isOfAll: true});
      expect((await person.post(`/alerts/hooks/own/${step}`)).status).toBe(403);
    }
    expect(await hook('own')).toMatchObject({attempts: 34});
    expect(receiver.arrived).toHaveLength(before);
  },
);

test('open pages are notified of a failing subscriber, not of accepted batches', async () => {
  const told: string[] = [];
  const stop = new AbortController();
  await new Promise<void>((heard, failed) => {
    void listen(place.databaseUrl, 'fieldmirror_pages', {
      signal: stop.signal,
      onListening: async () => {
        const quiet = `UPDATE sync.feed_hooks SET sent_at = now(), fence = fence + 1,
          attempts = attempts WHERE name = 'theirs'`;
        await place.pool.query(quiet).catch(failed);
        await place.pool.query(`NOTIFY fieldmirror_pages, 'nothing until here'`).catch(failed);
        await refuse('theirs').catch(failed);
      },
      onNotice: (table) => {
        told.push(table);
        if (table === 'feed_hooks') heard();
      },
      onFailure: failed,
    });
  });
  stop.abort();
  expect(told[0]).toBe('nothing until here');
});

test('a subscriber from a settings file shows that it waits for its address', async () => {
  await writeHookSetting(place.pool, {
    name: 'office',
    target: 'office.example.com',
    account: null,
    tables: ['jobs'],
    columns: ['name'],
    leavesOut: null,
    system: 'default',
    masks: false,
    most: 100,
  });
  const {text} = await (await place.person({role: 'admin'})).get('/alerts?of=office');
  expect(text).toMatch(/office\.example\.com[\s\S]*jobs: name[\s\S]*no address/);
  expect(text).toMatch(/no address[\s\S]*fieldmirror hooks add office --url URL/);
  const early = await (await place.person({role: 'admin', isOfAll: true})).post(
    '/alerts/hooks/office/retry',
  );
  expect([early.status, early.text]).toEqual([
    422,
    expect.stringContaining('office waits for its address'),
  ]);
  const stop = new AbortController();
  await new Promise<void>((heard, failed) => {
    void listen(place.databaseUrl, 'fieldmirror_pages', {
      signal: stop.signal,
      onListening: async () => {
        const sealed = {keyId: 'k', bytes: Buffer.from('sealed')};
        const given = {name: 'office', target: 'office.example.com', sealed, after: null};
        await giveAddress(place.pool, given).catch(failed);
      },
      onNotice: (table) => (table === 'feed_hooks' ? heard() : undefined),
      onFailure: failed,
    });
  });
  stop.abort();
  expect(await hook('office')).toMatchObject({hasAddress: true, tables: ['jobs']});
});
