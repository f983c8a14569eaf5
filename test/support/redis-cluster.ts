import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {vi} from 'vitest';
import {freePorts} from './free-ports.ts';
import {
  encodedPassword,
  type ManyRedises,
  openAccess,
  password,
  type RedisAccess,
} from './redis-access.ts';
import {type RedisProcess, runRedis} from './redis-process.ts';
import {SetUp} from './set-up.ts';

/** A server of the cluster; the others speak to it at a port of its own. */
interface Member {
  readonly port: number;
  readonly busPort: number;
}

type Ask = (port: number, ...command: readonly string[]) => Promise<unknown>;

const primaryCount = 3;
const slotCount = 16_384;
/** A primary that is silent for so long is replaced by its replica. */
const nodeTimeoutMs = 2_000;
const patience = {timeout: 30_000, interval: 50};

/** A cluster of three primaries, each with one replica; the address names three of the six. */
export async function startCluster({isTls = false} = {}): Promise<ManyRedises> {
  const setUp = new SetUp();
  const access = await openAccess(setUp, {isTls});
  const ports = await freePorts(4 * primaryCount);
  const members = ports
    .slice(0, 2 * primaryCount)
    .map((port, at) => ({port, busPort: ports[2 * primaryCount + at] ?? 0}));
  const ask: Ask = (port, ...command) => access.ask(port, password, ...command);
  const processes: RedisProcess[] = [];
  for (const member of members)
    processes.push(
      await setUp.step(
        'starting a server',
        () => run(access, member),
        ({stop}) => stop(),
      ),
    );
  await setUp.step('joining the servers', () => joinAll(members, ask));
  const hosts = members.slice(1, 4).map(({port}) => `127.0.0.1:${port}`);
  const silent = new Set<number>();
  const listPlaces = async () => {
    const asked = members.find(({port}) => !silent.has(port))?.port ?? 0;
    return await listPairs(asked, ask);
  };
  return {
    url: `${access.scheme}-cluster://default:${encodedPassword}@${hosts.join(',')}`,
    certificatePath: access.certificatePath,
    primaries: async () => (await listPlaces()).map(([primary]) => primary),
    replica: async () => (await listPlaces())[0]?.[1] ?? 0,
    signal: (port, signal) => {
      if (signal === 'SIGCONT') silent.delete(port);
      else silent.add(port);
      processes.find((each) => each.port === port)?.signal(signal);
    },
    ask,
    stop: () => setUp.end(),
  };
}

async function run(access: RedisAccess, {port, busPort}: Member): Promise<RedisProcess> {
  return await runRedis(port, async (folder) => {
    const path = join(folder, 'redis.conf');
    const lines = [
      ...access.listen(port),
      ...(access.certificatePath === null ? [] : ['tls-cluster yes']),
      ...[`dir ${folder}`, 'save ""', 'appendonly yes', 'bind 127.0.0.1'],
      ...[`requirepass ${password}`, `masterauth ${password}`],
      ...[
        'cluster-enabled yes',
        `cluster-port ${busPort}`,
        `cluster-node-timeout ${nodeTimeoutMs}`,
      ],
      ...['cluster-replica-validity-factor 0', 'repl-diskless-sync-delay 0'],
    ];
    await writeFile(path, `${lines.join('\n')}\n`);
    return [path];
  });
}

async function joinAll(members: readonly Member[], ask: Ask): Promise<void> {
  const primaries = members.slice(0, primaryCount);
  const replicas = members.slice(primaryCount);
  for (const [at, {port}] of primaries.entries()) {
    const [first, next] = [at, at + 1].map((part) => Math.floor((part * slotCount) / primaryCount));
    await ask(port, 'CLUSTER', 'ADDSLOTSRANGE', String(first), String((next ?? 0) - 1));
  }
  const [{port: first}] = [...primaries, {port: 0}];
  for (const {port, busPort} of members.slice(1))
    await ask(first, 'CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPort));
  await expectOfAll(members, ask, ['CLUSTER', 'INFO'], `cluster_known_nodes:${members.length}`);
  for (const [at, {port}] of replicas.entries()) {
    const id = String(await ask(primaries[at]?.port ?? 0, 'CLUSTER', 'MYID'));
    // A server may be told of a primary's place a moment after its name.
    await vi.waitFor(() => ask(port, 'CLUSTER', 'REPLICATE', id), patience);
  }
  await expectOfAll(replicas, ask, ['INFO', 'replication'], 'master_link_status:up');
  await expectOfAll(members, ask, ['CLUSTER', 'INFO'], 'cluster_state:ok');
}

async function expectOfAll(
  members: readonly Member[],
  ask: Ask,
  question: readonly string[],
  expected: string,
): Promise<void> {
  const check = async ({port}: Member) => {
    if (!String(await ask(port, ...question)).includes(expected))
      throw new Error(`not yet: ${expected}`);
  };
  for (const member of members) await vi.waitFor(() => check(member), patience);
}

/**
 * @returns the ports of each primary and of its replica where that is well, the pair with our keys
 * first
 */
async function listPairs(
  asked: number,
  ask: Ask,
): Promise<[primary: number, replica: number | undefined][]> {
  const ours = Number(await ask(asked, 'CLUSTER', 'KEYSLOT', '{fieldmirror}'));
  type Range = [first: number, last: number, primary: [string, number], replica?: [string, number]];
  const ranges = (await ask(asked, 'CLUSTER', 'SLOTS')) as Range[];
  const isOurs = ([first, last]: Range) => first <= ours && ours <= last;
  return ranges
    .toSorted((a, b) => Number(isOurs(b)) - Number(isOurs(a)))
    .map(([, , [, primary], replica]) => [primary, replica?.[1]]);
}
