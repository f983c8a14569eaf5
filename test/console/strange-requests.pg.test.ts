// Every address of the server is asked with every strange value: none answers with an error of
// ours. The addresses come from the server itself, so that a new one is tried without a line here.

import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest';
import {z} from 'zod';
import {addApiKey} from '../../src/accounts/access.ts';
import {actions} from '../../src/console/server.ts';
import {UsageError} from '../../src/core/errors.ts';
import {plainConsole} from '../support/plain-console.ts';
import {makePerson, openPlace, type Person, type Place} from './place.ts';

const consoleFolder = join(import.meta.dirname, '..', '..', 'src', 'console');

/** Every name by which code of the console reads a part of an address, or draws a field. */
function namesInSource(): string[] {
  const read = new RegExp(
    [
      /\bquery\.(\w+)/,
      /\bquery\[['"]([\w-]+)['"]\]/,
      /\bname="([\w-]+)"/,
      /readFields\([^)]*\)\.(\w+)/,
      /\bdrawChoice\('([\w-]+)'/,
    ]
      .map(({source}) => source)
      .join('|'),
    'g',
  );
  return readdirSync(consoleFolder, {recursive: true, encoding: 'utf8'})
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => [...readFileSync(join(consoleFolder, path), 'utf8').matchAll(read)])
    .flatMap((match) => match.slice(1).filter((name) => name !== undefined));
}

/** The fields of each form of the console, by its schema. */
const namesInForms = actions.flatMap(({form}) => {
  const {properties = {}} = z.toJSONSchema(form, {io: 'input', unrepresentable: 'any'});
  return Object.keys(properties);
});

/** Names that code takes out of an address in another way. */
const others = ['back', 'code', 'key', 'of', 'since', 'tick', 'clock', 'form', 'as', 'account'];

const names = [...new Set([...namesInSource(), ...namesInForms, ...others])];
const values: readonly (readonly [string, string])[] = [
  ['nothing', ''],
  ['a word', 'a'],
  ['the year 0', '0000-01-01'],
  ['a day that is none', '2026-02-30'],
  ['a day of long ago', '0001-01-01'],
  ['a day far ahead', '9999-12-31'],
  ['an instant beyond any clock', '+275760-09-13T00:00:00Z'],
  ['a number beyond bigint', '99999999999999999999'],
  ['a negative number', '-1'],
  ['a fraction', '1.5e3'],
  ['not a number', 'NaN'],
  ['quotes', `'"\\;--`],
  ['half a character', '%ED%A0%80'],
  ['another host', '/.//evil.example'],
  ['a long text', 'x'.repeat(200)],
];

let place: Place;
let admin: Person;
let bearer: string;
beforeAll(async () => {
  const {services} = plainConsole();
  const refuse = async () => {
    throw new UsageError('this test asks no service');
  };
  place = await openPlace({
    services: {
      ...services,
      testRule: refuse,
      sendLetter: refuse,
      checkAccount: refuse,
      tryAccount: refuse,
      planRule: refuse,
    },
  });
  admin = await place.person({role: 'admin'});
  const key = await addApiKey(place.pool, {
    name: 'erp',
    accountId: place.account.accountId,
    role: 'operator',
    masks: false,
  });
  bearer = key?.reveal() ?? '';
});
afterAll(() => place?.close());

/** Signing out would end the session that tries the others. */
const endsSession = (path: string) => path === '/sign-out';

const pathsOf = (method: string) =>
  place.routes
    .filter((route) => route.method === method && !route.path.includes('*'))
    .map(({path}) => path)
    .filter((path, at, all) => all.indexOf(path) === at);

const fill = (path: string, value: string) =>
  path.replaceAll(/:\w+/g, encodeURIComponent(value) || '1');

/** Asks, and lets go of an answer that has no end. @returns the status, and where it leads */
async function ask(path: string, person: Person | null, init: RequestInit = {}) {
  const control = new AbortController();
  const answer = await fetch(place.url + path, {
    ...init,
    redirect: 'manual',
    signal: control.signal,
    headers: {...(person === null ? {} : {cookie: person.cookies()}), ...init.headers},
  });
  const location = answer.headers.get('location');
  if (answer.headers.get('content-type')?.includes('event-stream') !== true)
    await answer.arrayBuffer();
  control.abort();
  return {status: answer.status, location};
}

const faults: string[] = [];
/** Notes an answer that no request may get. */
function judge(what: string, {status, location}: Awaited<ReturnType<typeof ask>>): void {
  if (status >= 500 && status !== 503) faults.push(`${what}: ${status}`);
  if (location !== null && new URL(location, place.url).origin !== place.url)
    faults.push(`${what}: leads to ${location}`);
}

const listed = names.map((name) => `${name}[]=a`).join('&');

/** Every name twice, so that also what takes the last of two gets the value. */
function double(value: string): string {
  const encoded = value.includes('%') ? value : encodeURIComponent(value);
  const one = names.map((name) => `${name}=${encoded}`).join('&');
  return `${one}&${one}`;
}

const requests = [
  ...values.map(([what, value]) => ({what, value, query: double(value)})),
  {what: 'a list', value: 'a', query: listed},
];

// A caller that is let in no more tries nothing.
afterEach(async () => {
  expect((await ask('/health', admin)).status).toBe(200);
  const headers = {authorization: `Bearer ${bearer}`};
  expect((await ask('/v1/feed?after=end', null, {headers})).status).toBe(200);
});

describe.each(requests)('$what', ({value, query}) => {
  test('causes no server error at any GET route', async () => {
    faults.length = 0;
    for (const path of pathsOf('GET')) {
      const address = `${fill(path, value)}?${query}`;
      const what = `GET ${address.slice(0, 200)}`;
      judge(`stranger ${what}`, await ask(address, null));
      judge(`admin ${what}`, await ask(address, admin));
      if (!path.startsWith('/v1')) continue;
      judge(
        `key ${what}`,
        await ask(address, null, {headers: {authorization: `Bearer ${bearer}`}}),
      );
    }
    expect(faults).toEqual([]);
  });

  test('causes no server error in any field of any form', async () => {
    faults.length = 0;
    const form = / name="form" value="([^"]+)"/.exec((await admin.get('/health')).text)?.[1] ?? '';
    for (const path of pathsOf('POST').filter((each) => !endsSession(each))) {
      const isApi = path.startsWith('/v1');
      const init = {
        method: 'POST',
        body: isApi ? JSON.stringify([value]) : `${query}&form=${form}`,
        headers: {
          'content-type': isApi ? 'application/json' : 'application/x-www-form-urlencoded',
          ...(isApi ? {authorization: `Bearer ${bearer}`} : {}),
        },
      };
      judge(`stranger POST ${path}`, await ask(fill(path, value), null, init));
      judge(`admin POST ${path}`, await ask(fill(path, value), admin, init));
      judge(
        `admin POST ${path} without a body`,
        await ask(fill(path, value), admin, {method: 'POST'}),
      );
    }
    expect(faults).toEqual([]);
  });
});

