// The verb `quarantine`, as a user calls it.

import {afterEach, beforeEach, expect, inject, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {createDatabase} from '../support/postgres.ts';
import {job, list, scriptService} from '../support/scripted-service.ts';
import {timeZone} from '../support/world.ts';

const bad = job(
  2,
  '<subtotal type="decimal">a lot</subtotal><api-token>canary</api-token>' +
    '<po-number>\u009b31m\u202e</po-number>',
);
const unnumbered = '<job><name>Job without a number</name></job>';
const closers: (() => Promise<void>)[] = [];
let env: Readonly<Record<string, string>>;
/** The records of the service, by number. */
const shown = new Map<string, string>();

beforeEach(async () => {
  shown.clear();
  for (const [number, record] of [
    ['1', job(1)],
    ['2', bad],
    ['', unnumbered],
  ] as const)
    shown.set(number, record);
  const service = await scriptService((request, response) => {
    const [, number = ''] = /^\/jobs\/(\d+)\.xml/.exec(request.url ?? '') ?? [];
    const record = number === '' ? undefined : shown.get(number);
    if (record !== undefined) response.end(`<?xml version="1.0" encoding="UTF-8"?>\n${record}`);
    else if (request.url?.startsWith('/jobs.xml') === true && request.page === 1)
      response.end(list('jobs', [...shown.values()]));
    else return false;
    return true;
  });
  const database = await createDatabase(inject('warehouseTemplate'));
  closers.push(service.close, database.drop);
  env = {
    FIELDMIRROR_API_URL: service.url,
    FIELDMIRROR_API_TOKEN: service.token,
    FIELDMIRROR_TIME_ZONE: timeZone,
    DATABASE_URL: database.url,
  };
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function run(...args: string[]) {
  const ended = await runCommand([...args, '--json'], env);
  return {code: ended.code, json: JSON.parse(ended.stdout)};
}

test('a record that cannot be read is listed, shown, retried, and resolved once read', async () => {
  expect((await run('sync', 'jobs')).code).toBe(1);
  const listed = (await run('quarantine', 'list', 'jobs')).json.quarantine;
  expect(listed).toHaveLength(2);
  for (const [number, words] of [
    [null, 'job_number'],
    ['2', 'subtotal'],
  ])
    expect(listed).toContainEqual(
      expect.objectContaining({
        stream: 'jobs',
        number,
        reason: expect.stringContaining(words ?? ''),
      }),
    );
  const ids = new Map<string | null, string>(
    listed.map((entry: {number: string | null; quarantineId: string}) => [
      entry.number,
      entry.quarantineId,
    ]),
  );
  const entry = ids.get('2') ?? '';
  const {stdout} = await runCommand(['quarantine', 'show', entry], env);
  expect(stdout).toContain('; see: fieldmirror explain A10\n');
  expect(stdout).toContain('<subtotal type="decimal">a lot</subtotal>');
  expect(stdout).not.toContain('canary');
  expect(stdout).toContain('<po-number>\\u009b31m\\u202e</po-number>');
  expect((await runCommand(['quarantine', 'list'], env)).stdout).toMatch(
    /jobs 2[\s\S]*subtotal[\s\S]*see: fieldmirror explain A10\n$/,
  );
  expect((await run('status')).json.problems).toContainEqual(
    expect.objectContaining({
      kind: 'quarantine',
      text: expect.stringContaining('2 records in quarantine'),
    }),
  );

  expect(await run('quarantine', 'retry', entry)).toMatchObject({
    code: 1,
    json: {
      retried: [
        {quarantineId: entry, outcome: 'still-bad', reason: expect.stringContaining('subtotal')},
      ],
    },
  });
  expect(await runCommand(['quarantine', 'retry', ids.get(null) ?? ''], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('fieldmirror sync jobs reads the whole list'),
  });
  shown.set('2', job(2));
  expect(await run('quarantine', 'retry', entry)).toMatchObject({
    code: 0,
    json: {retried: [{outcome: 'read'}]},
  });
  shown.delete('');
  expect((await run('sync', 'jobs')).code).toBe(0);
  expect((await run('quarantine', 'list')).json.quarantine).toEqual([]);
  expect((await run('status')).code).toBe(0);
});

test('quarantine retry succeeds for a record that the service no longer has', async () => {
  await run('sync', 'jobs');
  const [entry] = (await run('quarantine', 'list')).json.quarantine.filter(
    ({number}: {number: string | null}) => number === '2',
  );
  shown.delete('2');
  expect(await run('quarantine', 'retry', entry.quarantineId)).toMatchObject({
    code: 0,
    json: {retried: [{outcome: 'gone', reason: 'the service said 400 "Invalid job."'}]},
  });
});

test.each([
  [['show', '999'], /no entry "999"; fieldmirror quarantine list/],
  [['retry', 'x'], /no entry "x"/],
  [['list', 'job'], /no stream "job" \(did you mean jobs\?\)/],
])('quarantine %j is refused with exit code 2', async (args, words) => {
  expect(await runCommand(['quarantine', ...args], env)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(words),
  });
});
