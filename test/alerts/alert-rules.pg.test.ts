// When a rule tells, what, and how often.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {beginAlertCheck, endAlertCheck} from '../../src/alerts/alerts.ts';
import {listRuleHealth} from '../../src/alerts/deliveries.ts';
import {findFailingRules} from '../../src/alerts/installation-problems.ts';
import {failedSweep} from '../support/alerts-place.ts';
import {
  addWorker,
  ago,
  cancelChanges,
  openToldPlace,
  type ToldPlace,
} from '../support/told-place.ts';

const nothing = {problems: [], accounts: [], only: null};
let place: ToldPlace;

beforeEach(async () => {
  place = await openToldPlace();
});

afterEach(() => place.close());

describe('within the quiet time of a rule', () => {
  beforeEach(async () => {
    await place.addHook('ops', {quietMs: 3_600_000});
    await place.query(failedSweep.breaks);
    await place.rounds();
    await place.query(failedSweep.ends);
    await place.rounds();
    await place.query(failedSweep.breaks);
    await place.rounds();
  });

  test('a problem that reopens is reported if it is still open when the time ends', async () => {
    expect(place.told()).toEqual(['failed opened', 'failed resolved']);
    await place.pass('50 minutes');
    await place.rounds();
    expect(place.told()).toHaveLength(2);
    await place.pass('11 minutes');
    await place.rounds();
    expect(place.told()).toEqual(['failed opened', 'failed resolved', 'failed opened']);
  });

  test('a problem that reopens and is resolved is not reported again', async () => {
    await place.query(failedSweep.ends);
    await place.pass('2 hours');
    await place.rounds();
    expect(place.told()).toEqual(['failed opened', 'failed resolved']);
  });

  test('a different problem is reported', async () => {
    await place.query(
      `INSERT INTO sync.quarantine (account_id, stream, reason, xml, xml_hash)
        VALUES (1, 'jobs', 'x', '<job/>', 'x')`,
    );
    await place.rounds();
    expect(place.told()).toEqual(['failed opened', 'failed resolved', 'quarantine opened']);
  });
});

describe('many alerts at once', () => {
  const conflicts = (count: number) => [
    `INSERT INTO warehouse.customers (name) SELECT 'New ' || n
      FROM generate_series(1, ${count}) AS n`,
    `UPDATE sync.changes SET state = 'conflict', reason = 'both'`,
  ];

  test.each([
    [5, ['alert.opened', 'alert.opened', 'alert.opened', 'alert.opened', 'alert.opened']],
    [6, ['alert.digest']],
  ])('%i of them are sent as %j', async (count, types) => {
    await place.addHook('ops');
    for (const statement of conflicts(count)) await place.query(statement);
    await place.rounds();
    expect(place.http.arrived.map(({body}) => JSON.parse(body).type)).toEqual(types);
    expect(
      place
        .alertsOf('ops')
        .map(({subject}) => subject)
        .toSorted(),
    ).toEqual(Array.from({length: count}, (_, at) => String(at + 1)));
  });

  test('are reported as resolved in one digest, after the first digest was accepted', async () => {
    await place.addHook('ops');
    for (const statement of conflicts(8)) await place.query(statement);
    place.http.manners = (_arrived, at) => (at === 1 ? 500 : undefined);
    await place.rounds();
    await place.query(cancelChanges);
    await place.rounds();
    expect(place.http.arrived).toHaveLength(1);
    await place.pass('1 hour');
    await place.rounds();
    const read = place.http.arrived.map(({body}) => JSON.parse(body).data);
    expect(read.map(({count, title}) => `${count}: ${title}`)).toEqual([
      '8: 8 alerts: 8 need a person',
      '8: 8 alerts: 8 need a person',
      '8: 8 alerts: 8 are over',
    ]);
  });

  test('are merged into one alert beyond the hundredth change of a kind', async () => {
    await place.addHook('ops');
    for (const statement of conflicts(130)) await place.query(statement);
    await place.rounds();
    const rows = await place.query(`SELECT text FROM sync.alerts WHERE subject = 'more'`);
    expect(rows).toEqual([
      {text: expect.stringMatching(/^30 changes need a decision, change 101 the first/)},
    ]);
    expect(await place.query('SELECT count(*)::integer AS count FROM sync.alerts')).toEqual([
      {count: 101},
    ]);
    expect(place.http.arrived).toHaveLength(1);
  });
});

