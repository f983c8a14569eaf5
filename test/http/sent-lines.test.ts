// Lines that are sent as they come to be, and a reader that takes none, or goes away.

import {once} from 'node:events';
import net from 'node:net';
import fastify from 'fastify';
import {describe, expect, test} from 'vitest';
import {sendLines} from '../../src/http/lines.ts';

describe('streamed lines', () => {
  /** A server that sends 640 MB, if its reader takes them. */
  async function serve(patienceMs: number) {
    const made = {batches: 0};
    const batch = Array.from({length: 64}, () => 'x'.repeat(1_000));
    async function* make() {
      for (; made.batches < 10_000; made.batches++) yield batch;
    }
    const app = fastify();
    const {promise: ended, resolve: end} = Promise.withResolvers<void>();
    app.get('/', async (_request, reply) => {
      const gone = new AbortController();
      reply.raw.on('close', () => gone.abort());
      await sendLines(reply, make(), {gone: gone.signal, patienceMs});
      end();
      return reply;
    });
    const {port, hostname} = new URL(await app.listen({host: '127.0.0.1', port: 0}));
    const socket = net.connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    return {made, ended, socket, close: () => app.close()};
  }

  test('are produced no faster than read; a client that reads none is disconnected', async () => {
    const {made, ended, socket, close} = await serve(200);
    socket.pause();
    await ended;
    // So many fit into the buffers of two sockets.
    expect(made.batches).toBeLessThan(500);
    socket.resume();
    await once(socket, 'close');
    await close();
  });

  test('stop being produced when the client disconnects', async () => {
    const {made, ended, socket, close} = await serve(60_000);
    await once(socket, 'data');
    socket.destroy();
    await ended;
    expect(made.batches).toBeLessThan(1_000);
    await close();
  });
});
