import type pg from 'pg';
import {listRevoked} from '../accounts/access.ts';

/** How long a request may wait on after its key was revoked. */
const everyMs = 2_000;

/**
 * Ends the requests that wait when their key is revoked. All of them together cost one question
 * every two seconds.
 */
export class KeyWatch {
  readonly #pool: pg.Pool;
  readonly #waiting = new Map<AbortController, string>();
  #timer: NodeJS.Timeout | null = null;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** @returns a signal that aborts when the key is revoked; `leave` ends the watch */
  follow(apiKeyId: string): {readonly revoked: AbortSignal; readonly leave: () => void} {
    const controller = new AbortController();
    this.#waiting.set(controller, apiKeyId);
    this.#timer ??= setInterval(() => void this.#look(), everyMs).unref();
    return {revoked: controller.signal, leave: () => this.#leave(controller)};
  }

  #leave(controller: AbortController): void {
    this.#waiting.delete(controller);
    if (this.#waiting.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  async #look(): Promise<void> {
    try {
      const revoked = new Set(await listRevoked(this.#pool, [...new Set(this.#waiting.values())]));
      for (const [controller, apiKeyId] of this.#waiting)
        if (revoked.has(apiKeyId)) controller.abort();
    } catch {
      // The database is away: the request itself fails with it, or the next look finds the key.
    }
  }
}
