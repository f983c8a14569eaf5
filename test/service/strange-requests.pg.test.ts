// Every address of the reference service is asked with strange numbers, filters and bodies: it
// refuses in words, and never answers with an error of its own. Addresses and fields come from its
// own tables, so that a new one is tried without a line here.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {escapeXml} from '../../src/core/text.ts';
import * as resources from '../../src/service/resource.ts';
import {routes} from '../../src/service/server.ts';
import {openSandbox, type Sandbox} from './sandbox.ts';

const values: readonly (readonly [string, string])[] = [
  ['nothing', ''],
  ['a blank', ' '],
  ['a word', 'a'],
  ['the year 0', '0000-01-01T00:00:00Z'],
  ['a day that is none', '2026-02-30T10:00:00Z'],
  ['a day far ahead', '9999-12-31T23:59:59Z'],
  ['beyond any clock', '+275760-09-13T00:00:00Z'],
  ['a day as people write it', '13/45/2026 25:61 XM'],
  ['zero', '0'],
  ['a number beyond integer', '2147483648'],
  ['a number beyond bigint', '99999999999999999999'],
  ['a negative number', '-1'],
  ['a fraction', '1.5e3'],
  ['a number that overflows', '1e400'],
  ['not a number', 'NaN'],
  ['quotes', `'"\\;--`],
  ['braces', '{"a":[1]}'],
  ['a letter beyond the first plane', '𝒳'],
  ['a long text', 'x'.repeat(70_000)],
];

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox.close());

const all = Object.values(resources).filter((each) => typeof each === 'object' && 'table' in each);

/** The kind of record that an address is about. */
function resourceOf(path: string) {
  const name = path
    .replace(/\.xml$/, '')
    .split('/')
    .findLast((part) => part !== '' && !part.startsWith(':'));
  const found = all.find(({table}) => table === name);
  if (found === undefined) throw new Error(`${path}: of no resource`);
  return found;
}

const fill = (path: string, value: string) =>
  path.replaceAll(/:\w+/g, encodeURIComponent(value) || '%20');

const faults: string[] = [];
async function ask(
  method: string,
  path: string,
  call: Parameters<Sandbox['call']>[2] = {},
): Promise<number> {
  const {status} = await sandbox.call(method, path, call);
  // A caller that is let in no more tries nothing.
  if (status >= 500 || status === 401)
    faults.push(
      `${method} ${path.slice(0, 120)} ${String(call.body ?? '').slice(0, 200)}: ${status}`,
    );
  return status;
}

const known = new Map<string, Promise<string>>();

/** The address with the numbers of records that are there. */
function existing(path: string): Promise<string> {
  const held = known.get(path) ?? findExisting(path);
  known.set(path, held);
  return held;
}

async function findExisting(path: string): Promise<string> {
  let address = path;
  for (let at = address.indexOf('/:'); at !== -1; at = address.indexOf('/:')) {
    const list = `${address.slice(0, at)}.xml`;
    const {root} = await sandbox.get(list);
    const name = /^\/:(\w+)/.exec(address.slice(at))?.[1] ?? '';
    const key = resourceOf(list).key;
    // The first employee is the one who asks, and a strange change could shut them out.
    const number = root.elements.at(-1)?.elements.find((field) => field.name === key)?.text ?? '1';
    address = address.replace(`:${name}`, number);
  }
  return address;
}

/** Names by which lists are filtered, among others that are ignored. */
const isFilter = (name: string) => /name|number|^scheduled|_id$|city/.test(name);

const bodied = routes.filter(({method}) => method === 'POST' || method === 'PUT');

test('the routes to test have writable fields, and their records exist', async () => {
  expect(bodied.length).toBeGreaterThan(8);
  for (const {path} of bodied) expect(resourceOf(path).writable.size, path).toBeGreaterThan(0);
  for (const {method, path} of routes.filter(({path}) => path.includes(':'))) {
    if (method === 'DELETE') continue;
    const body = method === 'GET' ? {} : {body: `<${resourceOf(path).element}/>`};
    expect(await ask(method, await existing(path), body), `${method} ${path}`).not.toBe(404);
  }
});

describe.each(values)('a request with %s', (_what, value) => {
  test('as a record number or a filter causes no server error', async () => {
    faults.length = 0;
    for (const {method, path} of routes) {
      if (path.includes(':') && value.length < 1_000) await ask(method, fill(path, value));
      if (method !== 'GET') continue;
      const short = encodeURIComponent(value.slice(0, 200));
      const fields = resourceOf(path).fields.map(({name}) => name);
      const query = fields.map((name) => `${name}=${short.slice(0, 90)}`).join('&');
      await ask(method, `${await existing(path)}?${query}`);
      for (const name of [
        'page',
        'only',
        'include',
        'state',
        'completed',
        ...fields.filter(isFilter),
      ])
        await ask(method, `${await existing(path)}?${name}=${short}`);
    }
    expect(faults).toEqual([]);
  });

  test('in each field of a body causes no server error', async () => {
    faults.length = 0;
    for (const {method, path} of bodied) {
      const {element, writable, fields} = resourceOf(path);
      const address = await existing(path);
      const write = (name: string) => `<${name}>${escapeXml(value)}</${name}>`;
      for (const name of writable)
        await ask(method, address, {body: `<${element}><name>A</name>${write(name)}</${element}>`});
      const others = fields.filter(({name}) => !writable.has(name)).map(({name}) => write(name));
      const short = value.length > 1_000 ? others.slice(0, 5) : others;
      await ask(method, address, {body: `<${element}>${short.join('')}</${element}>`});
    }
    expect(faults).toEqual([]);
  });
});

