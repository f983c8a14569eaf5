// A newer version beside this one may know causes that this one does not. Its alerts are shown and
// sent by their words, and are its own to mend. The database holds no list of causes.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {causes} from '../../src/core/errors.ts';
import {runCommand} from '../support/command.ts';
import {addWorker, openToldPlace, type ToldPlace} from '../support/told-place.ts';

let place: ToldPlace;

beforeEach(async () => {
  place = await openToldPlace();
});

afterEach(() => place.close());

const newer = `INSERT INTO sync.alerts (cause, account_id, stream, since, text)
  VALUES ('solar-storm', 1, 'jobs', now(), 'the sun is up')`;
const addNewerWorker = addWorker('now()').replace(`'0'`, `'99.0.0'`);

const run = (...args: readonly string[]) =>
  runCommand(args, {FIELDMIRROR_ENV_FILE: '/dev/null', DATABASE_URL: place.url});

describe('an alert whose cause only a newer version knows', () => {
  beforeEach(async () => {
    await place.addHook('ops', {cause: ['failed']});
    await place.query(`UPDATE sync.alert_rules SET causes = '{failed,solar-storm}'`);
    for (const worker of [addWorker('now()'), addNewerWorker, newer]) await place.query(worker);
  });

  test('is sent, stays open while the newer version runs, and is resolved without it', async () => {
    await place.rounds(3);
    expect(place.told()).toEqual(['solar-storm opened']);
    expect(place.alertsOf('ops')).toMatchObject([{docs: null, text: 'the sun is up'}]);
    await place.query(`DELETE FROM sync.workers WHERE version = '99.0.0'`);
    await place.rounds();
    expect(place.told()).toEqual(['solar-storm opened', 'solar-storm resolved']);
  });

  test('is listed, and neither status nor config export fails on it', async () => {
    await place.rounds();
    const listed = await run('alerts', 'list');
    expect(listed).toMatchObject({code: 0, stderr: ''});
    const words = listed.stdout.replaceAll(/\s+/g, ' ');
    expect(words).toContain('failed, solar-storm');
    expect(words).toMatch(/acme, jobs: the sun is up \(.*; solar-storm: an alert of another ver/);
    expect((await run('status')).stdout).toContain('acme');
    const exported = await run('config', 'export');
    expect(exported).toMatchObject({code: 0, stdout: expect.stringContaining('solar-storm')});
  });
});

test('the database accepts each cause of this version, and a rule with all of them', async () => {
  await place.addHook('ops', {cause: causes});
  for (const cause of causes)
    await place.query(`INSERT INTO sync.alerts (cause, since, text) VALUES ($1, now(), 'x')`, [
      cause,
    ]);
});

test.each([
  '',
  'Failed',
  'two words',
  'a,b',
  '-failed',
  'failed-',
  'a--b',
  'NULL',
  `${'a'.repeat(51)}`,
])('the database rejects %j as the cause of an alert or a rule', async (cause) => {
  await expect(
    place.query(`INSERT INTO sync.alerts (cause, since, text) VALUES ($1, now(), 'x')`, [cause]),
  ).rejects.toMatchObject({constraint: 'alerts_cause_check'});
  await place.addHook('ops');
  for (const list of [[cause], ['failed', cause], [null], []])
    await expect(
      place.query('UPDATE sync.alert_rules SET causes = $1', [list]),
    ).rejects.toMatchObject({constraint: 'alert_rules_causes_check'});
});
