// Subscribers of the feed in a file of settings: made, changed and taken away by it; their
// addresses are given by hand.

import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {listSealingKeys} from '../../src/accounts/seals.ts';
import {findFailingHooks} from '../../src/alerts/installation-problems.ts';
import {compareSettings} from '../../src/cli/settings.ts';
import {listHooks, skipBatch} from '../../src/feed/hooks.ts';
import {runCommand} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';
import {type HookPlace, keyText, openHookPlace, readMessage} from './hooks-place.ts';

let place: HookPlace;
let file: string;
beforeEach(async () => {
  place = await openHookPlace();
  file = join(await mkdtemp(join(tmpdir(), 'fieldmirror-hooks-')), 'fieldmirror.yaml');
});
afterEach(async () => {
  await rm(join(file, '..'), {recursive: true});
  await place.close();
});

const run = (...args: string[]) =>
  runCommand(args, {
    DATABASE_URL: place.url,
    FIELDMIRROR_KEY: keyText,
    FIELDMIRROR_ALLOW_HTTP: '1',
  });

/** Applies a file with these subscribers. */
async function apply(hooks: string, verb: readonly string[] = ['apply']) {
  await writeFile(file, `hooks:\n  ${hooks}\n`);
  return await run('config', ...verb, file);
}

const messages = () => place.http.arrived.map(readMessage);

describe('a subscriber made by a settings file', () => {
  test('waits for its address, is reported as waiting, and misses no entry', async () => {
    await place.sent('tasks', {id: 1, name: 'Before'});
    const made = await apply(
      'erp: {host: erp.example.com, tables: [tasks], columns: [name], leave_out: ["http:erp"], ' +
        'system: tryton}',
    );
    expect(made, made.stderr).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/erp \/ tables/),
    });
    expect(await place.hook('erp')).toMatchObject({
      hasAddress: false,
      target: 'erp.example.com',
      tables: ['tasks'],
      columns: ['name'],
      leavesOut: ['http: erp'],
      most: 100,
      masks: false,
      system: 'tryton',
    });
    await place.sent('tasks', {id: 2, name: 'Meanwhile'});
    await place.round();
    expect((await run('hooks', 'list')).stdout).toMatch(
      inSequence(
        /│ erp +│ erp\.example\.com │ tasks: name +│ never +│ 1 +│ has no address │[\s\S]*/m,
        /^erp waits for its address: fieldmirror hooks add erp --url URL$/,
      ),
    );
    expect(await listSealingKeys(place.pool)).toEqual([]);
    expect(await run('installation', 'reseal')).toMatchObject({code: 0});
    // An hour passes, and back again: an entry is found by its moment.
    const pass = (by: string) =>
      place.pool.query(
        `UPDATE sync.feed_hooks SET due_at = due_at - interval '${by}'; UPDATE sync.feed_entries
          SET at = at - interval '${by}'`,
      );
    await pass('1 hour');
    expect(
      findFailingHooks(
        await listHooks(place.pool),
        {workers: [], keyIds: []},
        new Date().toISOString(),
      ),
    ).toMatchObject([
      {
        text: expect.stringContaining('waits for its address'),
        next: 'fieldmirror hooks add erp --url URL',
      },
    ]);
    await pass('-1 hour');

    const waiting = await place.hook('erp');
    for (const after of [[], ['--after', 'end'], ['--letter', '1']])
      expect(await run('hooks', 'retry', 'erp', ...after)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(
          /^subscriber erp waits for its address, .*: fieldmirror hooks add erp --url URL\n/,
        ),
      });
    expect(await place.hook('erp')).toEqual(waiting);

    const both = await run(
      'hooks',
      'add',
      'erp',
      '--url',
      `${place.http.url}/s3cret`,
      ...['--table', 'jobs', '--column', 'name'],
    );
    expect(both).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/address of erp alone.*got --table, --column; change the file/),
    });
    const added = await run('hooks', 'add', 'erp', '--url', `${place.http.url}/s3cret`, '--json');
    expect(added, added.stderr).toMatchObject({code: 0});
    expect(JSON.parse(added.stdout).secret).toMatch(/^whsec_/);
    await place.round();
    expect(messages().map(({names}) => names)).toEqual([['Meanwhile']]);
    expect(await place.hook('erp')).toMatchObject({tables: ['tasks'], leavesOut: ['http: erp']});
    expect(await run('hooks', 'add', 'erp', '--url', place.http.url)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is a subscriber erp already'),
    });

    const told = await run('config', 'export');
    expect(told.stdout).toMatch(/^hooks:\n {2}erp:\n {4}host: 127\.0\.0\.1:\d+\n/m);
    expect(told.stdout).not.toMatch(/s3cret|whsec/);
    expect(await run('config', 'plan', file, '--check')).toMatchObject({code: 0});
    const {inForce} = await compareSettings({account: null, timeZone: 'UTC'}, place.pool, file);
    const sourceOf = (name: string) =>
      inForce.find((each) => each.name === `hooks / erp / ${name}`)?.source;
    expect(['host', 'tables', 'limit'].map(sourceOf)).toEqual(['warehouse', 'file', 'file']);
  });

  test('is removed by remove: true', async () => {
    await place.addHook('erp');
    await place.addHook('bi');
    expect(await apply('erp: {remove: true}')).toMatchObject({code: 0});
    expect((await listHooks(place.pool)).map(({name}) => name)).toEqual(['bi']);
  });
});