describe('a rule', () => {
  test('reports only its causes and its account', async () => {
    await place.query(
      `INSERT INTO sync.accounts (name, api_url, time_zone)
        VALUES ('other', 'https://example.com/other', 'UTC')`,
    );
    await place.query(failedSweep.breaks);
    await place.query(failedSweep.breaks.replace('VALUES (1', 'VALUES (2'));
    await place.query(addWorker(ago('3 hours')));
    await place.addHook('all');
    await place.addHook('cause', {cause: ['no-worker', 'drift']});
    await place.addHook('account', {accountId: '2'});
    await place.rounds();
    expect(place.told('all').toSorted()).toEqual([
      'failed opened',
      'failed opened',
      'no-worker opened',
    ]);
    expect(place.told('cause')).toEqual(['no-worker opened']);
    expect(place.alertsOf('account').map(({account}) => account)).toEqual(['other']);
  });

  test('that is added while a problem is open reports it', async () => {
    await place.addHook('first');
    await place.query(failedSweep.breaks);
    await place.rounds();
    await place.addHook('later');
    await place.rounds();
    expect([place.told('first'), place.told('later')]).toEqual([
      ['failed opened'],
      ['failed opened'],
    ]);
  });

  test('gives up a message after thirty attempts, logs it and is reported as failing', async () => {
    await place.addHook('ops');
    await place.query(failedSweep.breaks);
    place.http.manners = () => 500;
    await place.round();
    await place.query('UPDATE sync.alert_deliveries SET attempts = 29, fence = 29');
    await place.pass('1 hour');
    await place.rounds();
    expect(await place.query('SELECT state FROM sync.alert_deliveries')).toEqual([
      {state: 'failed'},
    ]);
    expect(place.logged.filter((line) => line.includes('alert.given_up'))).toHaveLength(1);
    const rules = await listRuleHealth(place.pool);
    expect(rules).toMatchObject([
      {rule: 'ops', givenUp: 1, lastError: expect.stringMatching(/got 500$/)},
    ]);
    const [{now} = {}] = await place.query('SELECT now() AS now');
    expect(findFailingRules(rules, {workers: [], keyIds: []}, String(now))[0]?.text).toMatch(
      /rule ops do not arrive \(1 given up\)/,
    );
    // An alert whose message was given up is not reported as resolved.
    await place.query(failedSweep.ends);
    await place.rounds();
    expect(place.told()).toEqual(['failed opened', 'failed opened']);
  });

  test('whose messages no worker can send is reported as failing', async () => {
    await place.addRule('mail', {email: 'ops@example.com'});
    await place.query(failedSweep.breaks);
    await place.rounds();
    await place.pass('11 minutes');
    await place.rounds();
    const rows = await place.query(`SELECT text FROM sync.alerts WHERE cause = 'alerts-failing'`);
    expect(rows).toEqual([{text: expect.stringContaining('no worker has sent them')}]);
  });
});

describe('an alert check', () => {
  test('runs only if there is a rule, in one worker, and once a minute', async () => {
    expect(await beginAlertCheck(place.pool)).toBeNull();
    await place.addHook('ops');
    const looks = await Promise.all([1, 2, 3, 4].map(() => beginAlertCheck(place.pool)));
    expect(looks.filter((look) => look !== null)).toHaveLength(1);
    for (const look of looks) if (look !== null) await endAlertCheck(place.pool, look, nothing);
    expect(await beginAlertCheck(place.pool)).toBeNull();
    await place.query(`UPDATE sync.alert_checks SET checked_at = now() - interval '61 seconds'`);
    expect(await beginAlertCheck(place.pool)).not.toBeNull();
  });

  test('and the sending of its messages need only the rights of the worker role', async () => {
    await place.addHook('ops');
    await place.query(failedSweep.breaks);
    await place.roundAs('fieldmirror_worker');
    await place.query(failedSweep.ends);
    await place.roundAs('fieldmirror_worker');
    expect(place.told()).toEqual(['failed opened', 'failed resolved']);
  });

  test('writes nothing if its lease expired and another check ran meanwhile', async () => {
    await place.addHook('ops');
    const slept = await beginAlertCheck(place.pool);
    await place.query('UPDATE sync.alert_checks SET lease_until = now()');
    await place.query(failedSweep.breaks);
    await place.rounds(1);
    expect(await endAlertCheck(place.pool, slept ?? {fence: -1}, nothing)).toBeNull();
    expect(await place.query('SELECT FROM sync.alerts WHERE resolved_at IS NULL')).toHaveLength(1);
  });
});
