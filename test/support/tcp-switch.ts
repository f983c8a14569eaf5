// One address for a server and its successor, as a virtual address or a load balancer gives it.

import {createServer, Socket} from 'node:net';

export interface TcpSwitch {
  readonly port: number;
  /** Breaks every connection; new ones lead to another port of 127.0.0.1. */
  turnTo(port: number): void;
  close(): Promise<void>;
}

/** @param port - on 127.0.0.1, where connections lead at first */
export async function openTcpSwitch(port: number): Promise<TcpSwitch> {
  let target = port;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket, other: Socket) => {
    sockets.add(socket);
    socket
      .on('error', () => {})
      .once('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
  };
  const server = createServer((near) => {
    const far = new Socket();
    keep(near, far);
    keep(far, near);
    near.pipe(far).pipe(near);
    far.connect(target, '127.0.0.1');
  });
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    turnTo: (next) => {
      target = next;
      breakAll();
    },
    close: async () => {
      const closed = new Promise((done) => server.close(done));
      breakAll();
      await closed;
    },
  };
}
