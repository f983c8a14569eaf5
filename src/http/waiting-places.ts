import type {FastifyReply} from 'fastify';
import type {KeyWatch} from './key-watch.ts';
import {Problem} from './problem.ts';

/** Requests of one key that may wait at once. */
const waitingAtOnce = 20;

/**
 * Places of each key for requests that wait until something happens: they take no turn of its reads
 * while they do.
 */
export class WaitingPlaces {
  readonly #what: string;
  readonly #hint: string;
  readonly #keys: KeyWatch | null;
  readonly #waiting = new Map<string, number>();

  /**
   * @param what - `the feed`, for the words of a refusal
   * @param hint - what to do instead
   * @param keys - ends the work when its key is revoked; left out: the work looks at its key itself
   */
  constructor(what: string, hint: string, keys: KeyWatch | null = null) {
    this.#what = what;
    this.#hint = hint;
    this.#keys = keys;
  }

  /**
   * Does the work of a request in a place of its key.
   * @param work - gets a signal that aborts when the client is gone, or the key is revoked
   * @throws {Problem} 429: every place of the key is taken; 401: the key was revoked meanwhile
   */
  async take<T>(
    apiKeyId: string,
    reply: FastifyReply,
    work: (gone: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const gone = new AbortController();
    reply.raw.on('close', () => gone.abort());
    // It may have gone while its key was looked up.
    if (reply.raw.closed) gone.abort();
    const count = this.#waiting.get(apiKeyId) ?? 0;
    if (count >= waitingAtOnce)
      throw new Problem(429, 'too-many', {
        detail: `this key has ${waitingAtOnce} requests for ${this.#what} under way`,
        hint: this.#hint,
      });
    this.#waiting.set(apiKeyId, count + 1);
    const watch = this.#keys?.follow(apiKeyId);
    try {
      if (watch === undefined) return await work(gone.signal);
      const answer = await work(AbortSignal.any([gone.signal, watch.revoked]));
      if (watch.revoked.aborted) throw new Problem(401, 'unauthorized');
      return answer;
    } finally {
      watch?.leave();
      this.#leave(apiKeyId);
    }
  }

  #leave(apiKeyId: string): void {
    const left = (this.#waiting.get(apiKeyId) ?? 1) - 1;
    if (left === 0) this.#waiting.delete(apiKeyId);
    else this.#waiting.set(apiKeyId, left);
  }
}
