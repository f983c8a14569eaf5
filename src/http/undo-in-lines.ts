// Changes taken back, told line by line: how far it is while it is under way, and what became of
// each when all of it is committed. No line holds up the transaction, which goes on to its end
// though the reader is gone.

import type pg from 'pg';
import {z} from 'zod';
import type {AccountKey} from './authentication.ts';
import type {Turns} from './key-turns.ts';
import {type Problem, problemSchema} from './problem.ts';
import {
  type UndoAsked,
  type UndoProgress,
  undoneChangeSchema,
  undoOverHttp,
} from './undo-changes.ts';

const linesAtOnce = 500;

const progressSchema = z
  .object({looked_at: z.int(), of: z.int()})
  .describe('How far it is. Nothing is committed yet.');

const undoneEndSchema = z
  .object({
    batch: z
      .string()
      .nullable()
      .describe('The name of the changes that were made: release them by it.'),
    totals: z.object({
      cancelled: z.int(),
      held: z.int(),
      refused: z.int().describe('Nothing was done to them.'),
    }),
    problem: problemSchema.nullable().describe('Why nothing was taken back.'),
  })
  .describe('The last line. An answer without it was cut off.');

/** A line of the answer. */
export const undoneLineSchema = z.union([progressSchema, undoneChangeSchema, undoneEndSchema]);
type UndoneLine = z.infer<typeof undoneLineSchema>;

interface UndoDeps {
  readonly pool: pg.Pool;
  readonly turns: Turns;
  readonly explain: (error: unknown) => Problem;
}

/** Takes changes back in one transaction. @throws it failed before any line of its progress */
export async function* undoInLines(
  {pool, turns, explain}: UndoDeps,
  key: AccountKey,
  asked: UndoAsked,
): AsyncGenerator<UndoneLine[], void, void> {
  const progress = new LatestProgress();
  const work = turns
    .take(key.apiKeyId, () => undoOverHttp(pool, key, asked, (latest) => progress.tell(latest)))
    .then(
      (undone) => ({undone, error: null}),
      (error: unknown) => ({undone: null, error}),
    )
    .finally(() => progress.end());
  let isTold = false;
  for await (const latest of progress.follow()) {
    isTold = true;
    yield [latest];
  }
  const {undone, error} = await work;
  if (undone === null && !isTold) throw error;
  const changes = undone?.changes ?? [];
  for (let at = 0; at < changes.length; at += linesAtOnce)
    yield changes.slice(at, at + linesAtOnce);
  const count = (outcome: string | null) =>
    changes.filter((change) => change.outcome === outcome).length;
  const totals = {cancelled: count('cancelled'), held: count('held'), refused: count(null)};
  yield [
    {batch: undone?.batch ?? null, totals, problem: undone === null ? explain(error).body : null},
  ];
}

/** Progress for a reader who may be slow: the latest alone is kept. */
class LatestProgress {
  #latest: UndoProgress | null = null;
  #isOver = false;
  #wake = () => {};

  tell(progress: UndoProgress): void {
    this.#latest = progress;
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async *follow(): AsyncGenerator<UndoProgress, void, void> {
    while (!this.#isOver) {
      const latest = this.#latest;
      this.#latest = null;
      if (latest === null) await new Promise<void>((wake) => (this.#wake = wake));
      else yield latest;
    }
  }
}
