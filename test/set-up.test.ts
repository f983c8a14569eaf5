// A set-up whose step fails leaves nothing running, and names the step.

import {expect, test} from 'vitest';
import {SetUp} from './support/set-up.ts';

/** A set-up of named things, and the events of each. */
function open({endMs}: {readonly endMs?: number} = {}) {
  const setUp = new SetUp(endMs);
  const happened: string[] = [];
  const begin = (name: string) =>
    setUp.step(
      `beginning ${name}`,
      async () => happened.push(`${name} begins`),
      async () => happened.push(`${name} ends`),
    );
  return {setUp, happened, begin};
}

test('steps are ended once, in reverse order', async () => {
  const {setUp, happened, begin} = open();
  for (const name of ['a', 'b', 'c']) await begin(name);
  await setUp.end();
  await setUp.end();
  expect(happened).toEqual(['a begins', 'b begins', 'c begins', 'c ends', 'b ends', 'a ends']);
});

test('a failed step ends all earlier steps, and the error names it', async () => {
  const {setUp, happened, begin} = open();
  await begin('a');
  await begin('b');
  const cause = new Error('no room');
  const failing = setUp.step('making c', () => Promise.reject(cause));
  await expect(failing).rejects.toMatchObject({message: 'making c: no room', cause});
  expect(happened).toEqual(['a begins', 'b begins', 'b ends', 'a ends']);
});

test('a step that cannot be ended is reported, and all others are ended', async () => {
  const {setUp, happened, begin} = open();
  await begin('a');
  await setUp.step(
    'b',
    async () => {},
    () => Promise.reject(new Error('b is busy')),
  );
  await begin('c');
  await expect(setUp.end()).rejects.toThrow('ending what was begun: b is busy');
  expect(happened.slice(2)).toEqual(['c ends', 'a ends']);
});

test('a step whose end hangs is reported after a timeout, and all others are ended', async () => {
  const {setUp, happened, begin} = open({endMs: 20});
  await begin('a');
  await setUp.step(
    'starting b',
    async () => {},
    () => new Promise(() => {}),
  );
  await expect(setUp.end()).rejects.toThrow(
    'starting b: its end was waited for in vain for 0.02 s',
  );
  expect(happened.slice(1)).toEqual(['a ends']);
});

test('the error reports a failed step before a step that could not be ended', async () => {
  const {setUp} = open();
  await setUp.step(
    'a',
    async () => {},
    () => Promise.reject(new Error('a is busy')),
  );
  const failing = setUp.step('making b', () => Promise.reject(new Error('no room')));
  await expect(failing).rejects.toThrow('making b: no room\nending what was begun: a is busy');
});
