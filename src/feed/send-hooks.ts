// Runs the feed in a worker. On a notice of new entries it gives them positions and sends them to
// the subscribers, at once and at most every few milliseconds. If a notice is lost, the worker's
// next round makes up for it.

import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import type {Logger} from '../core/log.ts';
import {FailureReasons, Pulse} from '../core/pauses.ts';
import {Secret} from '../core/secret.ts';
import {listen} from '../postgres/listen.ts';
import {deliverClaim, type FailedTry, UndeliverableError} from './deliver.ts';
import {
  CursorError,
  type FeedBatch,
  feedChannel,
  messageType,
  readFeedBatch,
  sequenceFeed,
} from './feed.ts';
import {
  type ClaimedHook,
  claimHooks,
  hookQueue,
  moveCursor,
  saveAccepted,
  saveBatch,
  saveRefused,
} from './hooks.ts';
import {openAccess, parseTarget, type SendMeans, sendSigned} from './receivers.ts';

interface HookSenderDeps {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** For our own session, which listens: no pooler in between. */
  readonly directUrl: string;
  readonly means: SendMeans;
  /** Whether nothing may be sent, because the warehouse may be a copy. */
  readonly holds: () => boolean;
  /** Record whether the feed and its sending work; left out if they are not read. */
  readonly pulses?: {readonly feed: Pulse; readonly hooks: Pulse};
}

/**
 * The pause between two checks. Under a load of commits, many of them get their positions together.
 */
const pauseMs = 40;
/** The delay before a subscriber is checked again after a database error. */
const afterFailureMs = 200;
/**
 * How many subscribers are sent to at once: slow ones block no others as long as they are fewer.
 */
const maxParallel = 8;

export class FeedKeeper {
  readonly #deps: HookSenderDeps;
  readonly #pulses: {readonly feed: Pulse; readonly hooks: Pulse};
  readonly #stopping = new AbortController();
  readonly #sending = new Set<Promise<void>>();
  readonly #failures = new FailureReasons();
  #checking: Promise<void> | null = null;
  #isWanted = false;
  #isListening = false;

  constructor(deps: HookSenderDeps) {
    this.#deps = deps;
    this.#pulses = deps.pulses ?? {feed: new Pulse(), hooks: new Pulse()};
  }