const types = [
  ...['integer', 'decimal', 'float', 'boolean', 'datetime'],
  ...['date', 'array', 'file', 'symbol'],
];

/**
 * Bodies that are strange as a whole; `x` stands for the element of the address, `f` for one of its
 * fields.
 */
const bodies: readonly (readonly [string, (x: string, f: string) => string | Buffer])[] = [
  ['empty', () => ''],
  ['blank', () => ' \n'],
  ['no XML', () => 'name=A'],
  ['JSON', (x, f) => JSON.stringify({[x]: {[f]: 1}})],
  ['another root', (_x, f) => `<other><${f}>1</${f}></other>`],
  ['a list for a record', (x, f) => `<${x}s type="array"><${x}><${f}>1</${f}></${x}></${x}s>`],
  ['cut', (x, f) => `<${x}><${f}>1</${f}>`],
  ['two roots', (x) => `<${x}/><${x}/>`],
  ['an empty record', (x) => `<${x}/>`],
  ['a field twice', (x, f) => `<${x}><${f}>1</${f}><${f}>2</${f}></${x}>`],
  ['elements in a field', (x, f) => `<${x}><${f}><a><b>1</b></a></${f}></${x}>`],
  ['a list in a field', (x, f) => `<${x}><${f} type="array"><${f}>1</${f}><a/></${f}></${x}>`],
  ['nil', (x, f) => `<${x}><${f} nil="true"/></${x}>`],
  ['nil with a text', (x, f) => `<${x}><${f} nil="true">1</${f}></${x}>`],
  ['a strange type', (x, f) => `<${x}><${f} type="yaml">--- !ruby</${f}></${x}>`],
  [
    'every type',
    (x, f) => `<${x}>${types.map((type) => `<${f} type="${type}">zz</${f}>`).join('')}</${x}>`,
  ],
  ['text beside elements', (x, f) => `<${x}>text<${f}>1</${f}>text</${x}>`],
  ['a comment and CDATA', (x, f) => `<${x}><!-- a --><${f}><![CDATA[<b>&]]></${f}></${x}>`],
  ['an unknown entity', (x, f) => `<${x}><${f}>&nope;</${f}></${x}>`],
  [
    'a DOCTYPE',
    (x, f) => `<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><${x}><${f}>&e;</${f}></${x}>`,
  ],
  ['control characters', (x, f) => `<${x}><${f}>a&#1;\u0002b</${f}></${x}>`],
  ['U+0000', (x, f) => `<${x}><${f}>a\0b&#0;</${f}></${x}>`],
  [
    'half a character',
    (x, f) =>
      Buffer.concat([
        Buffer.from(`<${x}><${f}>a`),
        Buffer.from([0xed, 0xa0, 0x80, 0xff]),
        Buffer.from(`</${f}></${x}>`),
      ]),
  ],
  [
    'UTF-16 that says nothing',
    (x, f) => Buffer.from(`\ufeff<${x}><${f}>1</${f}></${x}>`, 'utf16le'),
  ],
  ['depth', (x) => `<${x}>${'<a>'.repeat(5_000)}${'</a>'.repeat(5_000)}</${x}>`],
  [
    'many fields',
    (x) => `<${x}>${Array.from({length: 20_000}, (_, at) => `<f${at}>1</f${at}>`).join('')}</${x}>`,
  ],
  [
    'a name of the prototype',
    (x) => `<${x}><__proto__>1</__proto__><constructor>1</constructor><to-string/></${x}>`,
  ],
  ['more than a megabyte', (x, f) => `<${x}><${f}>${'x'.repeat(1_100_000)}</${f}></${x}>`],
];

test.each(bodies)('a body that is %s causes no server error', async (_what, write) => {
  faults.length = 0;
  for (const {method, path} of bodied) {
    const {element, writable} = resourceOf(path);
    const address = await existing(path);
    // Many a body is the same whatever the field.
    for (const body of new Set([...writable].slice(0, 4).map((name) => write(element, name))))
      await ask(method, address, {body});
    for (const type of [
      'application/json',
      'text/xml; charset=utf-7',
      'application/x-www-form-urlencoded',
    ])
      await ask(method, address, {body: write(element, 'name'), headers: {'content-type': type}});
  }
  expect(faults).toEqual([]);
});
