// A server that was killed is started anew on the port that pools know. Our own session tells at
// once that the server has gone, and shows other processes that the server is in use, however quiet
// it is.

import {setTimeout as wait} from 'node:timers/promises';
import pg from 'pg';
import type {EmbeddedPlace} from './embedded-data.ts';
import {addressOf, type EmbeddedServer, findRefusal, start} from './embedded-server.ts';

/**
 * A server that is restarted by hand, or that ended one session only, is back by itself within so
 * many looks.
 */
const looks = 4;
const betweenLooksMs = 500;

export class EmbeddedKeeper {
  readonly #place: EmbeddedPlace;
  readonly #server: EmbeddedServer;
  readonly #onStart: () => void;
  readonly #stopping = new AbortController();
  readonly #kept: Promise<void>;

  /** @param onStart - called before the server is started anew */
  constructor(place: EmbeddedPlace, server: EmbeddedServer, onStart: () => void) {
    this.#place = place;
    this.#server = server;
    this.#onStart = onStart;
    this.#kept = this.#keep();
  }

  /** From now on the server may end. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#kept;
  }

  async #keep(): Promise<void> {
    const {signal} = this.#stopping;
    while (!signal.aborted) {
      await this.#holdSession();
      if (!signal.aborted && !(await this.#isBackByItself()) && !signal.aborted)
        await this.#startAnew();
    }
  }

  /** Holds a session until it breaks, or we stop. */
  async #holdSession(): Promise<void> {
    const {signal} = this.#stopping;
    const connectionString = addressOf(this.#server, 'postgres');
    const client = new pg.Client({
      connectionString,
      application_name: 'fieldmirror keeps the server',
    });
    const ended = Promise.withResolvers<void>();
    const end = () => ended.resolve();
    client.on('error', end);
    client.on('end', end);
    signal.addEventListener('abort', end);
    try {
      await client.connect();
      await ended.promise;
    } catch {
      // The server is away: the next look tells.
    } finally {
      signal.removeEventListener('abort', end);
      await client.end().catch(() => {});
    }
  }

  async #isBackByItself(): Promise<boolean> {
    const {signal} = this.#stopping;
    for (let look = 1; look <= looks && !signal.aborted; look++) {
      if ((await findRefusal(this.#server)) === null) return true;
      await wait(betweenLooksMs, undefined, {signal}).catch(() => {});
    }
    return false;
  }

  /**
   * A start that fails is tried again at the next look: parts of the killed server may still be
   * ending.
   */
  async #startAnew(): Promise<void> {
    this.#onStart();
    await start(this.#place, this.#server.port).catch(() => {});
  }
}
