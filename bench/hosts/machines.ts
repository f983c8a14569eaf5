// The machines that workers share, and those that workers run on: each a host of its own, the
// service on the bridge.

import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {type AccountServer, serveAccounts} from '../../test/jobs/account-server.ts';
import {kill, tie} from '../../test/support/server-process.ts';
import type {SetUp} from '../../test/support/set-up.ts';
import {type Host, hubAddress, type Network} from './network.ts';

export interface Machines {
  readonly server: AccountServer;
  readonly postgresUrl: string;
  /** Null where the queue is in Postgres. */
  readonly redisUrl: string | null;
  /** Four of them. */
  readonly workers: readonly Host[];
}

export async function startMachines(
  setUp: SetUp,
  {network, queue}: {readonly network: Network; readonly queue: string},
): Promise<Machines> {
  const [postgres, redis] = [network.addHost('postgres'), network.addHost('redis')];
  const {url} = await setUp.step(
    'starting Postgres',
    () => startPostgresHost(postgres),
    (started) => started.end(),
  );
  const onRedis = queue === 'redis';
  if (onRedis) await setUp.step('starting Redis', async () => startRedisHost(redis), kill);
  const server = await setUp.step(
    'starting the service',
    () => serveAccounts({address: hubAddress}),
    (started) => started.close(),
  );
  return {
    server,
    postgresUrl: url,
    redisUrl: onRedis ? `redis://${redis.address}` : null,
    workers: [1, 2, 3, 4].map((number) => network.addHost(`worker-${number}`)),
  };
}

async function startPostgresHost(host: Host): Promise<{url: string; end(): Promise<void>}> {
  const program = [process.execPath, join(import.meta.dirname, 'postgres-host.ts')];
  const [command = '', ...args] = host.command(program);
  const child = spawn(command, args, {stdio: ['pipe', 'pipe', 'inherit']});
  const ended = once(child, 'exit');
  const [line] = await Promise.race([
    once(child.stdout, 'data'),
    ended.then(([code]) => Promise.reject(new Error(`Postgres ended with ${code}`))),
  ]);
  const url = new URL(JSON.parse(String(line)).url);
  url.hostname = host.address;
  const end = async () => {
    child.stdin.end();
    await ended;
  };
  return {url: url.href, end};
}

function startRedisHost(host: Host): ChildProcess {
  const settings = ['--bind', '0.0.0.0', '--protected-mode', 'no', '--save', ''];
  const [command = '', ...args] = host.command(['redis-server', ...settings]);
  return tie(spawn(command, args, {stdio: 'ignore', cwd: tmpdir()}));
}
