import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import {createServer as createTlsServer} from 'node:https';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import {onTestFinished} from 'vitest';
import {TEST_CERTIFICATE, TEST_KEY} from './test-certificate.ts';

/** A request as the server got it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Scripted {
  readonly url: string;
  readonly port: number;
  readonly seen: Seen[];
  /** Connections made, from the first. */
  readonly connections: Socket[];
}

type Answer = (response: ServerResponse, seen: Seen, count: number) => void;

/**
 * An HTTP server on a free port of this machine that answers as the test says, and closes with the
 * test.
 */
export async function startServer(answer: Answer): Promise<Scripted> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const {method = '', url = '', headers} = request;
    const got = {method, url, headers, body: Buffer.concat(chunks).toString()};
    seen.push(got);
    answer(response, got, seen.length);
  });
  return {...(await open(server)), seen};
}

/**
 * A TCP server for behaviour that no HTTP server has: it gets the socket once a request's head is
 * in.
 */
export async function startRawServer(
  answer: (socket: Socket, count: number) => void,
): Promise<Scripted> {
  let count = 0;
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      if (data.includes('\r\n\r\n')) answer(socket, ++count);
    });
  });
  return {...(await open(server)), seen: []};
}

/**
 * An HTTPS server for `localhost` with an untrusted certificate; left to itself it answers with an
 * empty list.
 */
export async function startTlsServer(
  answer: (response: ServerResponse) => void = (response) => response.end('<jobs type="array"/>'),
): Promise<Scripted> {
  const seen: Seen[] = [];
  const server = createTlsServer(
    {cert: TEST_CERTIFICATE, key: TEST_KEY},
    ({method = '', url = '', headers}, response) => {
      seen.push({method, url, headers, body: ''});
      answer(response);
    },
  );
  const opened = await open(server);
  return {...opened, seen, url: `https://localhost:${opened.port}`};
}

async function open(server: Server): Promise<{url: string; port: number; connections: Socket[]}> {
  const connections: Socket[] = [];
  server.on('connection', (socket: Socket) => {
    connections.push(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of connections) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const {port} = addressOf(server);
  return {url: `http://127.0.0.1:${port}`, port, connections};
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a port');
  return address;
}
