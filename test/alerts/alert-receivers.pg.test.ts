// What receivers get: each message at least once, under an id that stays the same.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {join} from 'node:path';
import {Webhook} from 'standardwebhooks';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {listRuleHealth} from '../../src/alerts/deliveries.ts';
import {
  type Arrived,
  openHttpReceiver,
  openMailReceiver,
  type TestReceiver,
} from '../support/alert-receivers.ts';
import {type AlertsPlace, failedSweep, keyText, openAlertsPlace} from '../support/alerts-place.ts';

let place: AlertsPlace;
let http: TestReceiver;
let mail: TestReceiver;

beforeEach(async () => {
  http = await openHttpReceiver();
  mail = await openMailReceiver();
  place = await openAlertsPlace(mail.url);
});

afterEach(async () => {
  await place.close();
  await http.close();
  await mail.close();
});

const worker = join(import.meta.dirname, '..', 'support', 'alert-worker.ts');
const startWorker = (more: Readonly<Record<string, string>> = {}) =>
  spawn(process.execPath, [worker], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: place.url,
      KEY: keyText,
      SMTP_URL: mail.url,
      ...more,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });

const idInText = (text: string) => /message ([0-9a-f-]{36})/.exec(text)?.[1] ?? '';
const kinds = {
  webhook: {
    add: () => place.addRule('ops', {webhook: `${http.url}/hook?token=hush`}),
    box: () => http,
    idOf: ({headers}: Arrived) => String(headers['webhook-id']),
    textOf: ({body}: Arrived) => JSON.parse(body).data.title,
  },
  slack: {
    add: () => place.addRule('ops', {slack: `${http.url}/services/T0/B0/hush`}),
    box: () => http,
    idOf: ({body}: Arrived) => idInText(JSON.parse(body).text),
    textOf: ({body}: Arrived) => JSON.parse(body).text,
  },
  email: {
    add: () => place.addRule('ops', {email: 'ops@example.com'}),
    box: () => mail,
    idOf: ({headers}: Arrived) => String(headers['message-id']),
    textOf: ({headers, body}: Arrived) => `${headers.subject}\n${body}`,
  },
};

describe.each(Object.entries(kinds))('%s', (_, {add, box, idOf, textOf}) => {
  test('receives one message when a problem opens and one when it is resolved', async () => {
    await add();
    await place.query(failedSweep.breaks);
    for (const _time of [1, 2, 3]) await place.round();
    expect(box().arrived.map(textOf)).toEqual([
      expect.stringContaining('acme, jobs: the last full sweep failed'),
    ]);
    await place.query(failedSweep.ends);
    for (const _time of [1, 2, 3]) await place.round();
    expect(box().arrived).toHaveLength(2);
    expect(textOf(box().arrived[1] as Arrived)).toContain(
      'over: acme, jobs: the last full sweep failed',
    );
  });

  test('receives the message with the same ID on each of three retries', async () => {
    await add();
    await place.query(failedSweep.breaks);
    box().manners = (_arrived, at) => (at <= 3 ? 503 : undefined);
    for (const _time of [1, 2, 3, 4, 5, 6]) {
      await place.round();
      await place.pass('2 hours');
    }
    const ids = box().arrived.map(idOf);
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(1);
    expect(await place.query('SELECT state, attempts FROM sync.alert_deliveries')).toEqual([
      {state: 'sent', attempts: 4},
    ]);
  });

  test('receives it again with the same ID if the worker is killed while sending it', async () => {
    await add();
    await place.query(failedSweep.breaks);
    const killed = startWorker();
    box().manners = (_arrived, at) => {
      if (at === 1) killed.kill('SIGKILL');
      return undefined;
    };
    await once(killed, 'exit');
    expect(await place.query('SELECT state FROM sync.alert_deliveries')).toEqual([
      {state: 'sending'},
    ]);
    await place.round();
    expect(box().arrived).toHaveLength(1);
    await place.pass('2 minutes');
    await place.round();
    await place.round();
    expect(box().arrived).toHaveLength(2);
    expect(new Set(box().arrived.map(idOf)).size).toBe(1);
  });

  test('receives a message only once if several workers send at the same time', async () => {
    await add();
    await place.query(failedSweep.breaks);
    const answer = Promise.withResolvers<undefined>();
    box().manners = () => answer.promise;
    const first = Promise.all([place.round(), place.round()]);
    await box().awaitCount(1);
    await Promise.all([place.round(), place.round()]);
    answer.resolve(undefined);
    await first;
    await place.round();
    expect(box().arrived).toHaveLength(1);
  });
});

