// The doors of the console: who is let in, how, and who is not.

import {request} from 'node:http';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {addApiKey, makeSignInCode, revokeApiKey} from '../../src/accounts/access.ts';
import {makePerson, openPlace, type Person, type Place} from './place.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place?.close());

describe('a person who is not signed in', () => {
  test('is redirected to the sign-in page, which keeps the page to return to', async () => {
    const stranger = makePerson(place.url);
    const {status, headers} = await stranger.get('/health?x=1');
    expect(status).toBe(303);
    expect(headers.get('location')).toBe('/sign-in?back=%2Fhealth%3Fx%3D1');
    const page = await stranger.get('/sign-in?back=%2Fhealth');
    expect(page.text).toContain('name="back" value="/health"');
    expect(page.text).toContain('fieldmirror keys add');
  });

  test('cannot send a form', async () => {
    const {status, text} = await makePerson(place.url).post('/accounts/acme/pause', {form: 'x'});
    expect(status).toBe(401);
    expect(text).toContain('signed out');
    const {rows} = await place.pool.query(`SELECT state FROM sync.accounts WHERE name = 'acme'`);
    expect(rows).toEqual([{state: 'active'}]);
  });

  test('gets no event stream', async () => {
    expect((await makePerson(place.url).get('/live?of=changes')).status).toBe(303);
  });

  test.each(['//evil.example', 'https://evil.example', '/\\evil.example', 'javascript:alert(1)'])(
    'is never redirected to another site: %s',
    async (back) => {
      const page = await makePerson(place.url).get(`/sign-in?back=${encodeURIComponent(back)}`);
      expect(page.text).toContain('name="back" value="/"');
    },
  );
});

describe('a key', () => {
  test('opens a session with a cookie; a wrong key answers 401', async () => {
    const person = makePerson(place.url);
    const page = await person.post('/sign-in', {key: 'fm_wrong'});
    expect(page.status).toBe(401);
    expect(page.text).toContain('This key opens nothing');
    const viewer = await place.person({role: 'viewer'});
    expect((await viewer.get('/health')).status).toBe(200);
    expect(viewer.cookies()).toMatch(/fieldmirror=fms_[\w-]{43}/);
  });

  test('that is wrong leads back to the page that was wanted', async () => {
    const person = makePerson(place.url);
    const page = await person.post('/sign-in', {key: 'fm_wrong', back: '/changes/5?account=acme'});
    expect(page.text).toContain('href="/sign-in?back=%2Fchanges%2F5%3Faccount%3Dacme"');
    const root = await person.post('/sign-in', {key: 'fm_wrong', back: '//evil.example'});
    expect(root.text).toContain('<a href="/sign-in">Try again</a>');
  });

  test('that is revoked ends its sessions at once', async () => {
    const person = await place.person();
    const {rows} = await place.pool.query(
      'SELECT name FROM sync.sessions ORDER BY session_id DESC LIMIT 1',
    );
    expect((await person.get('/health')).status).toBe(200);
    await revokeApiKey(place.pool, rows[0].name);
    expect((await person.get('/health')).status).toBe(303);
  });

  test('that is revoked closes its event streams; those of other keys stay open', async () => {
    const [person, other] = [await place.person(), await place.person()];
    const {rows} = await place.pool.query(
      'SELECT name FROM sync.sessions ORDER BY session_id DESC LIMIT 2',
    );
    const open = async ({cookies}: Person) =>
      await fetch(`${place.url}/live?of=changes`, {headers: {cookie: cookies()}});
    const [ending, staying] = [await open(person), await open(other)];
    await revokeApiKey(place.pool, rows[1].name);
    // It reads until the server ends the stream.
    expect(await ending.text()).toContain(': open');
    // The other one is told of what moves from then on, and so is open still.
    const told = staying.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; !text.includes('event: moved'); ) {
      await place.pool.query(`SELECT pg_notify('fieldmirror_pages', 'changes')`);
      const {value, done} = (await told?.read()) ?? {done: true};
      expect(done).toBe(false);
      text += value ?? '';
    }
    await told?.cancel();
  });

  test('opens a session whose cookie is in neither the sessions table nor the log', async () => {
    const person = await place.person();
    const cookie = /fms_[\w-]{43}/.exec(person.cookies())?.[0] ?? 'none';
    const {rows} = await place.pool.query('SELECT sessions::text AS row FROM sync.sessions');
    expect(JSON.stringify(rows)).not.toContain(cookie);
    expect(place.logged.join('')).not.toContain(cookie);
  });
});

