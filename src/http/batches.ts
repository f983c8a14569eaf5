// Many items of one request, done batch by batch: each batch in a transaction of its own, and the
// next one begins when the lines of the one before were taken. So no more is done than is told.

import type {Turns} from './keys.ts';
import {HttpProblem} from './problem.ts';

export interface BatchDeps {
  /** A batch has its turn: a reader that is slow keeps none. */
  readonly turns: Turns;
  /** Aborts when the server stops. */
  readonly stop: AbortSignal;
  readonly explain: (error: unknown) => HttpProblem;
}

interface Batches<Item, Line> {
  readonly items: readonly Item[];
  /** Items of one batch: few enough that its rows are locked for a moment alone. */
  readonly size: number;
  /** Whether the request has had a turn before: then the first batch waits, however many do. */
  readonly isPart?: boolean;
  /** Does one batch, in a transaction of its own. @returns its lines */
  readonly work: (batch: readonly Item[]) => Promise<Line[]>;
}

/**
 * Gives the lines of each batch when it is done.
 * @returns the problem of the batch that failed, which ends the work; null where all were done
 * @throws nothing was done: the first batch has failed
 */
export async function* inBatches<Item, Line>(
  {turns, stop, explain}: BatchDeps,
  apiKeyId: string,
  {items, size, work, isPart = false}: Batches<Item, Line>,
): AsyncGenerator<Line[], HttpProblem | null, void> {
  for (let at = 0; at < items.length; at += size) {
    const batch = items.slice(at, at + size);
    let lines: Line[];
    try {
      if (stop.aborted) throw stopped();
      lines = await turns.take(apiKeyId, () => work(batch), {isPart: isPart || at > 0});
    } catch (error) {
      if (at === 0) throw error;
      return explain(error);
    }
    yield lines;
  }
  return null;
}

function stopped(): HttpProblem {
  return new HttpProblem(503, 'stopping', {
    detail: 'the server stops',
    hint: 'Send the same again later: what was done stays done, and the rest is left as it was.',
  });
}
