// An HTTP server of a test, on a port that was free.

import {once} from 'node:events';
import {createServer, type RequestListener} from 'node:http';
import type {AddressInfo} from 'node:net';

export interface LocalServer {
  readonly url: string;
  breakConnections(): void;
  close(): Promise<void>;
  /** Listens on the same port again, after `close`. */
  reopen(): Promise<void>;
}

/** @param address - of this machine */
export async function listenLocally(
  answer: RequestListener,
  address = '127.0.0.1',
): Promise<LocalServer> {
  const server = createServer(answer);
  const listen = async (port: number) =>
    void (await once(server.listen(port, address), 'listening'));
  await listen(0);
  const {port} = server.address() as AddressInfo;
  return {
    url: `http://${address}:${port}`,
    breakConnections: () => server.closeAllConnections(),
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
    reopen: () => listen(port),
  };
}