/** The session that was opened last. */
async function lastSession(at = place): Promise<Record<string, unknown>> {
  const {rows} = await at.pool.query(
    `SELECT session_id, way_in, name, role, account_id, masks, ended_at IS NOT NULL AS is_over
       FROM sync.sessions ORDER BY session_id DESC LIMIT 1`,
  );
  return rows[0];
}

describe('a key from a form of another site', () => {
  test.each([
    ['of another origin', {origin: 'https://evil.example'}],
    ['that a browser calls cross-site', {'sec-fetch-site': 'cross-site'}],
  ])('%s does not sign in, although it is valid', async (what, headers) => {
    const given = {name: `crossing ${what.length}`, accountId: null, role: 'admin' as const};
    const key = (await addApiKey(place.pool, {...given, masks: false}))?.reveal() ?? '';
    const before = await lastSession();
    const person = makePerson(place.url);
    const page = await person.post('/sign-in', {key}, headers);
    expect(page.status).toBe(403);
    expect(page.headers.getSetCookie()).toEqual([]);
    expect(await lastSession()).toEqual(before);
    expect((await person.post('/sign-in', {key})).status).toBe(303);
  });
});

describe('signing out', () => {
  test.each([
    ['without the token of the session', {form: 'forged'}, {}],
    ['from another site', {}, {origin: 'https://evil.example'}],
  ])('%s is refused, and the session stays open', async (_what, fields, headers) => {
    const person = await place.person();
    const page = await person.post('/sign-out', fields, headers);
    expect(page.status).toBe(403);
    expect(page.headers.getSetCookie()).toEqual([]);
    expect((await person.get('/health')).status).toBe(200);
  });

  test('ends the session for every copy of its cookie', async () => {
    const person = await place.person();
    const headers = {cookie: person.cookies()};
    expect((await makePerson(place.url).get('/health', headers)).status).toBe(200);
    expect((await person.post('/sign-out')).status).toBe(303);
    expect((await makePerson(place.url).get('/health', headers)).status).toBe(303);
    expect(await lastSession()).toMatchObject({is_over: true});
  });

  test('deletes the cookie in the browser', async () => {
    const person = await place.person();
    const {headers} = await person.post('/sign-out');
    expect(headers.get('location')).toBe('/sign-in');
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^fieldmirror=; .*Expires=Thu, 01 Jan 1970/),
    ]);
    expect(person.cookies()).toBe('');
  });
});

test('an expired or signed-out session opens no page', async () => {
  const [one, other] = [await place.person(), await place.person()];
  await one.post('/sign-out');
  expect((await one.get('/health')).status).toBe(303);
  expect((await other.get('/health')).status).toBe(200);
  await place.pool.query(`UPDATE sync.sessions SET expires_at = now() WHERE ended_at IS NULL`);
  expect((await other.get('/health')).status).toBe(303);
});

test('a link signs in only once, and not after it has expired', async () => {
  const code = (await makeSignInCode(place.pool, 'viewer')).reveal();
  const [one, other] = [makePerson(place.url), makePerson(place.url)];
  const answers = await Promise.all(
    [one, other].map((person) => person.get(`/sign-in?code=${code}`)),
  );
  expect(answers.map(({status}) => status).sort()).toEqual([303, 401]);
  const late = (await makeSignInCode(place.pool, 'viewer')).reveal();
  await place.pool.query('UPDATE sync.sign_in_codes SET expires_at = now()');
  expect((await makePerson(place.url).get(`/sign-in?code=${late}`)).text).toContain(
    'has expired or was already used',
  );
});

test('a sign-in link gives access to all accounts, with nothing masked', async () => {
  const code = (await makeSignInCode(place.pool, 'operator')).reveal();
  const person = makePerson(place.url);
  await person.get(`/sign-in?code=${code}`);
  expect(await lastSession()).toMatchObject({
    way_in: 'link',
    role: 'operator',
    account_id: null,
    masks: false,
  });
  expect((await person.get('/records/customers/1?account=acme')).text).toContain('Acme');
});

