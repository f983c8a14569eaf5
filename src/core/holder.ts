// Which process holds a lease, so that another one on the same machine sees at once that it is
// gone. A process number proves nothing: it means another process in another container, and after a
// while on the same machine. So each process keeps a socket of a random name in the abstract
// namespace of Linux, which no file stands for. The kernel closes it when the last thread of the
// process ends, and never before; a process that is stopped or suspended keeps it. Whoever connects
// to the name in the same network namespace of the same running kernel, and is refused, has the
// kernel's word that the holder is gone.

import {createHash, randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {readFile, readlink} from 'node:fs/promises';
import {connect, createServer} from 'node:net';
import {hostname} from 'node:os';

let own: Promise<string | null> | null = null;
let place: Promise<string | null> | null = null;

/**
 * The mark of this process: its place and the name of its socket, `PLACE.NAME`. Null where the
 * system has no such sockets: then nobody learns that the process is gone, and its leases run out.
 */
export function markThisProcess(): Promise<string | null> {
  own ??= makeMark();
  return own;
}

/**
 * The network namespace of this process and the run of the kernel that it belongs to. The number of
 * a namespace is used again only when no socket of the old one is left. Null where it is not known.
 */
export function findPlace(): Promise<string | null> {
  place ??= readPlace();
  return place;
}

/**
 * Whether a process is certainly gone. Of one at another place nothing is known.
 * @param mark - as `markThisProcess` gives it
 */
export async function isHolderGone(mark: string): Promise<boolean> {
  const [at, name] = mark.split('.');
  if (at === undefined || name === undefined || at !== (await findPlace())) return false;
  return await isRefused(name);
}

async function makeMark(): Promise<string | null> {
  const at = await findPlace();
  if (at === null) return null;
  const name = randomBytes(16).toString('base64url');
  // Somebody who connects learns that the process is there, and no more.
  const server = createServer((socket) => socket.destroy());
  server.unref();
  try {
    server.listen(addressOf(name));
    await once(server, 'listening');
  } catch {
    return null;
  }
  return `${at}.${name}`;
}

async function readPlace(): Promise<string | null> {
  if (process.platform !== 'linux') return null;
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'latin1');
    const network = await readlink('/proc/self/ns/net', 'latin1');
    const facts = [boot.trim(), network, hostname()].join('\n');
    return createHash('sha256').update(facts).digest('base64url').slice(0, 22);
  } catch {
    return null;
  }
}

/** Any other error than that of a name without a socket leaves it open. */
function isRefused(name: string): Promise<boolean> {
  const {promise, resolve} = Promise.withResolvers<boolean>();
  const socket = connect(addressOf(name));
  socket.once('connect', () => {
    socket.destroy();
    resolve(false);
  });
  socket.on('error', (error) => {
    resolve('code' in error && error.code === 'ECONNREFUSED');
  });
  return promise;
}

function addressOf(name: string): string {
  return `\0fieldmirror-${name}`;
}
