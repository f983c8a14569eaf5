import {inspect} from 'node:util';
import {describe, expect, test} from 'vitest';
import type {WriteOutcome} from '../../src/api/verdict.ts';
import {FatalError, RecordError, RetryableError} from '../../src/core/errors.ts';
import {CANARY, openTransport} from './open-transport.ts';
import {type Scripted, startRawServer, startServer, startTlsServer} from './scripted-server.ts';

const WRITE = {
  method: 'POST',
  path: '/customers.xml',
  body: '<customer><name>A</name></customer>',
} as const;
const ERRORS = "<errors><error>Name can't be blank</error></errors>";

function checkSecrets(outcome: WriteOutcome): WriteOutcome {
  const shown = inspect(outcome, {depth: 10, showHidden: true});
  expect(shown).not.toContain(CANARY);
  expect(shown).not.toContain(Buffer.from(`${CANARY}:${CANARY}`).toString('base64'));
  return outcome;
}

async function writeTo(
  server: Scripted,
  {timeoutMs = 2_000, path = WRITE.path}: {timeoutMs?: number; path?: string} = {},
): Promise<WriteOutcome> {
  const transport = openTransport(server.url, {limits: {timeoutMs}});
  const outcome = checkSecrets(await transport.write({...WRITE, path}));
  expect(transport.pauses).toEqual([]);
  return outcome;
}

async function answering(
  status: number,
  body = '',
  headers: Record<string, string> = {},
): Promise<Scripted> {
  return await startServer((response) => {
    response.writeHead(status, {'content-type': 'application/xml; charset=utf-8', ...headers});
    response.end(body);
  });
}

describe('a write is done', () => {
  test.each([200, 201, 202, 204])('on %i, and it is sent once, as XML', async (status) => {
    const server = await answering(status, '', {location: '/customers/7.xml'});
    expect(await writeTo(server)).toMatchObject({
      outcome: 'done',
      answer: {status, location: '/customers/7.xml'},
    });
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]).toMatchObject({method: 'POST', url: '/customers.xml', body: WRITE.body});
    expect(server.seen[0]?.headers['content-type']).toMatch(/^application\/xml/);
  });

  test('on a separate connection, so a server that closes idle ones does no harm', async () => {
    const server = await startServer((response) => {
      response.end('<customer><id>1</id></customer>');
      response.on('finish', () => setImmediate(() => response.socket?.destroy()));
    });
    const transport = openTransport(server.url, {concurrency: {max: 1}});
    for (let n = 0; n < 30; n++)
      expect(await transport.write(WRITE)).toMatchObject({outcome: 'done'});
    expect(server.seen).toHaveLength(30);
    expect(server.connections).toHaveLength(30);
    expect(server.seen.every(({headers}) => headers.connection === 'close')).toBe(true);
  });
});

describe('a refused write', () => {
  test.each([400, 404, 409, 422])(
    'is a record error with the words of the service on %i',
    async (status) => {
      const server = await answering(status, ERRORS);
      const outcome = await writeTo(server);
      expect(outcome).toMatchObject({
        outcome: 'refused',
        status,
        message: "Name can't be blank",
        isGone: status === 404,
      });
      expect(outcome).toHaveProperty('error', expect.any(RecordError));
      expect(server.seen).toHaveLength(1);
    },
  );

  test('has isGone set on a 400 for an unknown record', async () => {
    expect(
      await writeTo(await answering(400, '<errors><error>Invalid customer.</error></errors>')),
    ).toMatchObject({
      outcome: 'refused',
      isGone: true,
    });
  });

  test.each([
    ['/jobs/7.xml', 'employee', false],
    ['/jobs/7.xml', 'customer', false],
    ['/jobs/7.xml', 'job', true],
    ['/jobs/7/time_entries/9.xml', 'employee', false],
    ['/jobs/7/time_entries/9.xml', 'time-entry', true],
    ['/jobs/7/time_entries/9.xml', 'job', true],
    ['/customers/7/notes/9.xml', 'customer note', true],
    ['/customers/7/notes/9.xml', 'job', false],
  ])('of %s with 400 "Invalid %s." has isGone %s', async (path, kind, isGone) => {
    const server = await answering(400, `<errors><error>Invalid ${kind}.</error></errors>`);
    expect(await writeTo(server, {path})).toMatchObject({outcome: 'refused', isGone});
  });

  test('is a fatal error on 401, in XML or not', async () => {
    for (const body of ['HTTP Basic: Access denied.\n', ERRORS]) {
      expect(await writeTo(await answering(401, body))).toHaveProperty(
        'error',
        expect.any(FatalError),
      );
    }
  });

  test('is retryable on 429, after the time in Retry-After', async () => {
    const outcome = await writeTo(await answering(429, ERRORS, {'retry-after': '9'}));
    expect(outcome).toMatchObject({outcome: 'refused', error: {retryAfterMs: 9_000}});
    expect(outcome).toHaveProperty('error', expect.any(RetryableError));
  });
});

