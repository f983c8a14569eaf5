// The line that tests and torture put between two programs makes the troubles that it promises.

import {once} from 'node:events';
import {connect, createServer, type Socket} from 'node:net';
import {buffer} from 'node:stream/consumers';
import {afterEach, expect, test} from 'vitest';
import {
  type Draw,
  type FaultyLine,
  openFaultyLine,
  resetSocket,
  type Trouble,
} from './support/faulty-line.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Echo {
  readonly line: FaultyLine;
  /** The text that arrived behind the line. */
  readonly arrived: () => string;
}

/** A server behind a line that answers `ask` with `answered ask`. */
async function open(draw: Draw | null): Promise<Echo> {
  let arrived = '';
  const server = createServer({allowHalfOpen: true}, (socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      arrived += chunk;
      socket.write(`answered ${chunk}`);
    });
    socket.on('end', () => socket.end());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const line = await openFaultyLine(typeof address === 'object' ? (address?.port ?? 0) : 0, draw);
  closers.push(
    () => new Promise((done) => server.close(done)),
    () => line.close(),
  );
  return {line, arrived: () => arrived};
}

const only = (trouble: Trouble): Draw => {
  let isOver = false;
  return (chunk) => {
    if (isOver || !chunk.includes('strike')) return null;
    isOver = true;
    return trouble;
  };
};

async function dial({line}: Echo): Promise<Socket> {
  const socket = connect({port: line.port, host: '127.0.0.1', allowHalfOpen: true});
  socket.on('error', () => {});
  await once(socket, 'connect');
  closers.push(async () => socket.destroy());
  return socket;
}

/** All text that comes, and how it ends. */
async function hear(socket: Socket): Promise<{readonly text: string; readonly end: string}> {
  const failed = once(socket, 'error').then(([error]) => error.code as string);
  const ended = buffer(socket).then(
    () => 'ended',
    (error) => error.code as string,
  );
  let text = '';
  socket.on('data', (chunk) => (text += chunk));
  const end = await Promise.race([failed, ended]);
  return {text, end};
}

test('undisturbed data passes both ways', async () => {
  const echo = await open(null);
  const socket = await dial(echo);
  socket.end('ask');
  expect(await hear(socket)).toEqual({text: 'answered ask', end: 'ended'});
});

test('a lost reply: the request arrives, and the answer resets the client', async () => {
  const echo = await open(only({kind: 'lose-reply'}));
  const socket = await dial(echo);
  socket.write('strike');
  expect(await hear(socket)).toEqual({text: '', end: 'ECONNRESET'});
  expect(echo.arrived()).toBe('strike');
  expect(echo.line.struck['lose-reply']).toBe(1);
});

test('a reset forwards the given number of bytes of the request, or none', async () => {
  const echo = await open(only({kind: 'reset', forwarded: 3}));
  const socket = await dial(echo);
  socket.write('strike');
  expect((await hear(socket)).end).toBe('ECONNRESET');
  expect(['', 'str']).toContain(echo.arrived());
});

test('a truncated answer ends after the given number of bytes', async () => {
  const echo = await open(only({kind: 'truncate', bytes: 5}));
  const socket = await dial(echo);
  socket.write('strike');
  expect(await hear(socket)).toEqual({text: 'answe', end: 'ended'});
});

test('half closed: the request arrives, and the stream ends in place of an answer', async () => {
  const echo = await open(only({kind: 'half-close'}));
  const socket = await dial(echo);
  socket.write('strike');
  expect(await hear(socket)).toEqual({text: '', end: 'ended'});
  await expect.poll(echo.arrived).toBe('strike');
});

test('an answer sent in small pieces arrives complete', async () => {
  const echo = await open(only({kind: 'drip', bytes: 9, everyMs: 1}));
  const socket = await dial(echo);
  const chunks: number[] = [];
  socket.on('data', (chunk) => chunks.push(chunk.length));
  socket.end('strike');
  expect((await hear(socket)).text).toBe('answered strike');
  expect(chunks.length).toBeGreaterThan(3);
});

test('delayed data arrives in order, and at once when the line is repaired', async () => {
  const echo = await open(only({kind: 'delay', ms: 3_600_000}));
  const socket = await dial(echo);
  socket.write('strike');
  await expect.poll(() => echo.line.struck.delay).toBe(1);
  echo.line.setDraw(null);
  socket.end(' again');
  expect((await hear(socket)).text).toMatch(/^answered strike/);
  expect(echo.arrived()).toBe('strike again');
});

test('dropped data never arrives, and a repaired line resets the connection', async () => {
  const echo = await open(only({kind: 'drop', ms: 3_600_000}));
  const socket = await dial(echo);
  socket.write('strike');
  await expect.poll(() => echo.line.struck.drop).toBe(1);
  echo.line.setDraw(null);
  expect(await hear(socket)).toEqual({text: '', end: 'ECONNRESET'});
  expect(echo.arrived()).toBe('');
});

test('a line that is down refuses connections, and comes up on the same port', async () => {
  const echo = await open(null);
  const before = await dial(echo);
  await echo.line.goDown();
  expect((await hear(before)).end).toBe('ECONNRESET');
  await expect(dial(echo)).rejects.toThrow('ECONNREFUSED');
  await echo.line.comeUp();
  const socket = await dial(echo);
  socket.end('ask');
  expect((await hear(socket)).text).toBe('answered ask');
});

test('a connection that is reset while it ends is closed', async () => {
  const socket = await dial(await open(null));
  const closed = once(socket, 'close');
  socket.end();
  resetSocket(socket);
  await closed;
});
