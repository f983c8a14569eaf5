// The documents at `/docs`: for whoever reaches the console, each link at its end.

import {posix} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {listDocuments} from '../../src/core/package.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place?.close());

const get = async (path: string) => {
  const answer = await fetch(place.url + path, {redirect: 'manual'});
  return {status: answer.status, text: await answer.text()};
};

test('each document is a page, and its links lead to existing pages and headings', async () => {
  const ids = new Map<string, ReadonlySet<string>>();
  const links: [string, string][] = [];
  for (const path of listDocuments()) {
    const {status, text} = await get(`/docs/${path}`);
    expect({path, status}).toEqual({path, status: 200});
    expect(text).toMatch(/<h1>[^<]+<\/h1>/);
    const anchors = new Set([...text.matchAll(/<h\d id="([^"]+)"/g)].map(([, id = '']) => id));
    ids.set(`/docs/${path}`, anchors);
    for (const [, href = ''] of text.matchAll(/<a href="((?:\/docs|#)[^"]*)"/g))
      links.push([`/docs/${path}`, href]);
  }
  expect(ids.size).toBeGreaterThan(50);
  const index = (await get('/docs')).text;
  expect([...ids.keys()].filter((path) => !index.includes(`href="${path}"`))).toEqual([
    '/docs/README',
  ]);
  ids.set('/docs', new Set([...index.matchAll(/<h\d id="([^"]+)"/g)].map(([, id = '']) => id)));
  const dead = links.filter(([from, href]) => {
    const [target = '', anchor] = (href.startsWith('#') ? from + href : href).split('#');
    const held = ids.get(target);
    return held === undefined || (anchor !== undefined && anchor !== '' && !held.has(anchor));
  });
  expect(dead).toEqual([]);
});

test('a link to a document shows its title, and a link to a folder opens its list', async () => {
  const {text} = await get('/docs');
  expect(text).toContain('<a href="/docs/insight">');
  expect(text).not.toMatch(/>[\w-]+\.md</);
  expect(text).toContain('<a href="/docs#decisions">decisions</a>');
  expect(text).toContain('<h2 id="decisions">Decisions</h2>');
});

test('a document has the console navigation only for people who are signed in', async () => {
  const sections = '<nav class="side"';
  const viewer = await place.person({role: 'viewer'});
  for (const path of ['/docs', '/docs/insight']) {
    expect((await viewer.get(path)).text).toContain(sections);
    expect((await get(path)).text).not.toContain(sections);
  }
  expect((await get('/docs/insight')).text).toContain('On this page');
});

describe('the search of documents', () => {
  const find = async (words: string) => {
    const {status, text} = await get(`/docs?q=${encodeURIComponent(words)}`);
    expect(status).toBe(200);
    return [...text.matchAll(/<li><a href="([^"]+)">([^<]+)<\/a>/g)].map(([, href, title]) => ({
      href: href ?? '',
      title: title ?? '',
    }));
  };

  test('finds a section by words in any order and by the start of a word', async () => {
    const section = {href: '/docs/matching#write-and-undo', title: expect.any(String)};
    expect(await find('undo write')).toContainEqual(section);
    expect((await find('E07'))[0]?.href).toBe('/docs/errors#e07-service');
    expect((await find('tombst')).length).toBeGreaterThan(0);
    expect(await find('ombstone')).toEqual([]);
  });

  test('links each hit to an existing heading', async () => {
    const hits = [...(await find('the')), ...(await find('fieldmirror')), ...(await find('key'))];
    expect(hits.length).toBeGreaterThan(40);
    for (const {href} of hits) {
      const [path = '', anchor] = href.split('#');
      const {text} = await get(path);
      if (anchor !== undefined) expect(text, href).toContain(`id="${anchor}"`);
    }
  });

  test.each(['(', '\\', '[a-', '<b>', '  ', 'x'.repeat(200), '.*', 'nowhereword'])(
    'treats %s as plain text and reports hits, or that nothing was found',
    async (words) => {
      const {status, text} = await get(`/docs?q=${encodeURIComponent(words)}`);
      expect(status).toBe(200);
      expect(text).not.toContain('<b>');
      expect(text).toMatch(/Nothing was found|found for|The first/);
    },
  );
});

test.each([
  ['E07', '/docs/errors', 'e07-service'],
  ['e07', '/docs/errors', 'e07-service'],
  ['A16', '/docs/alerts', 'a16-change-untaken'],
])('the code %s redirects to its section', async (code, path, anchor) => {
  const answer = await fetch(`${place.url}/docs/${code}`, {redirect: 'manual'});
  expect(answer.headers.get('location')).toBe(`${path}#${anchor}`);
  expect((await get(path)).text).toContain(`id="${anchor}"`);
});

test.each([
  'E99',
  'nothing',
  '..%2F..%2Fpackage.json',
  '..%2fREADME',
  'decisions',
  'errors.md',
  posix.join('site', 'main.ts'),
])('%s is not a document: the answer is 404 with a link to the documents', async (path) => {
  const {status, text} = await get(`/docs/${path}`);
  expect(status).toBe(404);
  expect(text).toContain('href="/docs"');
});

test('an error page links to the document of its code', async () => {
  const viewer = await place.person({role: 'viewer'});
  const refused = await viewer.get('/changes/999999');
  expect(refused.text).toContain('<a href="/docs/E23">E23</a>');
  expect((await viewer.get('/')).text).toMatch(/<a class="help" href="\/docs"[^>]*>Help</);
});
