import {afterAll, beforeAll, expect, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {type HookPlace, keyText, openHookPlace, readMessage} from './hooks-place.ts';

let place: HookPlace;
beforeAll(async () => {
  place = await openHookPlace();
});
afterAll(() => place?.close());

const hooks = (...args: string[]) =>
  runCommand(['hooks', ...args], {DATABASE_URL: place.url, FIELDMIRROR_KEY: keyText});

test('hooks can add, list and remove a subscriber, and skip and retry its batch', async () => {
  const added = await hooks(
    'add',
    'erp',
    '--url',
    `${place.http.url}/secret-path`,
    '--table',
    'tasks',
    '--json',
  );
  expect(added, added.stderr).toMatchObject({code: 0});
  const {secret, cursor} = JSON.parse(added.stdout);
  expect(secret).toMatch(/^whsec_/);
  expect(cursor).toBe(await place.end());
  expect(await hooks('skip', 'erp')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('got none'),
  });

  place.http.manners = () => 422;
  await place.sent('tasks', {id: 61, name: 'Call'});
  await place.round();
  const failing = await hooks('list');
  expect(failing.stdout).toMatch(
    /│ erp +│ 127\.0\.0\.1:\d+ +│ tasks +│ never +│ 1 +│ failing \(1\) +│/,
  );
  expect(failing.stdout).toContain('expected an answer of 2xx, got 422');
  expect(failing.stdout).not.toContain('secret-path');

  expect(await hooks('skip', 'erp')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('dead letter 1'),
  });
  expect((await hooks('list')).stdout).toMatch(/^dead letter 1 of erp, skipped .*422$/m);
  expect(await hooks('retry', 'erp', '--letter', '1')).toMatchObject({code: 3});
  place.http.manners = () => undefined;
  const late = await hooks('retry', 'erp', '--letter', '1');
  expect(late, late.stderr).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('took dead letter 1: 200'),
  });
  const messages = place.http.arrived.map(readMessage);
  expect(messages.map(({names}) => names)).toEqual([['Call'], ['Call'], ['Call']]);
  expect(new Set(messages.map(({id}) => id)).size).toBe(1);
  expect(await hooks('skip', 'erp', '--letter', '1')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no dead letter 1'),
  });
  const again = await hooks('retry', 'erp', '--after', cursor);
  expect(again, again.stderr).toMatchObject({code: 0});
  await place.round();
  expect(place.http.arrived.map(readMessage).at(-1)?.names).toEqual(['Call']);
  expect(await hooks('remove', 'erp')).toMatchObject({code: 0});
  expect((await hooks('list')).stdout).toMatch(/^no subscriber/);
});

test('hooks refuses invalid arguments with an error that explains them', async () => {
  const url = ['--url', 'https://erp.example.com/hook'];
  expect(await hooks('add', 'erp', '--url', 'http://erp.example.com/hook')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected https'),
  });
  expect(await hooks('add', 'erp', ...url, '--table', 'job')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('jobs'),
  });
  expect(await hooks('add', 'erp', ...url, '--table', 'jobs', '--column', 'nmae')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--column: no column "nmae" in jobs (did you mean name?)'),
  });
  expect(await hooks('add', 'erp', ...url, '--leave-out', 'http:nope')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no login and no key "http: nope"'),
  });
  expect(await hooks('add', 'erp', ...url, '--after', '000000000000-1')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the cursor "end" begins with what comes from now on'),
  });
  expect(await hooks('retry', 'nobody')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no subscriber "nobody"'),
  });
});
