// Before its first good answer an address may never have been right: what tells of that is final,
// and says what to check. Later the same failures are those of a gateway, and pass.

import {describe, expect, test} from 'vitest';
import {FatalError, RetryableError} from '../../src/core/errors.ts';
import {inSequence} from '../support/patterns.ts';
import {openTransport} from './open-transport.ts';
import {EMPTY_LIST, failureOf} from './read-outcome.ts';
import {startRawServer, startServer, startTlsServer} from './scripted-server.ts';

const page =
  '<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Please sign in</body></html>';
const html = 'text/html; charset=utf-8';

/** An address, and what is said of it. */
interface Wrong {
  readonly open: () => Promise<string>;
  readonly says: RegExp;
}

const answering =
  (status: number, type: string, body = page) =>
  async () =>
    (await startServer((response) => response.writeHead(status, {'content-type': type}).end(body)))
      .url;

/** After a first good answer these are answers, which the reader of the list refuses. */
const pagesAsXml: Readonly<Record<string, Wrong>> = {
  'a web page that calls itself XML': {
    open: answering(200, 'application/xml'),
    says: /a web page is in the place of the API/,
  },
  'a web page that calls itself nothing': {
    open: answering(200, '', `\n${page.slice(page.indexOf('<html>'))}`),
    says: /a web page is in the place of the API/,
  },
};

const wrong: Readonly<Record<string, Wrong>> = {
  'a web page': {
    open: answering(200, html),
    says: inSequence(
      /got 200 and an HTML page: a web page is in the place of the API; /,
      /.*check the base address .*proxy/,
    ),
  },
  ...pagesAsXml,
  'a page for a wrong path': {
    open: answering(404, html),
    says: /got 404 and an HTML page: there is no such path at this host; .*check the base address/,
  },
  'a page for a wrong method': {
    open: answering(405, html),
    says: /got 405 and an HTML page: .*check the base address/,
  },
  'an unknown host': {
    open: async () => 'https://no-such-host.invalid',
    says: /host name unknown .*\[ENOTFOUND\]; .*check that the address is spelled right/,
  },
  'https for http': {
    open: async () =>
      (await startServer((response) => response.end(EMPTY_LIST))).url.replace('http:', 'https:'),
    says: /TLS failed \[[A-Z_]+\]; .*check the port, and whether https is right/,
  },
  'another protocol': {
    open: async () =>
      (await startRawServer((socket) => void socket.end('220 mail.example.com ESMTP\r\n'))).url,
    says: /an answer that is not HTTP \[HPE_\w+\]; .*check the port/,
  },
};

describe.each(Object.entries(wrong))('%s', (name, {open, says}) => {
  test('is a fatal error before the first good answer, with a hint what to check', async () => {
    const transport = openTransport(await open(), {isProven: false, retry: {attempts: 5}});
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error.message).toMatch(says);
    expect(error).toBeInstanceOf(FatalError);
    expect(error).toMatchObject({kind: 'address'});
    expect(error.message).not.toContain('try again later');
    expect(transport.pauses).toEqual([]);
  });

  if (name in pagesAsXml) return;

  test('is retried, with the same hint, if the account was mirrored before', async () => {
    const transport = openTransport(await open(), {retry: {attempts: 2}});
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(RetryableError);
    expect(error.message).toMatch(says);
    expect(error.message).toContain('try again later');
    expect(transport.pauses).toHaveLength(1);
  });
});

test.each(Object.entries(pagesAsXml))(
  '%s is an answer if the account was mirrored before',
  async (_, {open}) => {
    const transport = openTransport(await open(), {retry: {attempts: 2}});
    await expect(transport.read({path: '/jobs.xml'})).resolves.toMatchObject({status: 200});
  },
);

test('http for https is retryable: a server of TLS only closes the connection', async () => {
  const url = (await startTlsServer()).url.replace('https://localhost', 'http://127.0.0.1');
  const transport = openTransport(url, {isProven: false, retry: {attempts: 1}});
  const error = await failureOf(transport.read({path: '/jobs.xml'}));
  expect(error).toBeInstanceOf(RetryableError);
  expect(error.message).toMatch(/connection (reset|closed)/);
});

test('an HTML page with 429 or 5xx is retryable, even before the first good answer', async () => {
  for (const status of [429, 500, 502, 503, 504]) {
    const transport = openTransport(await answering(status, html)(), {
      isProven: false,
      retry: {attempts: 1},
    });
    expect(await failureOf(transport.read({path: '/jobs.xml'})), String(status)).toBeInstanceOf(
      RetryableError,
    );
  }
});

test('after one good answer, an HTML page with 200 is retryable', async () => {
  let count = 0;
  const server = await startServer((response) => {
    response.writeHead(200, {'content-type': count++ === 0 ? 'application/xml' : html});
    response.end(count === 1 ? EMPTY_LIST : page);
  });
  const transport = openTransport(server.url, {isProven: false, retry: {attempts: 1}});
  await transport.read({path: '/jobs.xml'});
  expect(await failureOf(transport.read({path: '/jobs.xml'}))).toBeInstanceOf(RetryableError);
});
