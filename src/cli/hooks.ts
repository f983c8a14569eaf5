// The verb `hooks`: subscribers that receive the feed over HTTP.

import type pg from 'pg';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {formatAgo, formatNumber} from '../core/format.ts';
import {checkShortName, defaultSystem, nearest} from '../core/names.ts';
import {inTone} from '../core/text.ts';
import {listFeedColumns, readFeedBatch, sequenceFeed} from '../feed/feed.ts';
import {
  type DeadLetter,
  deleteDeadLetter,
  deleteHook,
  describeHookScope,
  type FeedHook,
  giveAddress,
  type HookPlan,
  insertHook,
  listDeadLetters,
  listHooks,
  listWriters,
  readDeadLetter,
  readFeedEnd,
  refuseCursor,
  refuseWaiting,
  retryHook,
  skipBatch,
  spellWriter,
} from '../feed/hooks.ts';
import {expectSealingKey, makeWebhookSecret, parseTarget, sealAccess} from '../feed/receivers.ts';
import {sendBatch} from '../feed/send-hooks.ts';
import {defaultEntries, maxEntries} from '../feed/terms.ts';
import {namePlace, refuseCopy} from '../health/installation.ts';
import type {Queryable} from '../postgres/database.ts';
import {allTables} from '../streams/all.ts';
import {chooseAccount} from './accounts.ts';
import {fitTable, type OutputOptions, print, readSecret, wrap} from './terminal.ts';
import {type Warehouse, withWarehouse} from './warehouse.ts';

/**
 * Creates a subscriber, or stores the address of one that a file of settings has created. A worker
 * sends it the entries of the feed from its creation on, or from the cursor that is given.
 * @throws {UsageError} an invalid address, table, writer, account or cursor, no key to seal with, a
 *   name that is taken
 */
export async function hooksAdd(
  config: Config,
  name: string,
  {account, json, ...options}: OutputOptions & HookOptions & {readonly account?: string},
): Promise<number> {
  const {plan, secret} = planHook(config, name, await readSecretAddress(name, options));
  return await withWarehouse(config, {migrates: true}, async ({pool}) => {
    const chosen = account === undefined ? null : await chooseAccount({pool}, account);
    const storedHook = (await listHooks(pool)).find((each) => each.name === name);
    if (storedHook?.hasAddress === false) refuseSettings(name, {...options, account});
    checkWriters(plan.leavesOut ?? [], await listWriters(pool));
    // Entries that are committed already must come before the end of the feed, not after it.
    await sequenceFeed(pool);
    const storing =
      storedHook?.hasAddress === false
        ? giveAddress(pool, {
            ...plan,
            after: options.after === 'end' ? await readFeedEnd(pool) : plan.after,
          })
        : insertHook(pool, {...plan, accountId: chosen?.accountId ?? null});
    const cursor = await storing.catch(refuseCursor);
    if (cursor === null)
      throw new UsageError(
        `hooks add: there is a subscriber ${name} already; fieldmirror hooks remove ${name}`,
      );
    const lines = [
      `${name} is sent the feed at ${plan.target} from cursor ${cursor} on; ` +
        'to see whether it arrives: fieldmirror hooks list',
      ...['', secret, '', 'It signs each message (Standard Webhooks), and is shown this once.'],
    ];
    print(json, {
      json: {
        name,
        target: plan.target,
        account: chosen?.name ?? storedHook?.account ?? null,
        cursor,
        secret,
      },
      text: lines.join('\n'),
    });
    return 0;
  });
}

/**
 * @throws {UsageError} settings beside the address: they would be lost silently, because the file
 *   has them
 */
