// A question and its answer, with all that belongs to it: what `ask` draws, and what an assistant
// is told.

import type pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/nearest.ts';
import {questions} from './all-questions.ts';
import {type Answer, type Asked, readAnswer} from './answer.ts';
import {findMoment} from './answer-moment.ts';
import {knowsHours, type Question} from './question.ts';
import {tieOuts} from './tie-outs.ts';

/** The question's name on the command line: `debtors` for `mart.ask_debtors`. */
export const wordOf = ({name}: Pick<Question, 'name'>) =>
  name.replace('ask_', '').replaceAll('_', '-');

/** @throws {UsageError} there is no question of that name */
export function findQuestion(name: string): Question {
  const found = questions.find((question) => wordOf(question) === name);
  if (found !== undefined) return found;
  throw new UsageError(
    `no question "${name}"${nearest(name, questions.map(wordOf))}; fieldmirror ask lists them`,
  );
}

/** A reader of answers sees one state of the warehouse, and can change nothing. */
export async function beginReading(client: pg.ClientBase): Promise<void> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off');
}

/**
 * Finds out what exactly is asked. The caller has begun to read.
 * @param asOf - a day or an instant, as it was typed
 * @throws {UsageError} a moment that the mirror does not know, or a setting that the answer needs
 *   is missing
 */
export async function prepareQuestion(
  client: pg.ClientBase,
  question: Question,
  {
    accountKey,
    asOf,
    isMasked = false,
  }: {
    readonly accountKey: string;
    readonly asOf: string | undefined;
    readonly isMasked?: boolean;
  },
): Promise<Asked> {
  const moment = await findMoment(client, accountKey, asOf);
  // Postgres takes the versions of a moment for few, and loops over them: 24 s in place of 0.1 for
  // a business of 480 jobs.
  if (moment !== null) await client.query('SET LOCAL enable_nestloop = off');
  await checkSettings(client, question, accountKey);
  return {question, accountKey, moment, isMasked};
}

/** An answer, how fresh it is, and the claims that it rests on and that do not hold. */
export interface Answered {
  readonly asked: Asked;
  readonly answer: Answer;
  readonly broken: readonly string[];
  readonly fresh: Freshness;
}

export async function answerQuestion(
  client: pg.ClientBase,
  asked: Asked,
  limit: number,
): Promise<Answered> {
  const fresh = await readFreshness(client, asked.accountKey);
  return {
    asked,
    answer: await readAnswer(client, asked, limit),
    // While changes wait to be written into the star, it is another moment's than the warehouse.
    broken: fresh.waiting > 0 ? [] : await findBroken(client, asked.question),
    fresh,
  };
}

/** An answer for a program. */
export function tellAnswered({asked, answer, broken, fresh}: Answered, account: string) {
  const {question, moment} = asked;
  return {
    name: wordOf(question),
    question: question.question,
    definition: question.definition,
    caveats: question.caveats,
    account,
    asOf: moment,
    ...fresh,
    tieOuts: question.tieOuts,
    broken,
    ...answer.json,
  };
}

async function checkSettings(
  client: pg.ClientBase,
  {needs, name}: Question,
  accountKey: string,
): Promise<void> {
  if (needs === undefined) return;
  const {rows} = await client.query<{set: boolean}>(
    `SELECT ${knowsHours} AS set FROM mart.dim_account AS account WHERE account_key = $1`,
    [accountKey],
  );
  if (rows[0]?.set === true) return;
  throw new UsageError(
    `${wordOf({name})} needs the working hours of a technician, Monday to Sunday, which the service does not know: INSERT INTO mart.settings (account_key, working_hours) VALUES (${accountKey}, '{8,8,8,8,8,0,0}')`,
  );
}

async function findBroken(client: pg.ClientBase, question: Question): Promise<string[]> {
  const broken: string[] = [];
  for (const {name, claim, sql} of tieOuts.filter((tieOut) =>
    question.tieOuts.includes(tieOut.name),
  )) {
    const {rows} = await client.query(`SELECT FROM (${sql}) AS broken LIMIT 1`);
    if (rows.length > 0) broken.push(`${name}: ${claim}`);
  }
  return broken;
}

export interface Freshness {
  readonly currency: string | null;
  /** When the last sweep of the jobs began that proved them complete. */
  readonly freshAsOf: string | null;
  readonly knownSince: string | null;
  /** Changes that the star does not hold yet, and since when. */
  readonly waiting: number;
  readonly waitingSince: string | null;
}

export async function readFreshness(client: pg.ClientBase, accountKey: string): Promise<Freshness> {
  const {rows} = await client.query<Freshness>(
    `SELECT currency, jobs_fresh_as_of AS "freshAsOf", known_since AS "knownSince", waiting::integer, since AS "waitingSince"
       FROM mart.dim_account, mart.freshness WHERE account_key = $1`,
    [accountKey],
  );
  return (
    rows[0] ?? {currency: null, freshAsOf: null, knownSince: null, waiting: 0, waitingSince: null}
  );
}
