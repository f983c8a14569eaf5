// Answers of many pieces, many at once on a few connections: the memory of each piece is freed
// while others arrive.

import {randomBytes, randomInt} from 'node:crypto';
import type {ServerResponse} from 'node:http';
import {gzipSync} from 'node:zlib';
import {expect, test} from 'vitest';
import {openTransport} from './open-transport.ts';
import {answerOf} from './read-outcome.ts';
import {startServer, startTlsServer} from './scripted-server.ts';
import {TEST_CERTIFICATE} from './test-certificate.ts';

const body = randomBytes(1_500_000);
const headers = {'content-type': 'application/xml'};

const whole = (response: ServerResponse) => {
  response.writeHead(200, {...headers, 'content-length': body.length});
  response.end(body);
};
/**
 * Pieces of any size, from a byte to more than a connection hands over at once, with a trailer
 * behind them.
 */
const inPieces = (response: ServerResponse) => {
  response.writeHead(200, {...headers, trailer: 'x-sum'});
  for (let at = 0; at < body.length; ) {
    const end = at + randomInt(1, randomInt(2, 200_000));
    response.write(body.subarray(at, end));
    at = end;
  }
  response.addTrailers({'x-sum': 'a'.repeat(3_000)});
  response.end();
};
const zipped = (response: ServerResponse) => {
  response.writeHead(200, {...headers, 'content-encoding': 'gzip'});
  response.end(gzipSync(body));
};
/** The head, with more headers than one piece holds, comes just before the body. */
const behindLongHead = (response: ServerResponse) => {
  response.writeHead(200, {
    ...headers,
    'x-long': 'a'.repeat(12_000),
    'content-length': body.length,
  });
  response.end(body);
};

const answers = {whole, 'in pieces': inPieces, zipped, 'behind a long head': behindLongHead};

test.each(Object.entries(answers))(
  'twelve large answers at once over HTTP arrive byte for byte (%s)',
  async (_name, answer) => {
    const server = await startServer(answer);
    await expectSame(openTransport(server.url));
  },
);

test.each(Object.entries(answers))(
  'twelve large answers at once over TLS arrive byte for byte (%s)',
  async (_name, answer) => {
    const server = await startTlsServer(answer);
    await expectSame(openTransport(server.url, {ca: TEST_CERTIFICATE}));
  },
);

async function expectSame(transport: ReturnType<typeof openTransport>): Promise<void> {
  const read = async () => (await answerOf(transport.read({path: '/jobs.xml'}))).body;
  const bodies = await Promise.all(Array.from({length: 12}, read));
  expect(bodies.map((got) => got.equals(body))).toEqual(bodies.map(() => true));
}
