// Stands between us and a service: requests go through, and answers to some of them are kept back.

import {createServer, request as forward} from 'node:http';
import {buffer} from 'node:stream/consumers';

export interface HoldingProxy {
  readonly url: string;
  /** Resolves when the service has answered the first request whose answer is kept back. */
  readonly held: Promise<void>;
  /** From now on all answers pass; the ones kept back are lost. */
  letThrough(): void;
  close(): Promise<void>;
}

/** @param isHeld - by method and path: `POST /customers.xml` */
export async function openHoldingProxy(target: string, isHeld: RegExp): Promise<HoldingProxy> {
  const held = Promise.withResolvers<void>();
  let holds = true;
  const server = createServer(async (incoming, outgoing) => {
    const {method = '', url: path = '', headers} = incoming;
    const body = await buffer(incoming);
    const onward = forward(new URL(path, target), {method, headers, agent: false}, (answer) => {
      if (holds && isHeld.test(`${method} ${path}`)) {
        answer.resume();
        answer.once('end', () => held.resolve());
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    onward.end(body);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    held: held.promise,
    letThrough: () => {
      holds = false;
      server.closeAllConnections();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
