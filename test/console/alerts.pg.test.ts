// The Alerts page: what is wrong, who is told and whether it arrives, and the rules that an admin
// makes, tests and removes. The receiver is a server of HTTP that answers.

import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {alertsTest} from '../../src/cli/alerts.ts';
import {planFilledRule} from '../../src/cli/http.ts';
import {causeGroups, describeMeaning} from '../../src/console/receivers.ts';
import {causes} from '../../src/core/errors.ts';
import {parseKeys} from '../../src/core/secret.ts';
import {openHttpReceiver, type TestReceiver} from '../support/alert-receivers.ts';
import {keyText} from '../support/alerts-place.ts';
import {plainConsole} from '../support/plain-console.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
let receiver: TestReceiver;
beforeAll(async () => {
  receiver = await openHttpReceiver();
  const config = {
    keys: parseKeys(keyText),
    smtpUrl: null,
    allowsHttp: false,
    allowsLinkLocal: false,
  };
  let pool: pg.Pool | null = null;
  place = await openPlace({
    services: {
      ...plainConsole().services,
      planRule: async (rule) => planFilledRule(config, rule),
      testRule: async (name) => {
        if (pool === null) throw new Error('asked before the place was open');
        const {target, answer} = await alertsTest(config, pool, {name});
        return `${target} took it: ${answer}.`;
      },
    },
  });
  pool = place.pool;
});
afterAll(async () => {
  await place?.close();
  await receiver?.close();
});

const webhook = (name: string) => ({
  name,
  receiver: 'webhook',
  address: `${receiver.url}/hook?token=hush`,
  causes: 'failed',
  account: 'acme',
});
const countRules = async () =>
  (await place.pool.query('SELECT count(*)::integer AS n FROM sync.alert_rules')).rows[0].n;
const listEntries = async (action: string) =>
  (await place.pool.query('SELECT * FROM sync.audit WHERE action = $1 ORDER BY audit_id', [action]))
    .rows;

