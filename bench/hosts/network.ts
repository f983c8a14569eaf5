// Hosts on one machine: network namespaces, each with an address, routes and a loopback of its own,
// joined by a bridge. They stand in a namespace that lasts as long as its processes: nothing of
// them is left behind.

import {type ChildProcess, execFileSync, spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';

export const hostNetwork = '10.77.0.0/24';
/** The address of the bridge, and of the process that made it. */
export const hubAddress = '10.77.0.1';

const inside = 'FIELDMIRROR_INSIDE_NETWORK';
const ownNetwork = ['--net', '--mount'];

export interface Host {
  readonly name: string;
  readonly address: string;
  /** The arguments by which a program runs on the host, under the host's name. */
  command(program: readonly string[]): string[];
  /** From now on nothing that it sends or is sent arrives, and neither end is told. */
  cutOff(): void;
  joinAgain(): void;
}

/**
 * Runs this very program again in a network of its own.
 * @returns in that network; elsewhere null, when the program has ended there or the machine has no
 *   such networks
 */
export async function enterNetwork(): Promise<Network | null> {
  if (process.env[inside] === '1') return new Network();
  const lacks = findLack();
  if (lacks !== null) {
    process.stdout.write(`skipped: hosts are network namespaces, and ${lacks}\n`);
    return null;
  }
  const child: ChildProcess = spawn(
    'unshare',
    [...ownNetwork, process.execPath, ...process.argv.slice(1)],
    {
      env: {...process.env, [inside]: '1'},
      stdio: 'inherit',
    },
  );
  const [code] = await once(child, 'exit');
  process.exitCode = code ?? 1;
  return null;
}

/** Everything that a host takes, once. */
const trial = [
  'mkdir -p /run/netns',
  'mount -t tmpfs namespaces /run/netns',
  'ip netns add trial',
  'ip link add hub type bridge',
  'ip link add port type veth peer name eth0 netns trial',
  'ip netns exec trial unshare --uts hostname trial',
].join(' && ');

/** The reason why this machine cannot have hosts; null where it can. */
function findLack(): string | null {
  if (process.platform !== 'linux') return 'these are there on Linux alone';
  const {status, error, stderr} = spawnSync('unshare', [...ownNetwork, 'sh', '-c', trial], {
    encoding: 'utf8',
  });
  if (status === 0) return null;
  return `this process may not make them: ${error?.message ?? stderr.trim()}`;
}

export class Network {
  #count = 1;

  constructor() {
    execFileSync('mkdir', ['-p', '/run/netns']);
    // Names of namespaces are files; in this process's own mounts they vanish with it.
    execFileSync('mount', ['-t', 'tmpfs', 'namespaces', '/run/netns']);
    ip('link set lo up');
    ip('link add hub type bridge');
    ip(`addr add ${hubAddress}/24 dev hub`);
    ip('link set hub up');
  }

  addHost(name: string): Host {
    this.#count++;
    const address = `10.77.0.${this.#count}`;
    const port = `port${this.#count}`;
    ip(`netns add ${name}`);
    ip(`link add ${port} type veth peer name eth0 netns ${name}`);
    ip(`link set ${port} master hub up`);
    ip(`-n ${name} addr add ${address}/24 dev eth0`);
    ip(`-n ${name} link set eth0 up`);
    ip(`-n ${name} link set lo up`);
    return {
      name,
      address,
      command: (program) => [
        ...[
          'ip',
          'netns',
          'exec',
          name,
          'unshare',
          '--uts',
          'sh',
          '-c',
          'hostname "$0" && exec "$@"',
          name,
        ],
        ...program,
      ],
      cutOff: () => ip(`link set ${port} down`),
      joinAgain: () => ip(`link set ${port} up`),
    };
  }
}

function ip(command: string): void {
  execFileSync('ip', command.split(' '));
}