function refuseSettings(
  name: string,
  {
    table,
    column,
    leaveOut,
    limit,
    mask,
    system,
    account,
  }: HookOptions & {readonly account: string | undefined},
): void {
  const extras = [
    ...(table.length > 0 ? ['--table'] : []),
    ...(column.length > 0 ? ['--column'] : []),
    ...(leaveOut.length > 0 ? ['--leave-out'] : []),
    ...(limit === defaultEntries ? [] : ['--limit']),
    ...(mask ? ['--mask'] : []),
    ...(system === undefined ? [] : ['--system']),
    ...(account === undefined ? [] : ['--account']),
  ];
  if (extras.length === 0) return;
  throw new UsageError(
    `hooks add: expected the address of ${name} alone, for a file of settings made it and has ` +
      `the rest, got ${extras.join(', ')}; change the file and fieldmirror config apply it, ` +
      `or fieldmirror hooks remove ${name} first`,
  );
}

/**
 * An address that was given as `-` is read as a secret: every user of the machine sees the
 * arguments of a verb.
 */
async function readSecretAddress(name: string, options: HookOptions): Promise<HookOptions> {
  if (options.url !== '-') return options;
  const missingMessage = 'hooks add: --url: expected the address on standard input, got nothing';
  const address = await readSecret(`--url of ${name} (it is not shown): `, missingMessage);
  return {...options, url: address.reveal()};
}

/** Lists the subscribers, the progress of each, and the dead letters. */
export async function hooksList(config: Config, {json}: OutputOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const hooks = await listHooks(pool);
    const deadLetters = await listDeadLetters(pool);
    print(json, {json: {hooks, deadLetters}, text: formatHooks(hooks, deadLetters)});
    return 0;
  });
}

/**
 * Removes a subscriber: nothing is sent to it from now on.
 * @throws {UsageError} no subscriber has that name
 */
export async function hooksRemove(
  config: Config,
  name: string,
  {json}: OutputOptions,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    await findHook(pool, name, 'remove');
    await deleteHook(pool, name);
    print(json, {json: {name}, text: `${name} is no longer sent anything`});
    return 0;
  });
}

interface RetryOptions extends OutputOptions {
  readonly letter?: number;
  readonly after?: string;
  readonly signal: AbortSignal;
}

/**
 * Makes a worker send to a subscriber again at once; or sends one of its dead letters now, out of
 * order.
 * @throws {UsageError} there is no such subscriber or dead letter, the subscriber waits for its
 *   address, or the cursor cannot be read
 * @throws {RetryableError} the subscriber does not accept the dead letter
 */
export async function hooksRetry(
  config: Config,
  name: string,
  options: RetryOptions,
): Promise<number> {
  const {letter, after, json} = options;
  if (letter !== undefined && after !== undefined)
    throw new UsageError('hooks retry: expected --letter or --after, got both');
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    const hook = await findHook(pool, name, 'retry');
    refuseWaiting(hook);
    if (letter !== undefined)
      return await sendLetter(config, warehouse, {...options, hook, letter});
    const startCursor = (await retryHook(pool, name, after ?? null)) ?? hook.cursor;
    print(json, {
      json: {name, cursor: startCursor},
      text: `${name} is sent the feed again, from cursor ${startCursor} on`,
    });
    return 0;
  });
}

async function sendLetter(
  config: Config,
  {pool}: Warehouse,
  {
    hook: {name},
    letter,
    json,
    signal,
  }: RetryOptions & {readonly hook: FeedHook; readonly letter: number},
): Promise<number> {
  const letterId = String(letter);
  const {target, answer, entries} = await sendDeadLetter(config, pool, {name, letterId, signal});
  await deleteDeadLetter(pool, letterId);
  print(json, {
    json: {name, letter, answer, entries},
    text: `${target} took dead letter ${letter}: ${answer}`,
  });
  return 0;
}

/** A subscriber's answer to a dead letter, for a person. */
interface SentLetter {
  readonly target: string;
  readonly answer: string;
  /** The number of entries that were sent. */
  readonly entries: number;
}

/**
 * Sends a dead letter now, once. The letter is kept: the caller deletes it.
 * @throws {RetryableError} the subscriber does not accept it
 * @throws {UsageError | FatalError} there is no such letter, its entries are no longer kept, or
 *   nothing may be sent from here
 */
