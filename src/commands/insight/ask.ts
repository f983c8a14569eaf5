import type pg from 'pg';
import type {Config} from '../../base/config.ts';
import {FatalError, UsageError} from '../../base/errors.ts';
import {nearest} from '../../base/nearest.ts';
import {tieOuts} from '../../insight/check/tie-outs.ts';
import type {Question} from '../../insight/questions/question.ts';
import {questions} from '../../insight/questions/questions.ts';
import {formatAgo, showSecond} from '../../views/format.ts';
import {checkMigrations} from '../../warehouse/schema/migration-check.ts';
import {chooseAccount} from '../accounts/choose-account.ts';
import {drawTable, print} from '../terminal/report.ts';
import {withWarehouse} from '../warehouse.ts';
import {type Answer, readAnswer, sqlOf, writeCsv} from './answer.ts';
import {findMoment} from './moment.ts';

export interface AskOptions {
  readonly account?: string;
  /** A day or an instant, as it was typed. */
  readonly asOf?: string;
  readonly limit: number;
  readonly csv?: boolean;
  readonly sql?: boolean;
  readonly json: boolean;
}

/** The question's name on the command line: `debtors` for `mart.ask_debtors`. */
export const wordOf = ({name}: Pick<Question, 'name'>) => name.replace('ask_', '').replaceAll('_', '-');

/** Lists the questions that have an answer. */
export function listQuestions(options: {readonly json: boolean}): number {
  const listed = questions.map((question) => ({
    name: wordOf(question),
    question: question.question,
    definition: question.definition,
    view: `mart.${question.name}`,
  }));
  const text = drawTable(
    ['name', 'question'],
    listed.map(({name, question}) => [name, question]),
  );
  print(options.json, {
    json: listed,
    text: `${text}\nfieldmirror ask NAME [--as-of 2026-10-31] [--csv | --json | --sql]`,
  });
  return 0;
}

/**
 * Answers a question by its name: with its definition, how fresh it is, and whether what it rests on ties out.
 * @returns the exit code: 1 where a claim that the answer rests on does not hold
 * @throws {UsageError} no such question, or a moment that the mirror does not know
 * @throws {FatalError} the warehouse is not of this version
 */
export async function ask(config: Config, name: string, options: AskOptions): Promise<number> {
  const question = findQuestion(name);
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`);
    const account = await chooseAccount({pool}, options.account);
    const client = await pool.connect();
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off');
      const asked = {
        question,
        accountKey: account.accountId,
        moment: await findMoment(client, account.accountId, options.asOf),
      };
      await checkSettings(client, question, account.accountId);
      if (options.sql === true) {
        print(false, {json: null, text: `${sqlOf(asked)};`});
        return 0;
      }
      if (options.csv === true) {
        await writeCsv(client, asked);
        return 0;
      }
      const answer = await readAnswer(client, asked, options.limit);
      const broken = await findBroken(client, question);
      const fresh = await readFreshness(client, account.accountId);
      const {definition, caveats} = question;
      const json = {
        name,
        question: question.question,
        definition,
        caveats,
        account: account.name,
        asOf: asked.moment,
        ...fresh,
        tieOuts: question.tieOuts,
        broken,
        ...answer.json,
      };
      print(options.json, {json, text: draw(question, {answer, broken, fresh, asOf: asked.moment})});
      return broken.length > 0 ? 1 : 0;
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
}

function findQuestion(name: string): Question {
  const found = questions.find((question) => wordOf(question) === name);
  if (found !== undefined) return found;
  throw new UsageError(
    `no question "${name}"${nearest(name, questions.map(wordOf))}; fieldmirror ask lists them`,
  );
}

async function checkSettings(
  client: pg.ClientBase,
  {needs, name}: Question,
  accountKey: string,
): Promise<void> {
  if (needs === undefined) return;
  const {rows} = await client.query<{set: boolean}>(
    `SELECT account.${needs} IS NOT NULL OR EXISTS (SELECT FROM mart.capacity) AS set FROM mart.dim_account AS account WHERE account_key = $1`,
    [accountKey],
  );
  if (rows[0]?.set === true) return;
  throw new UsageError(
    `${wordOf({name})} needs the working hours of a technician, Monday to Sunday, which the service does not know: INSERT INTO mart.settings (account_key, working_hours) VALUES (${accountKey}, '{8,8,8,8,8,0,0}')`,
  );
}

/** The claims that the answer rests on and that do not hold. */
async function findBroken(client: pg.ClientBase, question: Question): Promise<string[]> {
  const broken: string[] = [];
  for (const {name, claim, sql} of tieOuts.filter((tieOut) => question.tieOuts.includes(tieOut.name))) {
    const {rows} = await client.query(`SELECT FROM (${sql}) AS broken LIMIT 1`);
    if (rows.length > 0) broken.push(`${name}: ${claim}`);
  }
  return broken;
}

interface Freshness {
  readonly currency: string | null;
  readonly freshAsOf: string | null;
  readonly knownSince: string | null;
  /** Changes that the star does not hold yet, and since when. */
  readonly waiting: number;
  readonly waitingSince: string | null;
}

async function readFreshness(client: pg.ClientBase, accountKey: string): Promise<Freshness> {
  const {rows} = await client.query<Freshness>(
    `SELECT currency, jobs_fresh_as_of AS "freshAsOf", known_since AS "knownSince", waiting::integer, since AS "waitingSince"
       FROM mart.dim_account, mart.freshness WHERE account_key = $1`,
    [accountKey],
  );
  return rows[0] ?? {currency: null, freshAsOf: null, knownSince: null, waiting: 0, waitingSince: null};
}

function draw(
  question: Question,
  told: {
    readonly answer: Answer;
    readonly broken: readonly string[];
    readonly fresh: Freshness;
    readonly asOf: string | null;
  },
): string {
  const {answer, broken, fresh, asOf} = told;
  const age =
    asOf !== null
      ? `as of ${showSecond(asOf)}, by what was known then`
      : fresh.freshAsOf === null
        ? 'the jobs were never proven complete: run fieldmirror sync'
        : `proven complete ${formatAgo(fresh.freshAsOf)}`;
  const behind =
    fresh.waitingSince === null ? '' : `without what changed since ${showSecond(fresh.waitingSince)}`;
  const ties =
    question.tieOuts.length === 0
      ? ''
      : broken.length > 0
        ? broken.join('\n')
        : `ties out: ${question.tieOuts.join(', ')}`;
  return [question.question, '', answer.text, question.definition, question.caveats, age, behind, ties]
    .filter((line, at) => at === 1 || line !== '')
    .join('\n');
}
