// The Health page: what is checked, and the settings in force with where each came from.

import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {listSettings} from '../../src/cli/settings.ts';
import {loadConfig} from '../../src/core/config.ts';
import {openPool} from '../../src/postgres/database.ts';
import {plainConsole} from '../support/plain-console.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
let folder: string;
let settingsFile: string;
beforeAll(async () => {
  let url = '';
  const config = loadConfig({
    FIELDMIRROR_API_URL: 'https://example.com/acme',
    FIELDMIRROR_API_TOKEN: 'hush-token',
    FIELDMIRROR_TIME_ZONE: 'America/New_York',
    DATABASE_URL: 'postgres://mirror:hush-password@db.example.com/warehouse',
    FIELDMIRROR_SMTP_URL: 'smtps://me:hush-mail@mail.example.com',
  });
  place = await openPlace({
    services: {
      ...plainConsole().services,
      examine: async () => [{what: 'alerts', state: 'warning', found: 'messages do not arrive'}],
      listSettings: async () => {
        const pool = openPool(url, {max: 1, applicationName: 'test'});
        return await listSettings(config, pool, settingsFile).finally(() => pool.end());
      },
    },
  });
  url = place.databaseUrl;
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-health-'));
  settingsFile = join(folder, 'fieldmirror.yaml');
  await writeFile(settingsFile, 'retention: {quiet_sweeps: 7d}\n');
});
afterAll(async () => {
  await place?.close();
  await rm(folder, {recursive: true});
});

test('each active setting is shown with its source, and no secret is shown', async () => {
  const admin = await place.person({role: 'admin'});
  const {settings} = await admin.json('/health');
  const find = (name: string) => settings.find((each: {name: string}) => each.name === name);
  expect(find('FIELDMIRROR_TIME_ZONE')).toMatchObject({
    value: 'America/New_York',
    source: 'environment',
  });
  expect(find('REDIS_URL')).toMatchObject({source: 'default'});
  const sources = new Set(settings.map(({source}: {source: string}) => source));
  expect([...sources].toSorted()).toEqual(['default', 'environment', 'file', 'warehouse']);
  const {text} = await admin.get('/health');
  expect(text).toContain('fieldmirror.yaml');
  expect(text).toContain('the environment of this process');
  expect(text + JSON.stringify(settings)).not.toContain('hush');
});

// A story is shown to others for a second; one with another address is read anew.
const fresh = '/health?of=mail';

test('e-mail addresses are hidden from a person who may not see personal data', async () => {
  await place.pool.query(
    `INSERT INTO sync.alert_rules (name, receiver, target, quiet_ms)
      VALUES ('desk', 'email', 'ops@example.com', 1000)`,
  );
  const masked = await place.person({role: 'viewer', masks: true, isOfAll: true});
  for (const told of [(await masked.get(fresh)).text, JSON.stringify(await masked.json(fresh))]) {
    expect(told).toContain('alerts / desk / to');
    expect(told).not.toContain('ops@example.com');
  }
  const admin = await place.person({role: 'admin', isOfAll: true});
  expect((await admin.get(fresh)).text).toContain('ops@example.com');
});

test('a person bound to one account does not see the global settings', async () => {
  const person = await place.person();
  expect((await person.json('/health')).settings).toBeNull();
  expect((await person.get('/health')).text).not.toContain('FIELDMIRROR_TIME_ZONE');
});