test('a redirect from the overview to the sign-in page names no page to return to', async () => {
  const {headers} = await makePerson(place.url).get('/');
  expect(headers.get('location')).toBe('/sign-in');
});

describe('a form', () => {
  const pause = '/accounts/acme/pause';

  test.each([
    ['without the token of its session', {form: 'forged'}, {}],
    ['of another origin', {}, {origin: 'https://evil.example'}],
    ['of an origin that hides', {}, {origin: 'null'}],
    ['that a browser calls cross-site', {}, {'sec-fetch-site': 'cross-site'}],
  ])('%s is refused and changes nothing', async (_what, fields, headers) => {
    const person = await place.person();
    expect((await person.post(pause, fields, headers)).status).toBe(403);
    const {rows} = await place.pool.query(`SELECT FROM sync.audit`);
    expect(rows).toEqual([]);
  });

  test('of a role without the right is refused, and nothing is written', async () => {
    const viewer = await place.person({role: 'viewer'});
    const {status, text} = await viewer.post(pause);
    expect(status).toBe(403);
    expect(text).toContain('It takes the role operator, and yours is viewer');
    expect((await place.pool.query(`SELECT FROM sync.audit`)).rows).toEqual([]);
  });

  test('for an account that its sender may not see answers 404', async () => {
    expect((await (await place.person()).post('/accounts/other/pause')).status).toBe(404);
  });

  test('is recorded in the audit with role, address, action, before and after', async () => {
    const person = await place.person();
    const page = await person.post(pause, {reason: 'holidays'});
    expect(page.status).toBe(303);
    expect((await person.get('/health')).text).toContain('Account acme is paused');
    expect((await person.get('/health')).text).not.toContain('Account acme is paused');
    const {rows} = await place.pool.query('SELECT * FROM sync.audit ORDER BY audit_id');
    expect(rows).toMatchObject([
      {
        role: 'operator',
        address: '127.0.0.1',
        action: 'accounts.pause',
        subject: 'account acme',
        before: {state: 'active'},
        after: {state: 'paused', reason: 'holidays'},
      },
    ]);
  });
});

test.each(['evil.example', 'evil.example:8086', '10.0.0.1'])(
  'an unknown host name is refused: %s',
  async (host) => {
    const {port} = new URL(place.url);
    for (const path of ['/sign-in', '/', '/metrics', '/readyz', '/nothing']) {
      const status = await new Promise((resolve, reject) => {
        request({host: '127.0.0.1', port, path, headers: {host}}, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        })
          .on('error', reject)
          .end();
      });
      expect(status, path).toBe(421);
    }
  },
);

test('the content security policy of a page allows nothing from other sites', async () => {
  const {headers} = await (await place.person()).get('/health');
  expect(headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'self';/,
  );
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(headers.get('content-security-policy')).not.toContain('unsafe');
  expect(headers.get('cache-control')).toBe('no-store');
});

test('an address that tries wrong keys is rate limited', async () => {
  const guest = makePerson(place.url);
  const statuses = [];
  for (let at = 0; at < 12; at++)
    statuses.push((await guest.post('/sign-in', {key: 'fm_x'})).status);
  expect(statuses.at(-1)).toBe(429);
});

test('wrong links are limited together only if their first eight characters match', async () => {
  const guest = makePerson(place.url);
  const tryCode = async (code: string) => (await guest.get(`/sign-in?code=${code}`)).status;
  const statuses = [];
  // They share eight letters, and count together.
  for (let at = 0; at < 11; at++) statuses.push(await tryCode(`fmc_abcd${at}`));
  expect(statuses).toEqual([...Array(10).fill(401), 429]);
  expect(await tryCode('fmc_abcX')).toBe(401);
});

test('wrong keys are limited together only if their first eight characters match', async () => {
  const guest = makePerson(place.url);
  const tryKey = async (key: string) => (await guest.post('/sign-in', {key})).status;
  const statuses = [];
  for (let at = 0; at < 11; at++) statuses.push(await tryKey(`fm_abcde${at}`));
  expect(statuses).toEqual([...Array(10).fill(401), 429]);
  expect(await tryKey('fm_abcdX')).toBe(401);
});