export async function sendDeadLetter(
  config: Config,
  pool: pg.Pool,
  {
    name,
    letterId,
    signal,
  }: {readonly name: string; readonly letterId: string; readonly signal?: AbortSignal},
): Promise<SentLetter> {
  await refuseCopy(pool, await namePlace(config));
  const {target} = await findHook(pool, name, 'retry');
  const deadLetter = await readDeadLetter(pool, {name, letterId});
  if (deadLetter === null || deadLetter.batchId === null)
    throw createLetterError('retry', name, letterId);
  const batch = await readFeedBatch(pool, deadLetter, deadLetter).catch(refuseCursor);
  const means = {
    keys: config.keys,
    allowsHttp: config.allowsHttp,
    allowsLinkLocal: config.allowsLinkLocal,
    onSecret: () => {},
  };
  const answer = await sendBatch(
    {means, signal: signal ?? new AbortController().signal},
    deadLetter,
    {
      ...batch,
      batchId: deadLetter.batchId,
    },
  );
  return {target, answer, entries: batch.entries.length};
}

/**
 * Stores the batch that a subscriber does not accept as a dead letter, and continues after it; or
 * deletes a dead letter for good.
 * @throws {UsageError} there is no such subscriber or dead letter, or no batch that the subscriber
 *   does not accept
 */
export async function skip(
  config: Config,
  name: string,
  {letter, json}: OutputOptions & {readonly letter?: number},
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    await findHook(pool, name, 'skip');
    if (letter !== undefined) {
      if ((await readDeadLetter(pool, {name, letterId: String(letter)})) === null)
        throw createLetterError('skip', name, String(letter));
      await deleteDeadLetter(pool, String(letter));
      print(json, {
        json: {name, dropped: letter},
        text: `dead letter ${letter} of ${name} is dropped`,
      });
      return 0;
    }
    const letterId = await skipBatch(pool, name);
    if (letterId === null)
      throw new UsageError(
        `hooks skip: expected a batch that ${name} does not take, got none; hooks list`,
      );
    print(json, {
      json: {name, letter: Number(letterId)},
      text:
        `${name} continues after the batch, which is dead letter ${letterId}: ` +
        `fieldmirror hooks retry ${name} --letter ${letterId} sends it late`,
    });
    return 0;
  });
}

async function findHook(db: Queryable, name: string, verb: string): Promise<FeedHook> {
  const hooks = await listHooks(db);
  const hook = hooks.find((each) => each.name === name);
  if (hook !== undefined) return hook;
  const names = hooks.map((each) => each.name);
  throw new UsageError(
    `hooks ${verb}: no subscriber "${name}"${nearest(name, names)}; fieldmirror hooks list`,
  );
}

function createLetterError(verb: string, name: string, letter: string): UsageError {
  return new UsageError(
    `hooks ${verb}: ${name} has no dead letter ${letter}; fieldmirror hooks list`,
  );
}

/** The text of `hooks list`: a table of subscribers, their problems, then the dead letters. */
function formatHooks(hooks: readonly FeedHook[], deadLetters: readonly DeadLetter[]): string {
  if (hooks.length === 0)
    return 'no subscriber is sent the feed: fieldmirror hooks add NAME --url URL';
  const columnTitles = ['subscriber', 'at', 'of', 'last taken', 'behind', 'state'];
  const failing = hooks.flatMap(({name, failingSince, lastError}) =>
    failingSince === null
      ? []
      : [wrap(`${name} takes nothing, ${formatAgo(failingSince)}: ${lastError}`)],
  );
  const waiting = hooks.flatMap(({name, hasAddress}) =>
    hasAddress
      ? []
      : [wrap(`${name} waits for its address: fieldmirror hooks add ${name} --url URL`)],
  );
  const letters = deadLetters.map(({letterId, hook, skippedAt, reason}) =>
    wrap(`dead letter ${letterId} of ${hook}, skipped ${formatAgo(skippedAt)}: ${reason}`),
  );
  return [fitTable(columnTitles, hooks.map(describeHook)), ...failing, ...waiting, ...letters].join(
    '\n',
  );
}

