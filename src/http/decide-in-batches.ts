// Decisions told while they are made: batch by batch, each in a transaction of its own with its
// entry of the audit. The next batch begins when the lines of the one before were taken, so that no
// more is decided than is told.

import type pg from 'pg';
import {z} from 'zod';
import {listDecidable} from '../changes/decidable-changes.ts';
import {mostDecided} from '../changes/decide-many.ts';
import type {AccountKey} from './authentication.ts';
import {type DecideAsked, decideBatch, decidedChangeSchema, isCutSchema} from './decide-changes.ts';
import type {Turns} from './key-turns.ts';
import {Problem, problemSchema} from './problem.ts';
import {toWanted} from './wanted-query.ts';

/** Changes of one batch: few enough that its rows are locked for a moment alone. */
const batchSize = 500;

const decidedEndSchema = z
  .object({
    totals: z.object({
      decided: z.int(),
      refused: z.int().describe('Could not be decided so, or are not there.'),
      left: z.int().describe('Were not come to, because of the problem.'),
    }),
    is_cut: isCutSchema,
    problem: problemSchema
      .nullable()
      .describe('Why it ended early; what was decided before stays decided.'),
  })
  .describe('The last line. An answer without it was cut off.');

/** A line of the answer. */
export const decidedLineSchema = z.union([decidedChangeSchema, decidedEndSchema]);
export type DecidedLine = z.infer<typeof decidedLineSchema>;

interface BatchDeps {
  readonly pool: pg.Pool;
  /** A batch has its turn: a reader that is slow keeps none. */
  readonly turns: Turns;
  /** Aborts when the server stops. */
  readonly stop: AbortSignal;
  readonly explain: (error: unknown) => Problem;
}

/**
 * Decides what can be decided, and gives a line for each change and one for the end. Changes are
 * chosen at the beginning.
 * @throws nothing was decided: the first batch has failed
 */
export async function* decideInBatches(
  {pool, turns, stop, explain}: BatchDeps,
  key: AccountKey,
  asked: DecideAsked,
): AsyncGenerator<DecidedLine[], void, void> {
  const {ids, isCut} = await turns.take(key.apiKeyId, () => choose(pool, key, asked.body));
  const totals = {decided: 0, refused: 0, left: ids.length};
  let problem: Problem | null = null;
  for (let at = 0; at < ids.length && problem === null; at += batchSize) {
    const batch = {...asked, ids: ids.slice(at, at + batchSize)};
    try {
      if (stop.aborted) throw stopped();
      const lines = await turns.take(key.apiKeyId, () => decideBatch(pool, key, batch), {
        isPart: true,
      });
      const decided = lines.filter(({state}) => state !== null).length;
      totals.decided += decided;
      totals.refused += lines.length - decided;
      totals.left -= lines.length;
      yield lines;
    } catch (error) {
      if (at === 0) throw error;
      problem = explain(error);
    }
  }
  yield [{totals, is_cut: isCut, problem: problem?.body ?? null}];
}

/**
 * Each number once, in the order in which they are decided: what is given up is given up from its
 * end.
 */
async function choose(
  pool: pg.Pool,
  {accountId}: AccountKey,
  {decision, change_ids: given, filter = {}}: DecideAsked['body'],
): Promise<{readonly ids: readonly string[]; readonly isCut: boolean}> {
  const found =
    given ??
    (await listDecidable(pool, toWanted(accountId, filter), mostDecided + 1)).map(
      ({changeId}) => changeId,
    );
  const ids = [...new Set(found.slice(0, mostDecided))].sort((one, other) =>
    Number(BigInt(one) - BigInt(other)),
  );
  return {ids: decision === 'cancel' ? ids.reverse() : ids, isCut: found.length > mostDecided};
}

function stopped(): Problem {
  return new Problem(503, 'stopping', {
    detail: 'the server stops',
    hint: 'Send the same again later: what was decided stays decided, and the rest is left as it was.',
  });
}
