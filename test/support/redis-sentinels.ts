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

/** The name that the sentinels have for the primary. */
const name = 'queue';
/** The sentinels have a password of their own. */
export const sentinelPassword = 'canary-sentinel';
const sentinelCount = 3;
/** A primary that is silent for so long is replaced by its replica. */
const downAfterMs = 1_500;
const patience = {timeout: 30_000, interval: 50};

/** A primary with one replica, and three sentinels; the address names two of them. */
export async function startSentinels({isTls = false} = {}): Promise<ManyRedises> {
  const setUp = new SetUp();
  const access = await openAccess(setUp, {isTls});
  const [primary = 0, replica = 0, ...sentinels] = await freePorts(2 + sentinelCount);
  const processes: RedisProcess[] = [];
  const start = async (port: number, lines: readonly string[], more: readonly string[] = []) =>
    processes.push(
      await setUp.step(
        'starting a server',
        () => run(access, port, lines, more),
        ({stop}) => stop(),
      ),
    );
  await start(primary, dataLines);
  await start(replica, [...dataLines, `replicaof 127.0.0.1 ${primary}`]);
  await until(() => access.ask(replica, password, 'INFO', 'replication'), /master_link_status:up/);
  for (const port of sentinels) await start(port, sentinelLines(primary), ['--sentinel']);
  const askSentinel = (port: number, ...command: string[]) =>
    access.ask(port, sentinelPassword, 'SENTINEL', ...command);
  for (const port of sentinels) {
    const state = async () => String(await askSentinel(port, 'MASTER', name));
    await until(state, new RegExp(`num-slaves,1,num-other-sentinels,${sentinelCount - 1},`));
  }
  const hosts = sentinels.slice(1).map((port) => `127.0.0.1:${port}`);
  const findPrimary = async () => {
    const answer = await askSentinel(sentinels[0] ?? 0, 'GET-MASTER-ADDR-BY-NAME', name);
    return Array.isArray(answer) ? Number(answer[1]) : 0;
  };
  return {
    url:
      `${access.scheme}-sentinel://default:${encodedPassword}@${hosts.join(',')}/${name}/2` +
      `?sentinel_password=${sentinelPassword}`,
    certificatePath: access.certificatePath,
    primaries: async () => [await findPrimary()],
    replica: async () => ((await findPrimary()) === primary ? replica : primary),
    signal: (port, signal) => processes.find((each) => each.port === port)?.signal(signal),
    ask: (port, ...command) => access.ask(port, password, ...command),
    stop: () => setUp.end(),
  };
}

const dataLines = [
  ...['save ""', 'appendonly yes', 'repl-diskless-sync-delay 0'],
  ...[`requirepass ${password}`, `masterauth ${password}`],
];

function sentinelLines(primary: number): string[] {
  return [
    `requirepass ${sentinelPassword}`,
    `sentinel sentinel-pass ${sentinelPassword}`,
    `sentinel monitor ${name} 127.0.0.1 ${primary} 2`,
    `sentinel auth-pass ${name} ${password}`,
    `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
    `sentinel failover-timeout ${name} 1000`,
  ];
}

async function run(
  access: RedisAccess,
  port: number,
  lines: readonly string[],
  more: readonly string[],
): Promise<RedisProcess> {
  return await runRedis(port, async (folder) => {
    const path = join(folder, 'redis.conf');
    const all = [...access.listen(port), `dir ${folder}`, 'bind 127.0.0.1', ...lines];
    await writeFile(path, `${all.join('\n')}\n`);
    return [path, ...more];
  });
}

async function until(ask: () => Promise<unknown>, expected: RegExp): Promise<void> {
  await vi.waitFor(async () => {
    if (!expected.test(String(await ask()))) throw new Error(`not yet: ${expected}`);
  }, patience);
}