  /** Starts a check soon. The first call also starts to listen for notices. */
  begin(): void {
    this.wake();
    if (this.#isListening) return;
    this.#isListening = true;
    const {directUrl, log} = this.#deps;
    const failures = new FailureReasons();
    void listen(directUrl, feedChannel, {
      signal: this.#stopping.signal,
      onNotice: () => this.wake(),
      onListening: () => {
        failures.forget();
        this.wake();
      },
      onFailure: (error) => {
        if (failures.note(String(error)))
          log.warn(
            {event: 'feed.polled', reason: String(error)},
            'the feed is polled every two seconds',
          );
      },
    });
  }

  /** Starts a check soon, and does not wait for it. Never fails. */
  wake(): void {
    this.#isWanted = true;
    if (this.#checking === null && !this.#stopping.signal.aborted) this.#checking = this.#check();
  }

  /** Resolves when nothing is in progress in this process. */
  async settled(): Promise<void> {
    while (this.#checking !== null || this.#sending.size > 0)
      await Promise.all([this.#checking, ...this.#sending]);
  }

  /** Ends the work in progress: a batch that was not accepted yet is sent by the next worker. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('shutdown'));
    await Promise.all([this.#checking, ...this.#sending]);
  }

  async #check(): Promise<void> {
    const {signal} = this.#stopping;
    while (this.#isWanted && !signal.aborted) {
      this.#isWanted = false;
      await this.#checkOnce()
        .then(() => this.#failures.forget())
        .catch((error: unknown) => this.#logFailure(String(error)));
      await wait(pauseMs, undefined, {signal}).catch(() => {});
    }
    this.#checking = null;
  }

  #logFailure(reason: string): void {
    if (!this.#failures.note(reason)) return;
    this.#deps.log.warn({event: 'feed.late', reason}, 'the feed waits for the next round');
  }

  async #checkOnce(): Promise<void> {
    const {feed, hooks} = this.#pulses;
    await feed.round(() => sequenceFeed(this.#deps.pool));
    // If no room is left, the sendings in progress report to the pulse themselves.
    if (this.#sending.size < maxParallel) await hooks.round(() => this.#sendDue());
  }

  async #sendDue(): Promise<void> {
    const {pool, means, holds} = this.#deps;
    // A subscriber whose key no worker has is a separate problem.
    if (means.keys.length === 0 || holds()) return;
    const keyIds = means.keys.map(({id}) => id);
    for (const hook of await claimHooks(pool, keyIds, maxParallel - this.#sending.size))
      this.#send(hook);
  }

  #send(hook: ClaimedHook): void {
    const {pool, log, means} = this.#deps;
    const {signal} = this.#stopping;
    const onMoved = () => this.#pulses.hooks.good();
    const sending = sendHook({pool, log, means, signal, onMoved}, hook)
      .catch(async (error: unknown) => {
        log.warn(
          {event: 'hook.not_recorded', hook: hook.name, reason: String(error)},
          'the feed of a subscriber waits for the database',
        );
        await wait(afterFailureMs, undefined, {signal}).catch(() => {});
      })
      .finally(() => {
        this.#sending.delete(sending);
        // An entry may have come between the last read and the end of the sending.
        this.wake();
      });
    this.#sending.add(sending);
  }
}

interface HookDeps extends Pick<HookSenderDeps, 'pool' | 'log' | 'means'> {
  readonly signal: AbortSignal;
  /** Called each time that the subscriber was sent a batch, or its cursor moved. */
  readonly onMoved?: () => void;
}

const backOff = {firstMs: 2_000, longestMs: 3_600_000};
/** About a day of tries. */
const maxTries = 34;

/**
 * Sends a subscriber the entries that it has not accepted yet, one batch after the other. It stops
 * if there are no more, if the subscriber accepts none, or if the claim no longer holds. A batch
 * that was not accepted is never skipped: an entry behind it may be its effect.
 * @throws errors of the database: they are no failure of the subscriber
 */
async function sendHook(deps: HookDeps, hook: ClaimedHook): Promise<void> {
  const options = {
    queue: hookQueue,
    backOff,
    mostTries: maxTries,
    send: (claim: ClaimedHook) => sendNext(deps, claim),
    refuse: (claim: ClaimedHook, failed: FailedTry) => postpone(deps, claim, failed),
  };
  let nextHook: ClaimedHook | null = hook;
  while (nextHook !== null) {
    nextHook = await deliverClaim(deps, options, nextHook);
    if (nextHook !== null) deps.onMoved?.();
  }
}

/**
 * @returns the subscriber behind its next batch; null if there is none, or the claim no longer
 *   holds
 */
async function sendNext(deps: HookDeps, hook: ClaimedHook): Promise<ClaimedHook | null> {
  const {pool, log, signal} = deps;
  const retryCommand = `fieldmirror hooks retry ${hook.name}`;
  signal.throwIfAborted();
  const batch = await readFeedBatch(pool, hook, hook).catch((error: unknown) => {
    if (!(error instanceof CursorError)) throw error;
    throw new UndeliverableError(
      `${error.message}; read the tables again, then ${retryCommand} --after end`,
      {cause: error},
    );
  });
  if (batch.to === hook.cursor) return null;
  if (batch.entries.length === 0) {
    if (!(await moveCursor(pool, hook, batch.to))) return null;
  } else {
    const batchId = await saveBatch(pool, hook, batch.to);
    if (batchId === null) return null;
    await sendBatch(deps, hook, {...batch, batchId});
    if (!(await saveAccepted(pool, hook))) return null;
    log.debug(
      {event: 'hook.delivered', hook: hook.name, entries: batch.entries.length},
      'a batch was taken',
    );
  }
  return {...hook, cursor: batch.to, batchId: null, batchTo: null, failures: 0};
}

/**
 * Sends a batch once.
 * @returns the answer, for a person: `200`
 * @throws {RetryableError} the subscriber does not accept it
 * @throws {UsageError | FatalError} this process cannot open its address, or may not use it
 */
export async function sendBatch(
  {means, signal}: Pick<HookDeps, 'means' | 'signal'>,
  {name, sealed}: Pick<ClaimedHook, 'name' | 'sealed'>,
  {batchId, entries, to}: FeedBatch & {readonly batchId: string},
): Promise<string> {
  const {address, secret = ''} = openAccess(sealed, means, {kind: 'feed_hooks', name});
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

async function postpone(
  {pool, log}: HookDeps,
  hook: ClaimedHook,
  failed: FailedTry,
): Promise<void> {
  await saveRefused(pool, hook, failed);
  const facts = {hook: hook.name, attempt: hook.failures + 1, reason: failed.error};
  if (failed.isLast)
    log.error({event: 'hook.stopped', ...facts}, 'a subscriber of the feed is stopped');
  else
    log.warn(
      {event: 'hook.postponed', ...facts},
      'a batch of the feed was not taken; it is sent again',
    );
}
