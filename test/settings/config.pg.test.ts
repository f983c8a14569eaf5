// A person keeps the settings in a file: tells them, looks at what would change, and sees where
// each came from.

import {randomBytes} from 'node:crypto';
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {createDatabase} from '../support/postgres.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {
  accounts,
  apply,
  client,
  config,
  database,
  folder,
  query,
  runThere,
  schedules,
  useConfigPlace,
} from './config-place.ts';

useConfigPlace();

describe('config plan', () => {
  test('prints each difference and changes nothing', async () => {
    await apply(accounts);
    const north = accounts.replace('America/Chicago', 'America/Chicago, paused: true');
    const text = `${north.replace(/^ *south.*\n/m, '')}write_rules: {customers: {fax: service}}`;
    const ended = await config('plan --json', text);
    expect(ended.code).toBe(0);
    expect(JSON.parse(ended.stdout)).toEqual({
      differences: [
        {section: 'accounts', key: 'north / paused', from: false, to: true},
        {section: 'write_rules', key: 'customers / fax', from: 'ask', to: 'service'},
      ],
      overridden: [],
      unnamed: ['accounts / south'],
      costs: [],
    });
    expect(await config('plan --check', text)).toMatchObject({code: 1});
    expect(await query(`SELECT FROM sync.accounts WHERE state <> 'active'`)).toEqual([]);
  });

  test('with --check exits with 0 if nothing would change', async () => {
    await apply(accounts);
    expect(await config('plan --check', accounts)).toEqual({
      code: 0,
      stdout: 'nothing would change\n',
      stderr: '',
    });
  });

  test('the environment overrides the file, and the override is printed', async () => {
    const given = {
      FIELDMIRROR_API_URL: 'https://app.example.com/north',
      FIELDMIRROR_API_TOKEN: 'x',
      FIELDMIRROR_TIME_ZONE: 'America/Denver',
    };
    const {stdout} = await apply(accounts, given);
    expect(stdout).toContain(
      'accounts / north / time_zone: the environment takes precedence over the file: ' +
        'America/Denver, not America/Chicago',
    );
    expect(await query('SELECT name, time_zone FROM sync.accounts ORDER BY name')).toEqual([
      {name: 'north', time_zone: 'America/Denver'},
      {name: 'south', time_zone: 'UTC'},
    ]);
  });

  test('names the migrate command if the warehouse was not migrated', async () => {
    const empty = await createDatabase();
    const ended = await config('plan', accounts, {DATABASE_URL: empty.url});
    await empty.drop();
    expect(ended).toMatchObject({code: 3, stderr: expect.stringContaining('fieldmirror migrate')});
  });
});

describe('config export', () => {
  test('writes a file without tokens that plan accepts; overwrites only with --force', async () => {
    await apply(accounts);
    await client.query(
      `UPDATE sync.accounts SET sealed_token = 'sealed', key_id = 'k' WHERE name = 'north'`,
    );
    const env = {DATABASE_URL: database.url};
    const file = join(folder, 'told.yaml');
    expect(
      await runCommand(['config', 'schema', join(folder, 'fieldmirror.schema.json')], env),
    ).toMatchObject({code: 0});
    expect(await runCommand(['config', 'export', file], env)).toMatchObject({code: 0});
    const text = await readFile(file, 'utf8');
    expect(text).toMatch(/^# yaml-language-server: \$schema=\.\/fieldmirror\.schema\.json\n/);
    expect(text).toContain('    paused: false # default\n');
    expect(text).not.toMatch(/sealed|key_id/);
    expect(await runCommand(['config', 'plan', file, '--check'], env)).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await runCommand(['config', 'export', file], env)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/comments would be lost; --force/),
    });
    expect(await runCommand(['config', 'export', file, '--force'], env)).toMatchObject({code: 0});
    for (const printed of [[], ['-']])
      expect((await runCommand(['config', 'export', ...printed], env)).stdout).toBe(
        text.replace(/^.*\n/, ''),
      );
  });
});

test('config schema lists sections and fields, and allows no unknown section', async () => {
  const {stdout} = await runCommand(['config', 'schema'], {});
  const schema = JSON.parse(stdout);
  expect(Object.keys(schema.properties)).toContain('write_rules');
  expect(Object.keys(schema.properties.write_rules.properties.customers.properties)).toContain(
    'phone_number',
  );
  expect(schema.additionalProperties).toBe(false);
});