describe('behind a proxy that signs people in', () => {
  let proxied: Place;
  beforeAll(async () => {
    const proxy = {addresses: ['127.0.0.1'], nameHeader: 'x-user', roleHeader: 'x-role'};
    proxied = await openPlace({proxy, publicUrl: new URL('https://mirror.example.com')});
  });
  afterAll(() => proxied?.close());

  test('proxy headers set name and role; the cookie is HttpOnly, Secure and Strict', async () => {
    const person = makePerson(proxied.url);
    const page = await person.get('/health', {'x-user': 'dana', 'x-role': 'viewer'});
    expect(page.text).toContain('dana, viewer');
    expect(page.headers.getSetCookie()[0]).toMatch(/HttpOnly; Secure; SameSite=Strict/);
  });

  test('another name gets a separate session; a request without headers gets none', async () => {
    const person = makePerson(proxied.url);
    await person.get('/health', {'x-user': 'dana', 'x-role': 'admin'});
    const page = await person.get('/health', {'x-user': 'eve', 'x-role': 'viewer'});
    expect(page.text).toContain('eve, viewer');
    expect((await person.get('/health')).status).toBe(303);
  });

  test('a session ends if the name or the role in the headers changes', async () => {
    const person = makePerson(proxied.url);
    const as = async (name: string, role: string) =>
      (await person.get('/health', {'x-user': name, 'x-role': role})).text;
    expect(await as('lee', 'admin')).toContain('lee, admin');
    expect(await as('lee', 'viewer')).toContain('lee, viewer');
    expect(await as('max', 'viewer')).toContain('max, viewer');
    expect(await lastSession(proxied)).toMatchObject({
      way_in: 'proxy',
      name: 'max',
      role: 'viewer',
      account_id: null,
      masks: false,
    });
  });

  test.each([
    ['no name', {'x-role': 'viewer'}, 303],
    ['an empty name', {'x-user': '', 'x-role': 'viewer'}, 303],
    ['a name of 200 letters', {'x-user': 'n'.repeat(200), 'x-role': 'viewer'}, 200],
    ['a name of 201 letters', {'x-user': 'n'.repeat(201), 'x-role': 'viewer'}, 303],
    ['no role', {'x-user': 'dana'}, 303],
  ])('%s (%j) answers %i', async (_what, headers: Record<string, string>, status) => {
    expect((await makePerson(proxied.url).get('/health', headers)).status).toBe(status);
  });

  test('headers from an address other than the proxy are ignored', async () => {
    const proxy = {addresses: ['10.9.8.7'], nameHeader: 'x-user', roleHeader: 'x-role'};
    const other = await openPlace({proxy});
    const headers = {'x-user': 'dana', 'x-role': 'admin'};
    expect((await makePerson(other.url).get('/health', headers)).status).toBe(303);
    expect((await other.pool.query('SELECT FROM sync.sessions')).rows).toEqual([]);
    await other.close();
  });

  test('a form is accepted from the public URL, and not from another origin', async () => {
    const person = makePerson(proxied.url);
    const headers = {'x-user': 'kim', 'x-role': 'operator'};
    const page = await person.get('/health', headers);
    const form = / name="form" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const send = (origin: string) =>
      person.post('/accounts/acme/pause', {form}, {...headers, origin});
    expect((await send('https://evil.example')).status).toBe(403);
    expect((await send('https://mirror.example.com')).status).toBe(303);
  });

  test('wrong keys are limited by the client address that the proxy forwards', async () => {
    const tryAs = async (address: string) =>
      (await makePerson(proxied.url).post('/sign-in', {key: 'fm_x'}, {'x-forwarded-for': address}))
        .status;
    for (let at = 0; at < 10; at++) await tryAs('203.0.113.5');
    expect([await tryAs('203.0.113.5'), await tryAs('203.0.113.6')]).toEqual([429, 401]);
  });

  test('an unknown role does not sign in', async () => {
    const {status} = await makePerson(proxied.url).get('/health', {
      'x-user': 'dana',
      'x-role': 'owner',
    });
    expect(status).toBe(303);
  });

  test('without a proxy, the headers are ignored', async () => {
    const {status} = await makePerson(place.url).get('/health', {
      'x-forwarded-user': 'dana',
      'x-forwarded-role': 'admin',
    });
    expect(status).toBe(303);
  });
});
