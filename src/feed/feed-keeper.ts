// The feed as a worker keeps it: a notice of new entries gives them positions and sends them to the
// subscribers, at once and at most every few milliseconds. A lost notice is made up for by the
// worker's next round.

import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import type {Logger} from '../core/log.ts';
import {Pulse} from '../core/rounds.ts';
import {listen} from '../postgres/listen.ts';
import {claimHooks} from './hook-claims.ts';
import {feedChannel, sequenceFeed} from './read-feed.ts';
import {type HookMeans, sendHook} from './send-hook.ts';

export interface KeeperDeps {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Of a session of our own, to listen at: no pooler in between. */
  readonly directUrl: string;
  readonly means: HookMeans;
  /** Whether nothing may be sent, because the warehouse may be a copy. */
  readonly holds: () => boolean;
  /** How the feed and the sending of it fare; left out where nobody asks. */
  readonly pulses?: {readonly feed: Pulse; readonly hooks: Pulse};
}

/** Between two looks: under a load of commits, so many of them get their positions together. */
const pauseMs = 40;
/** Until a subscriber is looked at again that the database failed. */
const afterTroubleMs = 200;
/** Subscribers that are slow hold up no others but these. */
const atOnce = 8;

export class FeedKeeper {
  readonly #deps: KeeperDeps;
  readonly #pulses: {readonly feed: Pulse; readonly hooks: Pulse};
  readonly #stopping = new AbortController();
  readonly #sending = new Set<Promise<void>>();
  #looking: Promise<void> | null = null;
  #isWanted = false;
  #isListening = false;

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
    this.#pulses = deps.pulses ?? {feed: new Pulse(), hooks: new Pulse()};
  }

  /** Looks soon, and listens for notices from the first time on. */
  begin(): void {
    this.wake();
    if (this.#isListening) return;
    this.#isListening = true;
    const {directUrl, log} = this.#deps;
    void listen(directUrl, feedChannel, {
      signal: this.#stopping.signal,
      onNotice: () => this.wake(),
      onListening: () => this.wake(),
      onFailure: (error) =>
        log.warn(
          {event: 'feed.unheard', reason: String(error)},
          'the feed is looked at every two seconds',
        ),
    });
  }

  /** Looks soon, and does not wait for it. Never fails. */
  wake(): void {
    this.#isWanted = true;
    if (this.#looking === null && !this.#stopping.signal.aborted) this.#looking = this.#look();
  }

  /** Resolves when nothing is under way in this process. */
  async settled(): Promise<void> {
    while (this.#looking !== null || this.#sending.size > 0)
      await Promise.all([this.#looking, ...this.#sending]);
  }

  /** Ends what is under way: a batch that was not taken yet is sent by the next worker. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('shutdown'));
    await Promise.all([this.#looking, ...this.#sending]);
  }

  async #look(): Promise<void> {
    const {signal} = this.#stopping;
    while (this.#isWanted && !signal.aborted) {
      this.#isWanted = false;
      await this.#lookOnce().catch((error: unknown) =>
        this.#deps.log.warn(
          {event: 'feed.late', reason: String(error)},
          'the feed waits for the next round',
        ),
      );
      await wait(pauseMs, undefined, {signal}).catch(() => {});
    }
    this.#looking = null;
  }

  async #lookOnce(): Promise<void> {
    const {feed, hooks} = this.#pulses;
    await feed.round(() => sequenceFeed(this.#deps.pool));
    // With no room left, those that are being sent to note that they move on.
    if (this.#sending.size < atOnce) await hooks.round(() => this.#sendDue());
  }

  async #sendDue(): Promise<void> {
    const {pool, means, holds} = this.#deps;
    // A subscriber whose key no worker has is a concern by itself.
    if (means.keys.length === 0 || holds()) return;
    const keyIds = means.keys.map(({id}) => id);
    for (const hook of await claimHooks(pool, keyIds, atOnce - this.#sending.size))
      this.#send(hook);
  }

  #send(hook: Parameters<typeof sendHook>[1]): void {
    const {pool, log, means} = this.#deps;
    const {signal} = this.#stopping;
    const onMoved = () => this.#pulses.hooks.good();
    const sending = sendHook({pool, log, means, signal, onMoved}, hook)
      .catch(async (error: unknown) => {
        log.warn(
          {event: 'hook.unnoted', hook: hook.name, reason: String(error)},
          'the feed of a subscriber waits for the database',
        );
        await wait(afterTroubleMs, undefined, {signal}).catch(() => {});
      })
      .finally(() => {
        this.#sending.delete(sending);
        // An entry may have come between its last look and its end.
        this.wake();
      });
    this.#sending.add(sending);
  }
}