test('changing the settings while a message fails loses no entry', async () => {
  await place.addHook('erp');
  place.http.manners = () => 422;
  await place.sent('tasks', {id: 1, name: 'Letter one'});
  await place.sent('tasks', {id: 2, name: 'Letter two'});
  await place.round();
  await skipBatch(place.pool, 'erp');
  await place.sent('tasks', {id: 3, name: 'Roof'});
  await place.sent('tasks', {id: 4, name: 'Wall'});
  await place.round();
  const cursor = (await place.hook('erp')).cursor;
  const changed = await apply('erp: {host: erp.example.com, limit: 1, account: acme}');
  expect(changed, changed.stderr).toMatchObject({code: 0});
  expect(await place.hook('erp')).toMatchObject({cursor, most: 1, account: 'acme', attempts: 1});
  place.http.manners = () => undefined;
  await place.pass();
  await place.round();
  const [, refused, ...taken] = messages();
  expect(taken.map(({names}) => names)).toEqual([['Roof'], ['Wall']]);
  expect(taken.map(({id}) => id)).not.toContain(refused?.id);
  expect(await run('hooks', 'retry', 'erp', '--letter', '1')).toMatchObject({code: 0});
  expect(messages().at(-1)?.names).toEqual(['Letter one', 'Letter two']);
});

describe('the file is refused, and no subscriber made, because of', () => {
  test.each([
    [
      'an address',
      'erp: {url: "https://erp.example.com/s3cret"}',
      /hooks \/ erp \/ url: there is no such key; an address .*hooks add NAME --url -/,
    ],
    [
      'an address for a host',
      'erp: {host: "https://erp.example.com/s3cret"}',
      /erp \/ host: expected the host of its address alone/,
    ],
    [
      'a subscriber without a host',
      'erp: {tables: [jobs]}',
      /hooks \/ erp \/ host: expected the host .*, got nothing/,
    ],
    [
      'an unknown table',
      'erp: {host: x.example.com, tables: [job]}',
      /tables \/ 0: expected one of .*, got "job"/,
    ],
    [
      'an unknown column',
      'erp: {host: x.example.com, tables: [tasks], columns: [phone_number]}',
      /columns: expected columns of tasks, got phone_number/,
    ],
    ['no table', 'erp: {host: x.example.com, tables: []}', /expected one table or more/],
    [
      'an unknown account',
      'erp: {host: x.example.com, account: acne}',
      /account: expected the name of an account, got acne \(did you mean acme\?\)/,
    ],
    ['a limit', 'erp: {host: x.example.com, limit: 1001}', /whole number, 1 to 1000, got 1001/],
    ['a name', '"a b": {host: x.example.com}', /expected a name of up to 50 letters/],
    [
      'an unknown API key',
      'erp: {host: x.example.com, leave_out: ["http:ero"]}',
      /leave_out: expected a login, .*, got http: ero \(did you mean http: erp\?\)/,
    ],
  ])('%s', async (_, hooks, words) => {
    await place.pool.query(
      `INSERT INTO sync.api_keys (name, key_hash, role, account_id)
        VALUES ('erp', sha256('made-up'), 'operator', ${place.accountId})`,
    );
    const ended = await apply(hooks);
    expect(ended).toMatchObject({code: 2, stderr: expect.stringMatching(words)});
    expect(ended.stderr).not.toContain('s3cret');
    expect(await listHooks(place.pool)).toEqual([]);
  });
});
