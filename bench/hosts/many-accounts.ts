// Many accounts of one service, each with a due sweep of every stream.

import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import {pauseAccount, saveSealedToken, upsertAccount} from '../../src/accounts/accounts.ts';
import {parseKeys, Secret, seal} from '../../src/core/secret.ts';
import {allStreams} from '../../src/streams/all.ts';
import {requestSweep} from '../../src/sweeps/sweeps.ts';
import type {AccountServer} from '../../test/jobs/account-server.ts';
import type {Running} from '../../test/support/command.ts';

const lookEveryMs = 20;
/** Longer than anything that a bench waits for: it ends with an error rather than never. */
const standstillMs = 300_000;

export function nameAccount(number: number): string {
  return `account-${number}`;
}

/**
 * Adds accounts with sealed tokens and a due sweep of every stream, paused until all workers are
 * there.
 * @param added.key - the key that tokens are sealed with, as FIELDMIRROR_KEY has it
 */
export async function addAccounts(
  pool: pg.Pool,
  server: AccountServer,
  added: {readonly count: number; readonly key: string},
): Promise<void> {
  const [key] = parseKeys(added.key);
  if (key === undefined) throw new Error('no key');
  for (let number = 1; number <= added.count; number++) {
    const name = nameAccount(number);
    const account = await upsertAccount(pool, {name, apiUrl: server.urlOf(name), timeZone: 'UTC'});
    const {accountId} = account;
    await saveSealedToken(pool, accountId, seal(new Secret(server.tokenOf(name)), key, accountId));
    await pauseAccount(pool, accountId, 'until the workers are there');
    await requestSweeps(pool, accountId);
  }
}

/** Asks for a full sweep of every stream of an account. */
export async function requestSweeps(pool: pg.Pool, accountId: string): Promise<void> {
  for (const {name: stream} of allStreams)
    await requestSweep(pool, {accountId, stream, mode: 'full', requestedBy: 'command'});
}

/** Does some work while workers are at work, and kills them. */
export async function whileAtWork<T>(
  workers: readonly Running[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    for (const worker of workers) await expectAtWork(worker);
    return await work();
  } finally {
    for (const worker of workers) worker.process.kill('SIGKILL');
    await Promise.all(workers.map(({ended}) => ended));
  }
}

/**
 * @throws {Error} it has ended, or is not at work after a long while; with everything that it
 * printed
 */
async function expectAtWork(worker: Running): Promise<void> {
  const standstill = setTimeout(() => worker.process.kill('SIGKILL'), standstillMs);
  await worker.prints(/Running\. Ctrl-C/).finally(() => clearTimeout(standstill));
}

/**
 * @param awaited - a sentence for the error
 * @returns seconds that it took
 * @throws {Error} it does not come
 */
export async function waitUntil(awaited: string, look: () => Promise<boolean>): Promise<number> {
  const startedAt = performance.now();
  while (!(await look())) {
    if (performance.now() - startedAt > standstillMs)
      throw new Error(`waited in vain until ${awaited}`);
    await wait(lookEveryMs);
  }
  return (performance.now() - startedAt) / 1000;
}

/** Lets all accounts be swept. */
export async function beginSweeps(pool: pg.Pool): Promise<void> {
  await pool.query(`UPDATE sync.accounts SET state = 'active', state_since = now()`);
}

/**
 * Waits until at most so many sweeps are left.
 * @param asked.except - names of accounts whose sweeps do not count
 * @throws {Error} a sweep failed, or for a long while none has ended
 */
export async function waitForSweeps(
  pool: pg.Pool,
  {left = 0, except = []}: {readonly left?: number; readonly except?: readonly string[]} = {},
): Promise<void> {
  for (
    let endedAt = performance.now(), leftBefore = Number.POSITIVE_INFINITY;
    ;
    await wait(lookEveryMs)
  ) {
    const {rows} = await pool.query(
      `SELECT count(*)::int AS left, count(*) FILTER (WHERE sweeps.state = 'failed')::int AS failed,
              min(concat_ws(' ', name, stream, sweeps.state, stage, error)) AS one
         FROM sync.sweeps JOIN sync.accounts USING (account_id)
        WHERE name <> ALL ($1) AND sweeps.state NOT IN ('certified', 'uncertified')`,
      [except],
    );
    const [now] = rows;
    if (now.failed > 0) throw new Error(`${now.failed} sweeps failed`);
    if (now.left <= left) return;
    if (now.left < leftBefore) endedAt = performance.now();
    leftBefore = now.left;
    if (performance.now() - endedAt > standstillMs)
      throw new Error(
        `no sweep has ended for ${standstillMs / 1000} s; ${now.left} are left, one is: ${now.one}`,
      );
  }
}
