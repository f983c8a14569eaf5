// Who may come in and what they may, decided without a database.

import type {FastifyRequest} from 'fastify';
import {describe, expect, test} from 'vitest';
import {
  checkForm,
  checkHost,
  checkOrigin,
  checkRole,
  checkTexts,
  makeNotFound,
  makeViewer,
  readFormFields,
  type Viewer,
} from '../../src/console/access.ts';
import {Attempts} from '../../src/console/sign-in.ts';
import {type Role, roles} from '../../src/core/names.ts';
import {listKnownNames} from '../../src/http/keys.ts';

function viewer(role: Role, cookie = 'fms_a'): Viewer {
  const session = {
    sessionId: '1',
    wayIn: 'key',
    apiKeyId: '1',
    name: 'erp',
    role,
    accountId: null,
    masks: false,
    address: '127.0.0.1',
    createdAt: '2027-03-01T12:00:00Z',
    expiresAt: '2027-03-02T00:00:00Z',
  } as const;
  return makeViewer(session, cookie);
}

const known = listKnownNames('127.0.0.1', {
  publicUrl: new URL('https://console.example'),
  hostNames: [],
});
const asked = (request: object) => request as FastifyRequest;

describe('a role', () => {
  test.each(
    roles.flatMap((held, at) => roles.map((needed, other) => [held, needed, at >= other] as const)),
  )('%s is enough if %s is required: %s', (held, needed, may) => {
    const check = () => checkRole(viewer(held), needed, '/back');
    if (may) expect(check).not.toThrow();
    else
      expect(check).toThrow(
        expect.objectContaining({status: 403, ways: [{href: '/back', label: 'Back'}]}),
      );
  });
});

describe('a request', () => {
  test.each([
    ['console.example', true],
    ['127.0.0.1', true],
    ['evil.example', false],
  ])('for the host name %s is accepted: %s', (hostname, isAnswered) => {
    const check = () => checkHost(asked({hostname}), known);
    if (isAnswered) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({status: 421}));
  });

  test.each([
    [{query: {}, params: undefined, body: undefined}, true],
    [{query: {a: 'x'}, params: {b: 'y'}, body: {c: ['z', 5]}}, true],
    [{query: {a: 'x', b: 'x\0'}}, false],
    [{params: {a: '\0'}}, false],
    [{body: {a: ['x', 'y\0', 'z'], b: 'x'}}, false],
  ])('with the texts %j is accepted: %s', (request, isTaken) => {
    const check = () => checkTexts(asked(request));
    if (isTaken) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({status: 422}));
  });

  test.each([
    ['from a program, which names no origin', {}, true],
    ['of our own page', {origin: 'http://127.0.0.1:8086', 'sec-fetch-site': 'same-origin'}, true],
    ['by the name that people use', {origin: 'https://console.example'}, true],
    ['that a person typed', {'sec-fetch-site': 'none'}, true],
    ['of another page', {origin: 'https://evil.example'}, false],
    ['of another port', {origin: 'http://127.0.0.1:9999'}, false],
    ['without an origin', {origin: 'null'}, false],
    ['of another site', {'sec-fetch-site': 'cross-site'}, false],
    [
      'of another site by our name',
      {origin: 'https://console.example', 'sec-fetch-site': 'cross-site'},
      false,
    ],
    [
      'of another page, called ours',
      {origin: 'https://evil.example', 'sec-fetch-site': 'same-origin'},
      false,
    ],
  ])('%s: %j is accepted: %s', (_, headers, isTaken) => {
    const check = () => checkOrigin(asked({host: '127.0.0.1:8086', headers}), known);
    if (isTaken) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({status: 403}));
  });

  test('with a form needs the token of its session and must not come from another site', () => {
    const [own, other] = [viewer('admin', 'fms_a'), viewer('admin', 'fms_b')];
    const check = (formToken: unknown, headers = {}) =>
      checkForm(asked({host: '127.0.0.1:8086', headers}), {viewer: own, formToken, known});
    expect(() => check(own.formToken)).not.toThrow();
    expect(() => check(own.formToken, {origin: 'https://evil.example'})).toThrow('another site');
    for (const token of [other.formToken, undefined, ''])
      expect(() => check(token)).toThrow('not of your session');
  });
});

describe('wrong keys', () => {
  test('are limited to ten a minute for each source', () => {
    const clock = {ms: 5};
    const attempts = new Attempts(() => clock.ms);
    for (let n = 0; n < 10; n++) {
      expect(attempts.mayTry('a')).toBe(true);
      attempts.noteFailure('a');
    }
    expect([attempts.mayTry('a'), attempts.mayTry('b')]).toEqual([false, true]);
    clock.ms += 59_999;
    expect(attempts.mayTry('a')).toBe(false);
    clock.ms += 1;
    expect(attempts.mayTry('a')).toBe(true);
  });

  test('a failure of a minute ago no longer counts', () => {
    const clock = {ms: 0};
    const attempts = new Attempts(() => clock.ms);
    attempts.noteFailure('a');
    clock.ms = 60_000;
    for (let n = 0; n < 9; n++) attempts.noteFailure('a');
    expect(attempts.mayTry('a')).toBe(true);
  });

  test('of ten thousand sources are remembered; the one that failed longest ago is dropped', () => {
    const attempts = new Attempts(() => 0);
    const block = (source: string) => {
      for (let n = 0; n < 10; n++) attempts.noteFailure(source);
    };
    block('first');
    block('second');
    for (let n = 2; n < 10_000; n++) attempts.noteFailure(`other ${n}`);
    expect([attempts.mayTry('first'), attempts.mayTry('second')]).toEqual([false, false]);
    // It failed again, and so is the newest.
    attempts.noteFailure('first');
    attempts.noteFailure('one more');
    expect([attempts.mayTry('first'), attempts.mayTry('second')]).toEqual([false, true]);
  });
});

test.each([
  [
    {a: 'x', b: ['y', 'z']},
    {a: 'x', b: 'z'},
  ],
  [{a: '', b: ['x', ''], c: [], d: 5, e: [5], f: null}, {}],
  [null, {}],
  [undefined, {}],
])('the form fields of %j are %j', (given, fields) => {
  expect(readFormFields(given)).toEqual(fields);
});

test('a not-found error names the missing object and includes the given links', () => {
  const ways = [{href: '/changes/7', label: 'change 7'}];
  expect(makeNotFound('change 8')).toMatchObject({
    status: 404,
    text: 'There is no change 8.',
    ways: [],
  });
  expect(makeNotFound('change 8', ways)).toMatchObject({
    status: 404,
    text: 'There is no change 8. Nearest to it:',
    ways,
  });
});
