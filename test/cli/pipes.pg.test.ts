// The output of a verb reaches its reader whole, however slow the reader, and with the exit code of
// the verb.

import PQueue from 'p-queue';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type Ended, runCommand} from '../support/command.ts';
import {commandsOfTerminal} from '../support/commands-of-terminal.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {runIntoPipe} from '../support/slow-pipe.ts';
import {openVerbPlace, type VerbCase, type VerbPlace, verbCases} from './verb-cases.ts';

let place: VerbPlace;
let empty: TestDatabase;
let rehearsal: TestDatabase;
const ended = new Map<string, Ended>();

beforeAll(async () => {
  place = await openVerbPlace();
  empty = await createDatabase();
  rehearsal = await createDatabase();
  const entries = Object.entries(verbCases);
  for (const [verb, each] of entries) if (each.isFirst) ended.set(verb, await run(verb, each));
  await place.fill(4000);
  const rest = entries.filter(([, each]) => !each.isFirst);
  const runs = rest.map(
    ([verb, each]) =>
      async () =>
        ended.set(verb, await run(verb, each)),
  );
  await new PQueue({concurrency: 3}).addAll(runs);
}, 300_000);

async function run(verb: string, {args, stays}: VerbCase): Promise<Ended> {
  const databases: Readonly<Record<string, TestDatabase>> = {service: empty, rehearse: rehearsal};
  const {url} = databases[verb] ?? {};
  const own = url === undefined ? [] : ['--database', url];
  const pipe = stays === true ? {stopsAt: '}\n'} : {};
  return await runIntoPipe([...verb.split(' '), ...args, ...own, '--json'], place.env, pipe);
}

afterAll(async () => {
  await place.close();
  await empty.drop();
  await rehearsal.drop();
});

/** Verbs from the program's own help, those of a group with its name before them. */
async function listVerbs(group: readonly string[] = []): Promise<string[]> {
  const {stdout} = await runCommand([...group, '--help'], {});
  // The list ends at an empty line: variables follow, and an unknown name is answered with the help
  // of all.
  const [commands = ''] = (stdout.split('Commands:\n')[1] ?? '').split('\n\n');
  const names = [...commands.matchAll(/^ {2}(\w+)/gm)].map(([, name = '']) => name);
  const verbs = names.filter((name) => name !== 'help').map((name) => [...group, name]);
  if (verbs.length === 0) return [group.join(' ')];
  return (await Promise.all(verbs.map(listVerbs))).flat();
}

test('every verb of the program has a case in this test', async () => {
  expect((await listVerbs()).toSorted()).toEqual(Object.keys(verbCases).toSorted());
});

describe('--json through a slow pipe', () => {
  test.each(Object.entries(verbCases))(
    '%s prints one whole document and keeps its exit code',
    (verb, {code = 0, bytes = 0, isSilent = false}) => {
      const {stdout, stderr, ...held} = ended.get(verb) ?? {stdout: '', stderr: ''};
      expect(held, stderr.slice(0, 1_000)).toEqual({code});
      if (isSilent) expect(stdout).toBe('');
      else if (bytes > 0 || code !== 2) expect(JSON.parse(stdout)).toBeTypeOf('object');
      expect(stdout.length).toBeGreaterThanOrEqual(bytes);
      expect(stdout + stderr, 'what a terminal must not get').not.toMatch(commandsOfTerminal);
    },
  );
});

test('an error that repeats typed text escapes its control characters', async () => {
  const {code, stderr} = await runCommand(['status', '--account', 'a\u009b31m\u202eb'], place.env);
  expect(code).toBe(2);
  expect(stderr).toContain('a\\u009b31m\\u202eb');
  expect(stderr).not.toMatch(commandsOfTerminal);
});

test('a verb ends silently when its reader stops reading', async () => {
  const into = '| head -1';
  expect(await runIntoPipe(['changes', 'list', '--limit', '4000'], place.env, {into})).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^.+\n$/),
    stderr: '',
  });
});

test('start ends with 3 when its reader stops reading: a supervisor starts it again', async () => {
  const args = ['start', '--no-http'];
  expect(await runIntoPipe(args, place.env, {into: '2>&1 | head -1'})).toMatchObject({code: 3});
});

test('a verb fails with an error if its output cannot be written', async () => {
  expect(await runIntoPipe(['accounts', 'list'], place.env, {into: '> /dev/full'})).toEqual({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(
      /^standard output: expected it to take all.*got ENOSPC; make room/,
    ),
  });
});