test('doctor shows the source of each setting, using the file in its folder', async () => {
  await apply(
    `${accounts.replace('America/Chicago}', 'America/Chicago, paused: false}')}` +
      'schedules: {south: {one: {stream: jobs, every: 1h}}}\n' +
      'write_rules: {customers: {fax: service}}',
  );
  await client.query(`UPDATE sync.write_rules SET rule = 'newest' WHERE table_name = 'customers'
    AND field = 'name';
    UPDATE sync.schedules SET every_ms = 60000`);
  const given = {
    DATABASE_URL: database.url,
    FIELDMIRROR_API_URL: 'https://127.0.0.1:1/other',
    FIELDMIRROR_API_TOKEN: 'x',
    FIELDMIRROR_TIME_ZONE: 'UTC',
  };
  await client.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone)
      VALUES ('other', 'https://127.0.0.1:1/other', 'UTC')`,
  );
  const {settings} = JSON.parse((await runThere(['doctor', '--json'], given)).stdout);
  const sourceOf = (name: string) => settings.find((each: {name: string}) => each.name === name);
  const file = 'fieldmirror.yaml';
  expect(sourceOf('write_rules / customers / fax')).toMatchObject({
    value: 'service',
    source: 'file',
    file,
  });
  expect(sourceOf('write_rules / customers / name')).toMatchObject({
    value: 'newest',
    source: 'warehouse',
  });
  expect(sourceOf('write_rules / customers / phone_number')).toMatchObject({
    value: 'ask',
    source: 'default',
  });
  expect(sourceOf('schedules / south / one / stream')).toMatchObject({source: 'file'});
  expect(sourceOf('schedules / south / one / every')).toMatchObject({
    value: '1m',
    source: 'warehouse',
  });
  expect(sourceOf('accounts / other / time_zone')).toMatchObject({source: 'environment'});
  expect(sourceOf('DATABASE_URL')).toMatchObject({source: 'environment'});
  const {stdout} = await runThere(['doctor'], given);
  expect(stdout).toMatch(new RegExp(`write_rules / customers / fax +│ service +│ ${file}`));
  expect(stdout).not.toMatch(/phone_number|│ REDIS_URL/);
  expect(stdout).toMatch(
    /\d+ settings are at their defaults, \d+ of them as .* says: doctor --all shows them/,
  );
  const all = (await runThere(['doctor', '--all'], given)).stdout;
  expect(all).toMatch(/write_rules \/ customers \/ phone_number +│ ask +│ default/);
  expect(all).toMatch(/REDIS_URL +│ \(the queue is in Postgres\) +│ default/);
  expect(all).toMatch(new RegExp(`accounts / north / paused +│ false +│ ${file}`));
  expect(all).not.toContain('doctor --all');
  expect(all.split('\n').filter((line) => line.includes(' │ '))).toHaveLength(settings.length + 1);
  const elsewhere = (await runCommand(['doctor'], given)).stdout;
  expect(elsewhere).toMatch(/write_rules \/ customers \/ fax +│ service +│ warehouse/);
  await config('plan', 'write_rules: {customers: {fax: servce}}');
  expect((await runThere(['doctor'], given)).stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /warning settings: fieldmirror\.yaml:1:27: .*expected one of service, .*got "servce"/,
  );
});

describe.each(['reader', 'author', 'worker'])('a login of fieldmirror_%s', (role) => {
  test('applies nothing, and gets the error "permission denied"', async () => {
    await apply(accounts);
    const login = `login_${randomBytes(4).toString('hex')}`;
    await makeRole(login, `LOGIN PASSWORD 'made-up' IN ROLE fieldmirror_${role}`);
    const url = new URL(database.url);
    url.username = login;
    url.password = 'made-up';
    const ended = await apply('schedules: {north: {x: {stream: jobs, every: 1h}}}', {
      DATABASE_URL: url.href,
    });
    const told = await runCommand(['config', 'export'], {DATABASE_URL: url.href});
    await dropRoles(login);
    expect(ended).toMatchObject({code: 3, stderr: expect.stringMatching(/permission denied/)});
    expect(ended.stderr).toContain('has that role already, only the owner may run this command');
    expect(await schedules()).toEqual([]);
    // A worker serves all accounts, and so may read how they are set; the others know nothing of
    // them.
    expect(told.code).toBe(role === 'worker' ? 0 : 3);
  });
});