describe('a webhook', () => {
  test('carries a signature that the Standard Webhooks library verifies', async () => {
    const secret = await place.addRule('ops', {webhook: `${http.url}/hook`});
    await place.query(failedSweep.breaks);
    await place.round();
    const [{body, headers} = {body: '', headers: {}}] = http.arrived;
    const read = new Webhook(secret).verify(body, headers as Record<string, string>);
    expect(read).toMatchObject({
      type: 'alert.opened',
      data: {rule: 'ops', alerts: [{cause: 'failed', stream: 'jobs'}]},
    });
    expect(() =>
      new Webhook(secret).verify(`${body} `, headers as Record<string, string>),
    ).toThrow();
  });

  test('does not follow a redirect: the attempt counts as failed', async () => {
    await place.addRule('ops', {webhook: `${http.url}/hook`});
    await place.query(failedSweep.breaks);
    http.manners = () => 302;
    await place.round();
    expect(http.arrived.map(({path}) => path)).toEqual(['/hook']);
    const [row] = await place.query('SELECT state, last_error FROM sync.alert_deliveries');
    expect(row).toEqual({
      state: 'due',
      last_error: expect.stringMatching(/expected an answer of 2xx, got 302$/),
    });
  });
});

describe('untrusted text', () => {
  const hostile = '<!channel> & <https://example.com|here>\r\nBcc: all@example.com\u2028\u202e.';

  beforeEach(async () => {
    await place.addRule('chat', {slack: `${http.url}/services/T0/B0/hush`});
    await place.addRule('mail', {email: 'ops@example.com'});
    await place.query(failedSweep.breaks);
    await place.query('UPDATE sync.sweeps SET error = $1', [hostile]);
    await place.round();
  });

  test('creates no mention and no link in Slack', () => {
    const {text} = JSON.parse(http.arrived[0]?.body ?? '{}');
    expect(text).not.toMatch(/[<>]/);
    expect(text).toContain('&lt;!channel&gt; &amp; &lt;https://example.com|here&gt;');
  });

  test('adds no header and no separate line to an email', () => {
    const [{headers, path, body} = {headers: {}, path: '', body: ''}] = mail.arrived;
    expect(path).toBe('ops@example.com');
    expect(headers.bcc).toBeUndefined();
    expect(headers['content-type']).toMatch(/^text\/plain/);
    expect(body).not.toMatch(/^Bcc:/m);
  });
});

test('an email uses the password of its rule, which is in no row, log line or error', async () => {
  const smtp = (password: string) =>
    `${mail.url.replace('//', `//ops:${password}@`)}?from=alerts%40example.com`;
  await place.addRule('good', {email: 'ops@example.com', smtp: smtp('open%20sesame')});
  await place.addRule('bad', {email: 'ops@example.com', smtp: smtp('open%20barley')});
  await place.query(failedSweep.breaks);
  await place.round();
  expect(mail.arrived).toHaveLength(1);
  expect(mail.arrived[0]?.headers.from).toContain('alerts@example.com');
  const [row] = await place.query(
    `SELECT last_error FROM sync.alert_deliveries WHERE state = 'due'`,
  );
  expect(row?.last_error).toMatch(/expected it to take the mail, got an answer of 535 \[EAUTH\]/);
  const tables = ['alert_rules', 'alerts', 'alert_deliveries'];
  const rows = await Promise.all(
    tables.map((name) => place.query(`SELECT t::text FROM sync.${name} AS t`)),
  );
  expect(JSON.stringify([rows, place.logged])).not.toMatch(/sesame|barley/);
});

