import {gzipSync} from 'node:zlib';
import {describe, expect, test} from 'vitest';
import {FatalError, RetryableError} from '../../src/core/errors.ts';
import {makeJobPage} from './job-page.ts';
import {openTransport} from './open-transport.ts';
import {always, answerOf, EMPTY_LIST, failureOf} from './read-outcome.ts';
import {startRawServer, startServer, startTlsServer} from './scripted-server.ts';
import {TEST_CERTIFICATE} from './test-certificate.ts';

describe('network failures and certificates', () => {
  const once = {retry: {attempts: 1}};

  test('a refused connection is retryable, and the error explains it', async () => {
    const server = await startRawServer(() => {});
    const {port} = server;
    const transport = openTransport(`http://127.0.0.1:${port === 1 ? 2 : 1}`, once);
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(RetryableError);
    expect(error.message).toContain(
      'connection refused (is the service up, is the port right?) [ECONNREFUSED]',
    );
  });

  test.each(['ENOTFOUND', 'EAI_AGAIN'])('a DNS error is retryable: %s', async (code) => {
    const transport = openTransport('https://nowhere.example', {
      ...once,
      lookup: (_host, _options, callback) => callback(Object.assign(new Error(code), {code}), ''),
    });
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(RetryableError);
    expect(error.message).toContain(`[${code}]`);
  });

  test('a DNS server that never answers fails the read at the deadline', async () => {
    const transport = openTransport('https://nowhere.example', {
      ...once,
      lookup: () => {},
      limits: {timeoutMs: 50},
    });
    expect((await failureOf(transport.read({path: '/jobs.xml'}))).message).toContain(
      'before the deadline',
    );
  });

  test('a server that never answers is retryable at the deadline', async () => {
    const server = await startRawServer(() => {});
    const transport = openTransport(server.url, {...once, limits: {timeoutMs: 50}});
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(RetryableError);
    expect(error.message).toContain('before the deadline');
  });

  test('an endless TLS handshake is retryable at the deadline, and no write is sent', async () => {
    const server = await startRawServer(() => {});
    const transport = openTransport(`https://127.0.0.1:${server.port}`, {
      ...once,
      limits: {timeoutMs: 50},
    });
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(RetryableError);
    expect(error.message).toContain('before the deadline');
    const written = await transport.write({method: 'POST', path: '/jobs.xml', body: '<job/>'});
    expect(written).toMatchObject({outcome: 'not-sent'});
  });

  test('an endless drip of bytes fails at the deadline for the whole answer', async () => {
    const server = await startRawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n');
      const drip = setInterval(() => socket.write('x'), 5);
      socket.on('close', () => clearInterval(drip));
    });
    const transport = openTransport(server.url, {...once, limits: {timeoutMs: 150}});
    const started = performance.now();
    expect((await failureOf(transport.read({path: '/jobs.xml'}))).message).toContain(
      'before the deadline',
    );
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  test.each<[string, string]>([
    ['by content-length', `HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n${EMPTY_LIST}`],
    ['in chunks', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n14\r\n${EMPTY_LIST}\r\n`],
    ['in its head', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ['before its head', ''],
  ])('an answer cut short %s is retryable', async (_, bytes) => {
    const server = await startRawServer((socket) => socket.end(bytes));
    expect(
      await failureOf(openTransport(server.url, once).read({path: '/jobs.xml'})),
    ).toBeInstanceOf(RetryableError);
  });

  test('a connection reset is retryable', async () => {
    const server = await startRawServer((socket) => socket.resetAndDestroy());
    const error = await failureOf(openTransport(server.url, once).read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(RetryableError);
  });

  test('an answer that is not HTTP, or has two lengths, is retryable', async () => {
    for (const bytes of [
      'SSH-2.0-OpenSSH_9.2\r\n',
      `HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 20\r\n\r\n${EMPTY_LIST}`,
    ]) {
      const server = await startRawServer((socket) => socket.end(bytes));
      expect(
        await failureOf(openTransport(server.url, once).read({path: '/jobs.xml'})),
      ).toBeInstanceOf(RetryableError);
    }
  });

  test('an untrusted certificate is a fatal error, and the token is not sent', async () => {
    const server = await startTlsServer();
    const error = await failureOf(openTransport(server.url).read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(FatalError);
    expect(error.message).toMatch(
      /certificate not trusted \[DEPTH_ZERO_SELF_SIGNED_CERT\]; nothing was sent/,
    );
    expect(server.seen).toEqual([]);
  });

  test('a certificate of another host is a fatal error, and nothing is sent', async () => {
    const server = await startTlsServer();
    const url = server.url.replace('localhost', '127.0.0.1');
    const error = await failureOf(
      openTransport(url, {ca: TEST_CERTIFICATE}).read({path: '/jobs.xml'}),
    );
    expect(error).toBeInstanceOf(FatalError);
    expect(error.message).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(server.seen).toEqual([]);
  });

  test('a certificate of a configured authority is accepted', async () => {
    const server = await startTlsServer();
    await answerOf(openTransport(server.url, {ca: TEST_CERTIFICATE}).read({path: '/jobs.xml'}));
    expect(server.seen).toHaveLength(1);
  });
});

describe('limits', () => {
  test('an endless body fails as soon as it exceeds the limit', async () => {
    const server = await startRawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const pour = () => {
        while (!socket.destroyed && socket.write(`10000\r\n${'x'.repeat(65_536)}\r\n`));
        if (!socket.destroyed) socket.once('drain', pour);
      };
      pour();
    });
    const error = await failureOf(
      openTransport(server.url, {limits: {maxBodyBytes: 1_000_000}}).read({path: '/jobs.xml'}),
    );
    expect(error).toBeInstanceOf(FatalError);
    expect(error.message).toContain('larger than the limit');
  });

  test('a gzip bomb is a fatal error', async () => {
    const {transport} = await always(200, gzipSync(Buffer.alloc(50_000_000)), {
      'content-encoding': 'gzip',
    });
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(FatalError);
    expect(error.message).toMatch(/unpacks to more than \d+ bytes/);
  });

  test('a small body may have a high compression ratio', async () => {
    const {transport} = await always(200, gzipSync(Buffer.alloc(1_000_000, 'x')), {
      'content-encoding': 'gzip',
    });
    expect((await answerOf(transport.read({path: '/jobs.xml'}))).body).toHaveLength(1_000_000);
  });

  test.each<[string, Buffer, string]>([
    ['gzip with other bytes', Buffer.from(EMPTY_LIST), 'gzip'],
    ['gzip cut short', gzipSync(makeJobPage({jobs: 5})).subarray(0, 500), 'gzip'],
    ['brotli', Buffer.from('x'), 'br'],
    ['gzip twice', gzipSync(gzipSync('x')), 'gzip, gzip'],
  ])('a body with an invalid coding is refused: %s', async (_, body, coding) => {
    const {transport} = await always(200, body, {'content-encoding': coding});
    const kind = coding === 'gzip' ? RetryableError : FatalError;
    expect(await failureOf(transport.read({path: '/jobs.xml'}))).toBeInstanceOf(kind);
  });

  test('too many headers fail the read, by count and by size', async () => {
    for (const count of [400, 10_000]) {
      const server = await startRawServer((socket) => {
        const headers = Array.from({length: count}, (_, n) => `x-${n}: ${n}\r\n`).join('');
        socket.end(`HTTP/1.1 200 OK\r\n${headers}content-length: 20\r\n\r\n${EMPTY_LIST}`);
      });
      const error = await failureOf(
        openTransport(server.url, {retry: {attempts: 1}}).read({path: '/jobs.xml'}),
      );
      expect(error.message).toMatch(/headers than the limit/);
    }
  });

  test('no more requests run at once than the maximum', async () => {
    let running = 0;
    let most = 0;
    const server = await startServer((response) => {
      most = Math.max(most, ++running);
      setImmediate(() => {
        running--;
        response.end(EMPTY_LIST);
      });
    });
    const transport = openTransport(server.url, {concurrency: {max: 3}});
    await Promise.all(Array.from({length: 30}, () => transport.read({path: '/jobs.xml'})));
    expect(most).toBeLessThanOrEqual(3);
  });
});

describe('an abort', () => {
  test('fails a running read with the reason of the abort', async () => {
    const stop = new AbortController();
    const server = await startServer(() => stop.abort(new Error('enough')));
    const transport = openTransport(server.url, {retry: {attempts: 1}});
    expect(
      (await failureOf(transport.read({path: '/jobs.xml', signal: stop.signal}))).message,
    ).toBe('enough');
    expect(server.seen).toHaveLength(1);
  });

  test('fails a waiting read at once, and the read never starts', async () => {
    const stop = new AbortController();
    const server = await startServer(() => stop.abort(new Error('enough')));
    const transport = openTransport(server.url, {
      concurrency: {max: 1},
      limits: {timeoutMs: 1_000},
      retry: {attempts: 1},
    });
    let isFirstOver = false;
    const first = transport.read({path: '/jobs.xml'}).catch(() => {
      isFirstOver = true;
    });
    const second = transport.read({path: '/tasks.xml', signal: stop.signal});
    expect((await failureOf(second)).message).toBe('enough');
    expect(isFirstOver).toBe(false);
    await transport.close();
    await first;
    expect(server.seen).toHaveLength(1);
  });

  test('before the start opens no connection', async () => {
    const {server, transport} = await always(200, EMPTY_LIST);
    const error = await failureOf(
      transport.read({path: '/jobs.xml', signal: AbortSignal.abort(new Error('enough'))}),
    );
    expect(error.message).toBe('enough');
    expect(server.connections).toEqual([]);
  });
});