describe('an admin', () => {
  test('adds a rule: the signing secret is shown once, the secret in its URL never', async () => {
    const admin = await place.person({role: 'admin'});
    const made = await admin.post('/alerts/add', webhook('ops'));
    expect(made.status).toBe(200);
    const [secret = ''] = /whsec_[\w+/=]+/.exec(made.text) ?? [];
    expect(secret.length).toBeGreaterThan(40);
    const {text} = await admin.get('/alerts');
    expect(text).toContain(new URL(receiver.url).host);
    expect(text).toContain('acme: failed');
    const [entry] = await listEntries('alerts.add');
    expect(entry).toMatchObject({
      subject: 'alert rule ops',
      after: {receiver: 'webhook', causes: ['failed']},
    });
    const {rows} = await place.pool.query('SELECT rule::text FROM sync.alert_rules AS rule');
    const json = JSON.stringify(await admin.json('/alerts'));
    for (const told of [text, json, JSON.stringify(entry), rows[0].rule, place.logged.join('')]) {
      expect(told).not.toContain('hush');
      expect(told).not.toContain(secret.slice(6));
    }
  });

  test('tests a rule and sees the answer of the receiver, also if it is an error', async () => {
    const admin = await place.person({role: 'admin'});
    expect((await admin.post('/alerts/ops/test')).status).toBe(303);
    expect(receiver.arrived.at(-1)?.body).toContain('alert.test');
    expect((await admin.get('/alerts')).text).toContain('took it: 200');
    expect(await listEntries('alerts.test')).toMatchObject([{subject: 'alert rule ops'}]);
    receiver.manners = () => 503;
    const refused = await admin.post('/alerts/ops/test');
    receiver.manners = () => undefined;
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('503');
    expect(refused.text).not.toContain('hush');
    expect((await admin.post('/alerts/nobody/test')).text).toContain('no rule &quot;nobody&quot;');
  });

  test.each([
    ['a name that is taken', {}, 'there is an alert rule ops already'],
    ['a text that is no address', {name: 'new', address: 'hush'}, 'expected a URL'],
    ['plain http elsewhere', {name: 'new', address: 'http://example.com/hush'}, 'expected https'],
    ['a text that is no duration', {name: 'new', quiet: 'long'}, 'quiet time: expected a span'],
    ['a clock without a ping', {name: 'new', every: '5m'}, 'expected it with --ping'],
    ['an unknown cause', {name: 'new', causes: 'weather'}, 'no cause &quot;weather&quot;'],
    ['these causes alone, and none', {name: 'new', scope: 'these', causes: ''}, 'none was ticked'],
  ])('cannot store a rule with %s', async (_, fields, words) => {
    const admin = await place.person({role: 'admin'});
    const refused = await admin.post('/alerts/add', {...webhook('ops'), ...fields});
    expect(refused.status).toBe(422);
    expect(refused.text).toContain(words);
    expect(refused.text).not.toContain('hush');
    expect(await countRules()).toBe(1);
  });

  test('sees an alert of a newer version whose cause this version does not know', async () => {
    const admin = await place.person({role: 'admin'});
    await place.pool.query(
      `INSERT INTO sync.alerts (cause, since, text) VALUES ('constructor', now(), 'sun is up')`,
    );
    const {status, text} = await admin.get('/alerts?of=newer');
    await place.pool.query('DELETE FROM sync.alerts');
    expect(status).toBe(200);
    expect(text).toMatch(/sun is up<\/span><small>constructor: an alert of another version</);
  });

  test('adds a rule for every cause by choosing everything, whatever is ticked', async () => {
    const admin = await place.person({role: 'admin'});
    const form = {...webhook('all'), scope: 'everything', account: ''};
    expect((await admin.post('/alerts/add', form)).status).toBe(200);
    const {rows} = await place.pool.query(
      `DELETE FROM sync.alert_rules WHERE name = 'all' RETURNING causes`,
    );
    expect(rows).toEqual([{causes: null}]);
  });

  test('adds a ping that is due at once, and can remove it only once', async () => {
    const admin = await place.person({role: 'admin'});
    const form = {name: 'watch', receiver: 'ping', address: `${receiver.url}/p`, every: '60m'};
    expect((await admin.post('/alerts/add', form)).status).toBe(303);
    const {rows} = await place.pool.query(
      `SELECT kind, every_ms::integer FROM sync.alert_deliveries
       JOIN sync.alert_rules USING (rule_id) WHERE name = 'watch'`,
    );
    expect(rows).toEqual([{kind: 'ping', every_ms: 3_600_000}]);
    expect((await admin.post('/alerts/watch/remove')).status).toBe(303);
    expect((await admin.get('/alerts')).text).toContain('watch no longer notifies anyone.');
    expect((await admin.post('/alerts/watch/remove')).status).toBe(404);
    expect(await listEntries('alerts.remove')).toHaveLength(1);
    expect(await countRules()).toBe(1);
  });
});

test('each cause is in exactly one group of the form, with its documented meaning', async () => {
  const grouped = causeGroups.flatMap((group) => group.causes);
  expect(grouped.toSorted()).toEqual(causes.toSorted());
  expect(causes.filter((cause) => !/^[A-Z].{10,}\.$/.test(describeMeaning(cause)))).toEqual([]);
  const {text} = await (await place.person({role: 'admin'})).get('/alerts');
  expect(text).toContain(`value="failed"> <span>failed<small>${describeMeaning('failed')}</small>`);
});

test.each([
  ['/alerts/add', {}],
  ['/alerts/ops/test', {}],
  ['/alerts/ops/remove', {}],
])(
  'a viewer and an operator get no form for %s, and a handmade request is refused',
  async (path, fields) => {
    const before = receiver.arrived.length;
    for (const role of ['viewer', 'operator'] as const) {
      const person = await place.person({role});
      expect((await person.get('/alerts')).text).not.toContain(`action="${path}"`);
      expect((await person.post(path, {...webhook('mine'), ...fields})).status).toBe(403);
    }
    const admin = await place.person({role: 'admin'});
    expect((await admin.post(path, {...webhook('mine'), form: 'forged'})).status).toBe(403);
    const elsewhere = {origin: 'https://example.com'};
    expect((await admin.post(path, webhook('mine'), elsewhere)).status).toBe(403);
    expect(receiver.arrived).toHaveLength(before);
    expect(await countRules()).toBe(1);
  },
);

