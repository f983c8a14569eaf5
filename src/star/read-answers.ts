import type pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {type Answered, answerQuestion, beginReading, prepareQuestion} from './answer-question.ts';
import type {Question} from './question.ts';

/** An answer, or why there is none. */
export type Told = {readonly question: Question} & (
  | {readonly answered: Answered}
  | {readonly missing: string}
);

interface Wanted {
  readonly accountKey: string;
  /** A day or an instant, as it was typed. */
  readonly asOf: string | undefined;
  readonly isMasked: boolean;
  /** Rows of each answer. */
  readonly limit: number;
}

/**
 * Answers some questions of one account in one look at the warehouse. One that needs a setting is
 * told as missing, and holds up no other.
 * @throws {UsageError} a moment that the mirror does not know
 */
export async function readAnswers(
  pool: pg.Pool,
  asked: readonly Question[],
  {accountKey, asOf, isMasked, limit}: Wanted,
): Promise<readonly Told[]> {
  const client = await pool.connect();
  try {
    await beginReading(client);
    const told: Told[] = [];
    for (const question of asked) {
      const prepared = await prepareQuestion(client, question, {accountKey, asOf, isMasked}).catch(
        (error: unknown) => {
          if (error instanceof UsageError && question.needs !== undefined) return error.message;
          throw error;
        },
      );
      if (typeof prepared === 'string') told.push({question, missing: prepared});
      else told.push({question, answered: await answerQuestion(client, prepared, limit)});
    }
    return told;
  } finally {
    await client.query('ROLLBACK').catch(() => {});
    client.release();
  }
}
