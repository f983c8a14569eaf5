// Interim responses before an answer, asked for or not: RFC 9110, 15.2.

import {describe, expect, test} from 'vitest';
import {openTransport} from './open-transport.ts';
import {answerOf, EMPTY_LIST} from './read-outcome.ts';
import {startRawServer, startServer, startTlsServer} from './scripted-server.ts';
import {TEST_CERTIFICATE} from './test-certificate.ts';

const once = {retry: {attempts: 1}};
const whole = `HTTP/1.1 200 OK\r\ncontent-length: ${EMPTY_LIST.length}\r\n\r\n${EMPTY_LIST}`;
const goOn = 'HTTP/1.1 100 Continue\r\n\r\n';

describe('an interim response does not end the request', () => {
  test.each<[string, string]>([
    ['100 Continue', goOn],
    ['100 Continue with a header', 'HTTP/1.1 100 Continue\r\nserver: a\r\nx: b\r\n\r\n'],
    ['100 without words, of HTTP/1.0', 'HTTP/1.0 100 \r\n\r\n'],
    ['102 Processing', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['103 Early Hints', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'],
    ['several of them', `${goOn}HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${goOn}${goOn}`],
  ])('%s', async (_, interim) => {
    const server = await startRawServer((socket) => socket.write(interim + whole));
    const transport = openTransport(server.url, once);
    // Twice: the second request finds the connection as the first one left it.
    for (let at = 0; at < 2; at++)
      expect(String((await answerOf(transport.read({path: '/jobs.xml'}))).body)).toBe(EMPTY_LIST);
  });

  test('if it arrives in pieces, split at any byte', async () => {
    const bytes = goOn + whole;
    const server = await startRawServer(async (socket, count) => {
      socket.setNoDelay(true);
      await new Promise<void>((sent) => socket.write(bytes.slice(0, count), () => sent()));
      await new Promise((turn) => setImmediate(turn));
      socket.write(bytes.slice(count));
    });
    const transport = openTransport(server.url, once);
    for (let at = 1; at < bytes.length; at++)
      expect(
        String((await answerOf(transport.read({path: '/jobs.xml'}))).body),
        `cut at ${at}`,
      ).toBe(EMPTY_LIST);
  });

  test('before the answer to a write, which is sent once', async () => {
    const server = await startServer((response) => {
      response.writeContinue();
      response.end('<job><id>1</id></job>');
    });
    const transport = openTransport(server.url);
    const sent = await transport.write({method: 'PUT', path: '/jobs/1.xml', body: '<job/>'});
    expect(sent).toMatchObject({outcome: 'done', answer: {status: 200}});
    expect(server.seen).toHaveLength(1);
  });

  test('over TLS', async () => {
    const server = await startTlsServer((response) => {
      response.writeContinue();
      response.end('<jobs type="array"/>');
    });
    const transport = openTransport(server.url, {...once, ca: TEST_CERTIFICATE});
    for (let at = 0; at < 2; at++)
      expect(String((await answerOf(transport.read({path: '/jobs.xml'}))).body)).toBe(
        '<jobs type="array"/>',
      );
  });
});

describe('a false or endless interim response', () => {
  test('is kept as text in a body, even if a piece of the body starts with it', async () => {
    const body = `<jobs type="array">${goOn}</jobs>`;
    const server = await startRawServer(async (socket) => {
      const head = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`;
      await new Promise<void>((sent) => socket.write(head + body.slice(0, 19), () => sent()));
      await new Promise((turn) => setImmediate(turn));
      socket.write(body.slice(19));
    });
    const answer = await answerOf(openTransport(server.url, once).read({path: '/jobs.xml'}));
    expect(String(answer.body)).toBe(body);
  });

  test('fails the request if it is a 101 that was not requested', async () => {
    const server = await startRawServer((socket) =>
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n${whole}`,
      ),
    );
    await expect(openTransport(server.url, once).read({path: '/jobs.xml'})).rejects.toThrow(
      /got .*closed/,
    );
  });

  test('fails the request if its header has no end', async () => {
    const server = await startRawServer((socket) =>
      socket.write(`HTTP/1.1 100 Continue\r\nx: ${'y'.repeat(100_000)}`),
    );
    const read = openTransport(server.url, once).read({path: '/jobs.xml'});
    await expect(read).rejects.toThrow(/headers than the limit|before the answer was whole/);
  });

  test('fails the request at the deadline if it is repeated endlessly', async () => {
    const server = await startRawServer((socket) => {
      const pour = () => {
        while (!socket.destroyed && socket.write(goOn.repeat(100)));
      };
      socket.on('drain', pour);
      pour();
    });
    const read = openTransport(server.url, {...once, limits: {timeoutMs: 100}}).read({
      path: '/jobs.xml',
    });
    await expect(read).rejects.toThrow(/before the deadline/);
  });
});