describe('a write is not sent', () => {
  test('when the connection is refused', async () => {
    const transport = openTransport('http://127.0.0.1:1');
    expect(await transport.write(WRITE)).toMatchObject({
      outcome: 'not-sent',
      reason: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test.each(['ENOTFOUND', 'EAI_AGAIN'])('when DNS returns %s', async (code) => {
    const transport = openTransport('https://nowhere.example', {
      lookup: (_host, _options, callback) => callback(Object.assign(new Error(code), {code}), ''),
    });
    expect(await transport.write(WRITE)).toMatchObject({
      outcome: 'not-sent',
      reason: expect.stringContaining(code),
    });
  });

  test('when the certificate is not trusted', async () => {
    const server = await startTlsServer();
    expect(await writeTo(server)).toMatchObject({
      outcome: 'not-sent',
      reason: expect.stringContaining('certificate'),
    });
    expect(server.seen).toEqual([]);
  });

  test('when there is no connection before the deadline, and not later either', async () => {
    const {promise: asked, resolve: answer} = Promise.withResolvers<() => void>();
    const server = await answering(200);
    const transport = openTransport(`http://nowhere.example:${server.port}`, {
      allowHttp: true,
      limits: {timeoutMs: 50},
      lookup: (_host, options, callback) =>
        answer(() =>
          options.all
            ? callback(null, [{address: '127.0.0.1', family: 4}])
            : callback(null, '127.0.0.1', 4),
        ),
    });
    expect(await transport.write(WRITE)).toMatchObject({
      outcome: 'not-sent',
      reason: expect.stringContaining('deadline'),
    });
    (await asked)();
    const other = openTransport(server.url);
    while (server.connections.length < 1) await new Promise(setImmediate);
    await other.write({...WRITE, path: '/after.xml'});
    expect(server.seen.map(({url}) => url)).toEqual(['/after.xml']);
  });

  test('when mayStart withholds it right before its first byte', async () => {
    const server = await answering(200);
    const transport = openTransport(server.url);
    const asked: string[] = [];
    const outcome = await transport.write({
      ...WRITE,
      onTurn: async () => void asked.push('turn'),
      mayStart: () => {
        asked.push('first byte');
        return false;
      },
    });
    expect(outcome).toMatchObject({
      outcome: 'not-sent',
      reason: expect.stringContaining('withheld'),
    });
    expect(asked).toEqual(['turn', 'first byte']);
    expect(server.seen).toEqual([]);
  });

  test('when it is aborted before its turn', async () => {
    const server = await answering(200);
    const transport = openTransport(server.url);
    expect(await transport.write({...WRITE, signal: AbortSignal.abort()})).toMatchObject({
      outcome: 'not-sent',
    });
    expect(server.connections).toEqual([]);
  });
});

describe('a write is in doubt, and is not sent again', () => {
  test.each<[number, string, Record<string, string>]>([
    [500, ERRORS, {}],
    [502, '<html>', {}],
    [503, '', {'retry-after': '1'}],
    [504, '', {}],
    [302, '', {location: '/elsewhere'}],
    [400, 'Bad request', {}],
    [413, '<html>too large</html>', {'content-type': 'text/html'}],
    [403, '<html>blocked</html>', {'content-type': 'text/html'}],
    [404, '<html>no such page</html>', {'content-type': 'text/html'}],
    [200, '<html>log in</html>', {'content-type': 'text/html'}],
    [200, 'x', {'content-encoding': 'br'}],
  ])('after %i %j', async (status, body, headers) => {
    const server = await answering(status, body, headers);
    expect(await writeTo(server)).toMatchObject({outcome: 'in-doubt'});
    expect(server.seen).toHaveLength(1);
  });

  test.each<[string, string]>([
    ['a closed connection', ''],
    ['an answer cut short', 'HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n<customer>'],
    ['something that is not HTTP', 'hello\r\n\r\n'],
  ])('after %s', async (_, bytes) => {
    let requests = 0;
    const server = await startRawServer((socket) => {
      requests++;
      socket.end(bytes);
    });
    expect(await writeTo(server)).toMatchObject({outcome: 'in-doubt', status: null});
    expect(requests).toBe(1);
    expect(server.connections).toHaveLength(1);
  });

  test('after a reset', async () => {
    const server = await startRawServer((socket) => socket.resetAndDestroy());
    expect(await writeTo(server)).toMatchObject({outcome: 'in-doubt'});
  });

  test('after the deadline', async () => {
    const server = await startRawServer(() => {});
    expect(await writeTo(server, {timeoutMs: 100})).toMatchObject({
      outcome: 'in-doubt',
      reason: expect.stringContaining('deadline'),
    });
  });

  test('after an abort while it runs', async () => {
    const stop = new AbortController();
    const server = await startServer(() => stop.abort());
    const transport = openTransport(server.url);
    expect(await transport.write({...WRITE, signal: stop.signal})).toMatchObject({
      outcome: 'in-doubt',
    });
  });
});