function describeHook({name, target, sentAt, behind, ...hook}: FeedHook): (string | number)[] {
  const servedState = hook.isUntaken ? `waits for key ${hook.keyId}` : 'active';
  const state = hook.hasAddress ? servedState : 'has no address';
  return [
    name,
    target,
    describeHookScope(hook),
    sentAt === null ? 'never' : formatAgo(sentAt),
    behind === null ? '?' : formatNumber(behind),
    hook.stoppedAt !== null
      ? inTone('stopped')
      : hook.failingSince !== null
        ? `failing (${hook.attempts})`
        : state,
  ];
}

export interface HookOptions {
  readonly url: string;
  readonly table: readonly string[];
  /** A row is sent only if one of these columns changed; empty: every changed row is sent. */
  readonly column: readonly string[];
  /** Logins, and keys as `http:NAME`, whose entries are not sent. */
  readonly leaveOut: readonly string[];
  readonly after?: string;
  readonly limit: number;
  readonly mask: boolean;
  /** The outside system whose record keys are sent. */
  readonly system?: string;
}

/** A subscriber that can be stored, and the secret that is printed only this once. */
interface PlannedHook {
  readonly plan: Omit<HookPlan, 'accountId'>;
  readonly secret: string;
}

const tables = allTables.map(({name}) => name);

/**
 * Builds a subscriber from the options that were typed.
 * @throws {UsageError} an address that is not allowed, an unknown table or column, a limit that is
 *   too large, no key to seal with
 */
export function planHook(
  {keys, allowsHttp}: Pick<Config, 'keys' | 'allowsHttp'>,
  name: string,
  {url, table, column, leaveOut, after, limit, mask, system = defaultSystem}: HookOptions,
): PlannedHook {
  checkShortName(name, 'hooks add');
  checkShortName(system, 'hooks add: --system');
  for (const typed of table)
    if (!tables.includes(typed))
      throw new UsageError(
        `hooks add: no table "${typed}"${nearest(typed, tables)}; there are ${tables.join(', ')}`,
      );
  const columns = listFeedColumns(table.length === 0 ? null : table);
  for (const typed of column)
    if (!columns.includes(typed))
      throw new UsageError(
        `hooks add: --column: no column "${typed}" in ${table.join(', ') || 'any table'}` +
          `${nearest(typed, columns)}; docs/data-dictionary.md lists them`,
      );
  if (limit < 1 || limit > maxEntries)
    throw new UsageError(`hooks add: --limit: expected 1 to ${maxEntries}, got ${limit}`);
  const key = expectSealingKey(keys, 'hooks add', 'subscriber');
  const {host} = parseTarget(url, allowsHttp);
  const secret = makeWebhookSecret();
  const plan = {
    name,
    target: host,
    masks: mask,
    most: limit,
    system,
    sealed: sealAccess({address: url, secret}, key, {kind: 'feed_hooks', name}),
    tables: table.length === 0 ? null : [...table],
    columns: column.length === 0 ? null : [...column],
    leavesOut: leaveOut.length === 0 ? null : leaveOut.map(spellWriter),
    after: after === undefined || after === 'end' ? null : after,
  };
  return {plan, secret};
}

/**
 * @throws {UsageError} a writer is neither a login nor a key: its entries would come back as an
 *   echo
 */
function checkWriters(writers: readonly string[], known: readonly string[]): void {
  for (const writer of writers)
    if (!known.includes(writer))
      throw new UsageError(
        `hooks add: --leave-out: no login and no key "${writer}"${nearest(writer, known)}; ` +
          'a key is given as http:NAME',
      );
}