describe('open alerts', () => {
  /** Another address than those above, whose story may be a second old. */
  const fresh = '/alerts?of=now';
  beforeAll(async () => {
    await place.pool.query(
      `INSERT INTO sync.alert_rules (name, receiver, target, quiet_ms)
        VALUES ('desk', 'email', 'ops@example.com', 0)`,
    );
    await place.pool.query(
      `INSERT INTO sync.alerts (cause, account_id, stream, since, text, next_step)
       VALUES ('failed', $1, 'jobs', now() - interval '3 hours',
         'the last full sweep failed: <b>500</b>', NULL),
              ('failed', $2, 'tasks', now(), 'of the stranger', NULL),
              ('no-worker', NULL, NULL, now(), 'no worker is alive', 'fieldmirror start')`,
      [place.account.accountId, place.stranger.accountId],
    );
    await place.pool.query(
      `INSERT INTO sync.alert_deliveries (rule_id, alert_id, kind, state, attempts, fence,
        last_error, created_at)
       SELECT rule_id, alert_id, 'opened', 'due', 4, 4, 'POST ops: 503', now() - interval '2 hours'
         FROM sync.alert_rules CROSS JOIN sync.alerts WHERE cause = 'failed' AND stream = 'jobs'`,
    );
  });

  test('are listed with their text, and rules that fail to deliver with the error', async () => {
    const admin = await place.person({role: 'admin'});
    const {text} = await admin.get(fresh);
    expect(text).toContain('3 things are wrong; the messages of 2 rules do not arrive.');
    expect(text).toContain('the last full sweep failed: &lt;b&gt;500&lt;/b&gt;');
    expect(text).toContain('POST ops: 503');
    expect(text).toContain('mode=full&amp;state=failed');
    const {deliveries} = await admin.json(fresh);
    expect(deliveries).toMatchObject([{attempts: 4, state: 'due'}, {attempts: 4}]);
  });

  test('are not said to be all while no worker checks for them', async () => {
    await place.pool.query(
      `INSERT INTO sync.alert_checks (checked_at) VALUES (now() - interval '4 minutes')`,
    );
    const person = await place.person({role: 'admin'});
    const {text} = await person.get(`${fresh}&unchecked=yes`);
    expect(text).toContain('No worker is alive, so nothing is checked; ');
    expect(text).toMatch(/not checked<\/span> since <time[^>]*>[^<]*<small>4 min ago/);
    await place.pool.query('UPDATE sync.alerts SET resolved_at = now() WHERE resolved_at IS NULL');
    const {text: none} = await person.get(`${fresh}&again=yes`);
    await place.pool.query('UPDATE sync.alerts SET resolved_at = NULL');
    await place.pool.query('DELETE FROM sync.alert_checks');
    expect(none).not.toContain('Nothing. Problems are checked for once a minute');
  });

  test('of other accounts are hidden from a bound person, with rules and deliveries', async () => {
    const person = await place.person({role: 'operator'});
    const story = await person.json(fresh);
    expect(story.rules.map(({name}: {name: string}) => name)).toEqual(['ops']);
    expect(story.open.map(({stream}: {stream: string}) => stream)).toEqual(['jobs']);
    expect(story.deliveries.map(({rule}: {rule: string}) => rule)).toEqual(['ops']);
  });

  test('hide the e-mail address of a rule from a person with a masking key', async () => {
    const masked = await place.person({role: 'viewer', masks: true, isOfAll: true});
    const {text} = await masked.get('/alerts');
    expect(text).toContain('desk');
    expect(text).not.toContain('ops@example.com');
    expect(JSON.stringify(await masked.json('/alerts'))).not.toContain('ops@example.com');
  });
});