test('the address of a receiver is in no row, log line or error', async () => {
  await place.addRule('hook', {webhook: `${http.url}/hook?token=hush-hush`});
  await place.addRule('chat', {slack: `${http.url}/services/hush-hush`});
  await place.addRule('ping', {ping: `${http.url}/hush-hush`});
  await place.query(failedSweep.breaks);
  http.manners = () => 404;
  await place.round();
  await place.pass('2 hours');
  await place.round();
  expect(http.arrived.length).toBeGreaterThan(3);
  const tables = ['alert_rules', 'alerts', 'alert_deliveries'];
  const rows = await Promise.all(
    tables.map((name) => place.query(`SELECT t::text FROM sync.${name} AS t`)),
  );
  expect(JSON.stringify([rows, place.logged])).not.toContain('hush');
});

describe('a ping', () => {
  const pings = () => http.arrived.length;

  beforeEach(async () => {
    await place.addRule('watch', {ping: `${http.url}/watch`, everyMs: 300_000});
  });

  test('is sent immediately and then at its interval', async () => {
    await place.round();
    await place.round();
    expect(pings()).toBe(1);
    await place.pass('4 minutes');
    await place.round();
    expect(pings()).toBe(1);
    await place.pass('1 minute');
    await place.round();
    expect(pings()).toBe(2);
    expect(http.arrived[0]).toMatchObject({path: '/watch', body: ''});
  });

  test('is not sent while a problem is open, and is sent again when it is resolved', async () => {
    await place.query(failedSweep.breaks);
    for (const _time of [1, 2, 3]) {
      await place.round();
      await place.pass('5 minutes');
    }
    expect(pings()).toBe(0);
    expect(await place.query(`SELECT FROM sync.alerts WHERE cause = 'alerts-failing'`)).toEqual([]);
    await place.query(failedSweep.ends);
    await place.round();
    expect(pings()).toBe(1);
  });

  test('counts as failing only from the end of the last problem that withheld it', async () => {
    const failingSince = async () => (await listRuleHealth(place.pool))[0]?.failingSince;
    await place.round();
    await place.query(failedSweep.breaks);
    await place.round();
    await place.pass('30 minutes');
    await place.query(failedSweep.ends);
    // This worker lacks the key of the rule's address, so no ping is sent.
    await place.round({keys: []});
    expect(await failingSince()).toBeNull();
    await place.pass('11 minutes');
    const [resolved] = await place.query('SELECT max(resolved_at) AS at FROM sync.alerts');
    expect(Date.parse(String(await failingSince()))).toBe(Date.parse(String(resolved?.at)));
  });

  test('stops when its worker is killed, and the receiver notices with its own timer', async () => {
    await place.query('UPDATE sync.alert_rules SET every_ms = 100');
    const alive = startWorker({STAYS: '1'});
    const missed = Promise.withResolvers<number>();
    let patience: NodeJS.Timeout | undefined;
    http.manners = (_arrived, at) => {
      clearTimeout(patience);
      patience = setTimeout(() => missed.resolve(at), 2_000);
      if (at === 5) alive.kill('SIGKILL');
      return undefined;
    };
    expect(await missed.promise).toBeGreaterThanOrEqual(5);
    expect(alive.signalCode).toBe('SIGKILL');
  });

  test('is sent again if the worker was killed while sending it', async () => {
    const killed = startWorker();
    http.manners = (_arrived, at) => {
      if (at === 1) killed.kill('SIGKILL');
      return undefined;
    };
    await once(killed, 'exit');
    await place.pass('2 minutes');
    await place.round();
    expect(pings()).toBe(2);
  });

  test('is still retried after a hundred failed attempts', async () => {
    http.manners = () => 500;
    await place.query('UPDATE sync.alert_deliveries SET attempts = 100, fence = 100');
    await place.round();
    await place.pass('1 day');
    http.manners = () => undefined;
    await place.round();
    expect(pings()).toBe(2);
    expect(await place.query('SELECT state, attempts FROM sync.alert_deliveries')).toEqual([
      {state: 'due', attempts: 0},
    ]);
  });
});
