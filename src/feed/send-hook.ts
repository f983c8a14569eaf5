import type pg from 'pg';
import {FatalError, RetryableError, UsageError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import type {SealingKey} from '../core/secret.ts';
import {Secret} from '../core/secret.ts';
import {sendSigned} from './deliver.ts';
import {
  beginBatch,
  type ClaimedHook,
  moveOn,
  noteRefused,
  noteTaken,
  release,
} from './hook-claims.ts';
import {CursorError} from './read-feed.ts';
import {type Batch, messageType, readBatch} from './read-feed-batch.ts';
import {openAccess} from './receiver-access.ts';
import {parseTarget} from './receiver-target.ts';

/** The means of a process to send to subscribers. */
export interface HookMeans {
  readonly keys: readonly SealingKey[];
  readonly allowsHttp: boolean;
  readonly allowsLinkLocal?: boolean;
  /** Told of every secret that is opened, so that a log can be kept clean of it. */
  readonly onSecret: (secret: Secret) => void;
}

export interface HookDeps {
  readonly pool: pg.Pool;
  readonly log: Logger;
  readonly means: HookMeans;
  readonly signal: AbortSignal;
  /** Is told each time that the subscriber was sent a batch, or moved on. */
  readonly onMoved?: () => void;
}

const firstMs = 2_000;
const longestMs = 3_600_000;
/** About a day of tries. */
const mostAttempts = 34;

/**
 * Sends a subscriber what it has not taken yet, one batch after the other, until there is no more,
 * it takes none, or it is no longer ours. A batch that it does not take is never passed over: an
 * entry behind it may be its effect.
 * @throws what the database throws: that is no failure of the subscriber
 */
export async function sendHook(deps: HookDeps, hook: ClaimedHook): Promise<void> {
  const {pool, signal, log, onMoved} = deps;
  let {cursor, batchTo, attempts} = hook;
  try {
    while (!signal.aborted) {
      const batch = await readBatch(pool, hook, {cursor, batchTo});
      if (batch.entries.length === 0) {
        if (batch.to === cursor || !(await moveOn(pool, hook, batch.to))) break;
      } else {
        const batchId = await beginBatch(pool, hook, batch.to);
        if (batchId === null) return;
        await sendBatch(deps, hook, {...batch, batchId});
        if (!(await noteTaken(pool, hook))) return;
        log.debug(
          {event: 'hook.taken', hook: hook.name, entries: batch.entries.length},
          'a batch was taken',
        );
      }
      onMoved?.();
      cursor = batch.to;
      batchTo = null;
      attempts = 0;
    }
    await release(pool, hook);
  } catch (error) {
    if (!signal.aborted && isOfHook(error)) return await postpone(deps, {...hook, attempts}, error);
    await release(pool, hook);
    if (!signal.aborted) throw error;
  }
}

/**
 * Sends a batch once.
 * @returns the answer, for a person: `200`
 * @throws {RetryableError} the subscriber does not take it
 * @throws {UsageError | FatalError} this process cannot open its address, or may not use it
 */
export async function sendBatch(
  {means, signal}: Pick<HookDeps, 'means' | 'signal'>,
  {name, sealed}: Pick<ClaimedHook, 'name' | 'sealed'>,
  {batchId, entries, to}: Batch & {readonly batchId: string},
): Promise<string> {
  const {address, secret = ''} = openAccess(sealed, means.keys, {kind: 'feed_hooks', name});
  for (const text of [address, secret]) means.onSecret(new Secret(text));
  const url = parseTarget(address, means.allowsHttp);
  const body = JSON.stringify({
    type: messageType,
    timestamp: entries.at(-1)?.at ?? new Date().toISOString(),
    data: {hook: name, entries, cursor: to},
  });
  return await sendSigned(
    {url, secret: new Secret(secret)},
    {messageId: batchId, body},
    {...means, signal},
  );
}

function isOfHook(error: unknown): boolean {
  return [RetryableError, UsageError, FatalError, CursorError].some(
    (kind) => error instanceof kind,
  );
}

async function postpone({pool, log}: HookDeps, hook: ClaimedHook, cause: unknown): Promise<void> {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const isGone = cause instanceof CursorError;
  const error = isGone
    ? `${reason}; read the tables anew, then fieldmirror hooks retry ${hook.name} --after end`
    : reason;
  const asked = cause instanceof RetryableError ? (cause.retryAfterMs ?? 0) : 0;
  const stops = isGone || hook.attempts + 1 >= mostAttempts;
  await noteRefused(pool, hook, {error, afterMs: Math.max(asked, backOffMs(hook.attempts)), stops});
  const facts = {hook: hook.name, attempt: hook.attempts + 1, reason: error};
  if (stops) log.error({event: 'hook.stopped', ...facts}, 'a subscriber of the feed is stopped');
  else
    log.warn(
      {event: 'hook.postponed', ...facts},
      'a batch of the feed was not taken; it is sent again',
    );
}

/** Twice as long after each try, and never in step with others. */
function backOffMs(attempts: number): number {
  const longest = Math.min(firstMs * 2 ** Math.min(attempts, 20), longestMs);
  return Math.round(longest * (0.5 + Math.random() / 2));
}
