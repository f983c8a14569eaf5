// Stands between us and a service, and keeps the traffic byte for byte.

import {createServer, request as forward} from 'node:http';
import {buffer} from 'node:stream/consumers';

/** A request as it came in. */
export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly contentType: string | null;
  readonly body: string;
}

export interface RecordingProxy {
  readonly url: string;
  /** The writing requests since its last call. */
  takeWrites(): Recorded[];
  close(): Promise<void>;
}

export async function openRecordingProxy(target: string): Promise<RecordingProxy> {
  const recorded: Recorded[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming);
    const {method = '', url: path = '', headers} = incoming;
    recorded.push({method, path, contentType: headers['content-type'] ?? null, body: body.toString('utf8')});
    const onward = forward(new URL(path, target), {method, headers, agent: false}, (answer) => {
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
    takeWrites: () => recorded.splice(0).filter(({method}) => method !== 'GET'),
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