test('the tested names include names of forms, of pages and of the API', () => {
  for (const name of [
    'receiver',
    'causes',
    'choice',
    'filters',
    'older',
    'batch',
    'as-of',
    'stream',
    'back',
  ])
    expect(names).toContain(name);
  expect(names.length).toBeGreaterThan(40);
});

test('every route refuses PUT, PATCH, DELETE and OPTIONS, whatever the body', async () => {
  faults.length = 0;
  const paths = new Set(place.routes.map(({path}) => path).filter((path) => !path.includes('*')));
  const bodies = ['', '{', '[]', '{"fields": {"__proto__": 1}}', '<job/>', 'x'.repeat(100_000)];
  for (const path of paths)
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      for (const body of bodies) {
        const headers = {'content-type': 'application/json', authorization: `Bearer ${bearer}`};
        const answer = await ask(fill(path, '1'), admin, {method, body, headers});
        judge(`${method} ${path} ${body.slice(0, 40)}`, answer);
        if (answer.status < 400) faults.push(`${method} ${path}: ${answer.status}`);
      }
  expect(faults).toEqual([]);
});

test('a sign-in with two codes answers 401, one with two return paths 200', async () => {
  const stranger = makePerson(place.url);
  expect((await stranger.get('/sign-in?code=a&code=b')).status).toBe(401);
  expect((await stranger.get('/sign-in?back=a&back=b')).status).toBe(200);
});

test('signing out without a form is refused', async () => {
  expect((await ask('/sign-out', admin, {method: 'POST'})).status).toBe(403);
});
