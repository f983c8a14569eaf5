// A question and its answer, with all that belongs to it: the requested moment, the rows, how fresh
// they are, and which claims do not hold.

import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import {
  type FormattedAnswer,
  formatRows,
  kindOfColumn,
  type Sums,
  type Texts,
  toAnswerValue,
} from './format-answer.ts';
import {knowsHours, maskedColumn, type Question, renderQuestion} from './member.ts';
import {
  type AnswerPeriod,
  type Days,
  daysBefore,
  describePeriod,
  findAsOf,
  findPeriod,
  type TypedDays,
} from './period.ts';
import {questions} from './star.ts';
import {tieOuts} from './tie-outs.ts';

/** A question, the account it is about, and the moment. */
interface AnswerRequest {
  readonly question: Question;
  readonly accountKey: string;
  /** Null is the present. */
  readonly moment: string | null;
  /** The days of the answer; null for a question about the moment alone. */
  readonly period: AnswerPeriod | null;
  /** Whether the keys of people replace their names. */
  readonly isMasked: boolean;
}

export interface QuestionAnswer {
  readonly json: {
    readonly columns: readonly string[];
    readonly rows: readonly Readonly<Record<string, unknown>>[];
    readonly isCutOff: boolean;
    /** Sums over all rows, also those that are cut off; null if nothing adds up. */
    readonly total: Sums | null;
    /** The same sums over the days before the period; null if there are none to compare. */
    readonly before: (Days & {readonly total: Sums}) | null;
  };
  readonly drawn: FormattedAnswer;
  /** The keys of each row by column, such as `customer_key`: numbers of rows of the warehouse. */
  readonly keys: readonly Readonly<Record<string, string | null>>[];
}

/** The statement of an answer. Any login that may read `mart` may run it. */
export function sqlOf(asked: AnswerRequest): string {
  return statementOf(asked, columnsOf(asked.question, asked.isMasked));
}

function statementOf(asked: AnswerRequest, columns: readonly string[]): string {
  return `SELECT ${columns.join(', ')} FROM ${sourceOf(asked)}
     WHERE account_key = ${asked.accountKey} ORDER BY ${asked.question.order}`;
}

/** The view of a question, or its query if other days or another grouping are requested. */
function sourceOf({question, moment, period}: AnswerRequest): string {
  const at = moment === null ? null : pg.escapeLiteral(moment);
  if (question.grouped === undefined && period?.isGiven !== true)
    return at === null ? `mart.${question.name}` : `mart.${question.name}_as_of(${at})`;
  const query = renderQuestion(question, {
    moment: at === null ? null : `${at}::timestamptz`,
    period:
      period?.isGiven === true
        ? {first: period.from ?? '-infinity', last: period.to ?? 'infinity'}
        : null,
  });
  return `(${query}) AS answer`;
}

/** The columns of an answer that are shown: neither the requested account nor keys. */
function columnsOf({columns}: Question, isMasked: boolean): string[] {
  return columns
    .filter(([name]) => !name.endsWith('_key'))
    .map((column) => (isMasked ? maskedColumn(column) : column[0]));
}

/**
 * The keys of customers, jobs and employees in an answer. They are not shown, but lead to the
 * records.
 */
function keysOf({columns}: Question): string[] {
  return columns
    .map(([name]) => name)
    .filter((name) => name.endsWith('_key') && name !== 'account_key');
}

/** Reads an answer, up to `limit` rows. */
async function readAnswer(
  client: pg.ClientBase,
  asked: AnswerRequest,
  limit: number,
): Promise<QuestionAnswer> {
  const {totals} = asked.question;
  const sums = totals.map((name) => `sum(${name}) OVER ()`);
  const shownColumns = columnsOf(asked.question, asked.isMasked);
  const keyColumns = keysOf(asked.question);
  const {fields, rows: all} = await readTexts(
    client,
    `${statementOf(asked, [...shownColumns, ...sums, ...keyColumns])} LIMIT ${limit + 1}`,
  );
  const rows = all.slice(0, limit).map((row) => row.slice(0, shownColumns.length));
  const isCutOff = all.length > limit;
  const columns = fields.slice(0, shownColumns.length).map(({name, dataTypeID}) => ({
    name,
    kind: kindOfColumn(name, dataTypeID),
  }));
  const total =
    all.length < 2
      ? null
      : sumsOf(totals, all[0]?.slice(shownColumns.length, shownColumns.length + sums.length));
  const days = asked.period === null ? null : daysBefore(asked.period);
  const before =
    days === null || all.length === 0 ? null : await readTotal(client, asked, {totals, days});
  const toValues = (texts: Texts) =>
    Object.fromEntries(
      columns.flatMap(({name, kind}) =>
        texts.has(name) ? [[name, toAnswerValue(texts.get(name) ?? null, kind)]] : [],
      ),
    );
  return {
    json: {
      columns: columns.map(({name}) => name),
      rows: rows.map((row) => toValues(new Map(columns.map(({name}, at) => [name, row[at]])))),
      isCutOff,
      total: total === null ? null : toValues(total),
      before: before === null || days === null ? null : {...days, total: toValues(before)},
    },
    drawn: formatRows(columns, {rows, total, before}),
    keys: all.slice(0, limit).map((row) => {
      const values = row.slice(shownColumns.length + sums.length);
      return Object.fromEntries(keyColumns.map((name, at) => [name, values[at] ?? null]));
    }),
  };
}

async function readTexts(client: pg.ClientBase, text: string) {
  return await client.query<(string | null)[]>({
    ...{text, rowMode: 'array'},
    types: {getTypeParser: () => (value: string) => value},
  } as pg.QueryArrayConfig);
}

/** @returns null if nothing adds up */
function sumsOf(totals: readonly string[], values: readonly (string | null)[] = []): Texts | null {
  return totals.length === 0 ? null : new Map(totals.map((name, at) => [name, values[at]]));
}

/** The sums of the same answer over other days; null if it has no row for them. */
async function readTotal(
  client: pg.ClientBase,
  asked: AnswerRequest,
  {totals, days}: {readonly totals: readonly string[]; readonly days: Days},
): Promise<Texts | null> {
  if (totals.length === 0) return null;
  const source = sourceOf({...asked, period: {...days, isGiven: true, isAhead: false}});
  const {rows} = await readTexts(
    client,
    `SELECT ${totals.map((name) => `sum(${name})`).join(', ')} FROM ${source}
      WHERE account_key = ${asked.accountKey} HAVING count(*) > 0`,
  );
  return rows[0] === undefined ? null : sumsOf(totals, rows[0]);
}

/** The question's name on the command line: `debtors` for `mart.ask_debtors`. */
export const wordOf = ({name}: Pick<Question, 'name'>) =>
  name.replace('ask_', '').replaceAll('_', '-');

/**
 * @param by - the word of another grouping of its answer
 * @throws {UsageError} there is no question of that name, or no such grouping of it
 */
export function findQuestion(name: string, by?: string): Question {
  const found = questions.find((question) => wordOf(question) === name);
  if (found !== undefined) return groupQuestion(found, by);
  throw new UsageError(
    `no question "${name}"${nearest(name, questions.map(wordOf))}; fieldmirror ask lists them`,
  );
}

/** @throws {UsageError} the question has no such grouping */
export function groupQuestion(question: Question, by: string | undefined): Question {
  if (by === undefined) return question;
  const words = Object.keys(question.by ?? {});
  const grouping = question.by?.[by];
  if (grouping !== undefined) return {...question, ...grouping, grouped: by};
  const known = words.length === 0 ? 'no --by: it has no other grouping' : words.join(' or ');
  throw new UsageError(`${wordOf(question)}: --by ${by}: expected ${known}`);
}

/**
 * The question with its rows sorted by one of its columns: `owed`, or `-owed` for the largest
 * first.
 * @throws {UsageError} the answer has no such column
 */
export function sortQuestion(question: Question, sort: string | undefined): Question {
  if (sort === undefined) return question;
  const column = sort.replace(/^-/, '');
  const columns = question.columns.map(([name]) => name).filter((name) => !name.endsWith('_key'));
  if (!columns.includes(column))
    throw new UsageError(
      `${wordOf(question)}: expected a column to sort by, such as ${columns[0]}, got ` +
        `"${column}"${nearest(column, columns)}`,
    );
  // The text that replaces a name for a masked reader has the name of its column, so rows are
  // sorted by this text.
  const direction = column === sort ? 'ASC' : 'DESC';
  return {...question, order: `${column} ${direction} NULLS LAST, ${question.order}`};
}

/** A reader of answers sees one state of the warehouse, and can change nothing. */
export async function beginReading(client: pg.ClientBase): Promise<void> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off');
}

/**
 * Resolves the moment and the days that a question is about. The caller has begun to read.
 * @param asOf - a day or an instant, as it was typed
 * @param asked - also the first and the last day of the period, as they were typed
 * @throws {UsageError} the mirror does not know the moment, the question does not accept the days,
 *   or a setting that the answer needs is missing
 */
export async function prepareQuestion(
  client: pg.ClientBase,
  question: Question,
  {
    accountKey,
    asOf,
    isMasked = false,
    ...days
  }: TypedDays & {
    readonly accountKey: string;
    readonly asOf: string | undefined;
    readonly isMasked?: boolean;
  },
): Promise<AnswerRequest> {
  const moment = await findAsOf(client, accountKey, asOf);
  const account =
    moment === null ? 'mart.dim_account' : `mart.dim_account_as_of(${pg.escapeLiteral(moment)})`;
  const period = await findPeriod(client, question, {account, accountKey, ...days});
  // Postgres expects few versions of a moment and loops over them: 24 s instead of 0.1 for a
  // business of 480 jobs.
  if (moment !== null) await client.query('SET LOCAL enable_nestloop = off');
  await checkSettings(client, question, accountKey);
  return {question, accountKey, moment, period, isMasked};
}

/** An answer, how fresh it is, and the claims that it depends on and that do not hold. */
export interface Answered {
  readonly asked: AnswerRequest;
  readonly answer: QuestionAnswer;
  readonly broken: readonly string[];
  readonly fresh: Freshness;
  /** ISO 8601, by the clock of this machine. */
  readonly countedAt: string;
}

export async function answerQuestion(
  client: pg.ClientBase,
  asked: AnswerRequest,
  limit: number,
): Promise<Answered> {
  const countedAt = new Date().toISOString();
  const fresh = await readFreshness(client, asked.accountKey);
  return {
    asked,
    countedAt,
    answer: await readAnswer(client, asked, limit),
    // While changes wait to be written into the star, the star and the warehouse show different
    // moments.
    broken: fresh.waiting > 0 ? [] : await findBroken(client, asked.question),
    fresh,
  };
}

/** An answer for a program. */
export function describeAnswered({asked, answer, broken, fresh}: Answered, account: string) {
  const {question, moment, period} = asked;
  return {
    name: wordOf(question),
    by: question.grouped ?? null,
    question: question.question,
    definition: question.definition,
    caveats: question.caveats,
    account,
    asOf: moment,
    period: period === null ? null : {from: period.from, to: period.to},
    ...fresh,
    tieOuts: question.tieOuts,
    broken,
    ...answer.json,
  };
}

/**
 * The days and the currency of an answer for a person, such as `2026-10-01 to 2026-10-31, before:
 * 2026-09-01 to 2026-09-30` and `amounts in USD`.
 */
export function describeScope(answered: Answered): string[] {
  const {
    asked: {question},
    fresh,
  } = answered;
  return [
    ...describeDates(answered),
    ...(question.money.length === 0
      ? []
      : [
          fresh.currency === null
            ? 'amounts without a currency: mart.settings has none'
            : `amounts in ${fresh.currency}`,
        ]),
  ];
}

/** The days of an answer, and those that they are compared with; empty if it has no period. */
export function describeDates({
  asked: {period},
  answer,
}: Pick<Answered, 'asked' | 'answer'>): string[] {
  const {before} = answer.json;
  const instead = period?.isGiven === true ? ', in place of the usual dates' : '';
  const compared = before === null ? '' : `; before: ${describePeriod(before)}`;
  return period === null ? [] : [`${describePeriod(period)}${instead}${compared}`];
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
  throw new MissingSettingError(
    `${wordOf({name})} ${needsHours}: INSERT INTO mart.settings (account_key, working_hours) ` +
      `VALUES (${accountKey}, '{8,8,8,8,8,0,0}')`,
  );
}

class MissingSettingError extends UsageError {}
const needsHours =
  'needs the working hours of a technician, Monday to Sunday, which the service does not know';

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

interface Freshness {
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
    `SELECT currency, jobs_fresh_as_of AS "freshAsOf", known_since AS "knownSince",
            waiting::integer, since AS "waitingSince"
       FROM mart.dim_account, mart.freshness WHERE account_key = $1`,
    [accountKey],
  );
  return (
    rows[0] ?? {currency: null, freshAsOf: null, knownSince: null, waiting: 0, waitingSince: null}
  );
}

/** An answer, or why there is none. */
export type AnswerOrGap = {readonly question: Question} & (
  | {readonly answered: Answered}
  | {readonly missing: string}
);

interface AnswerOptions extends TypedDays {
  readonly accountKey: string;
  /** A day or an instant, as it was typed. */
  readonly asOf: string | undefined;
  readonly isMasked: boolean;
  /** The most rows of each answer. */
  readonly limit: number;
}

/**
 * Answers some questions of one account from one snapshot of the warehouse. A question that needs a
 * setting is reported as missing, and does not hold up the others.
 * @throws {UsageError} the mirror does not know the moment
 */
export async function readAnswers(
  pool: pg.Pool,
  asked: readonly Question[],
  {limit, ...wanted}: AnswerOptions,
): Promise<readonly AnswerOrGap[]> {
  const client = await pool.connect();
  try {
    await beginReading(client);
    const told: AnswerOrGap[] = [];
    for (const question of asked) {
      const prepared = await prepareQuestion(client, question, wanted).catch((error: unknown) => {
        if (error instanceof MissingSettingError) return `It ${needsHours}`;
        throw error;
      });
      if (typeof prepared === 'string') told.push({question, missing: prepared});
      else told.push({question, answered: await answerQuestion(client, prepared, limit)});
    }
    return await nameCustomers(client, told);
  } finally {
    await client.query('ROLLBACK').catch(() => {});
    client.release();
  }
}

/** Adds the customers of jobs to the keys of answers about jobs, in one statement for all. */
async function nameCustomers(
  client: pg.ClientBase,
  told: readonly AnswerOrGap[],
): Promise<AnswerOrGap[]> {
  const isOfJobs = (each: AnswerOrGap) =>
    'answered' in each && each.answered.answer.json.columns.includes('customer');
  const jobs = told
    .filter(isOfJobs)
    .flatMap((each) =>
      'answered' in each ? each.answered.answer.keys.map(({job_key: key}) => key) : [],
    );
  const known = jobs.filter((key) => key !== null && key !== undefined);
  if (known.length === 0) return [...told];
  const {rows} = await client.query<{job: string; customer: string}>(
    `SELECT job_key::text AS job, customer_key::text AS customer FROM mart.fct_job
      WHERE job_key = ANY ($1::bigint[]) AND customer_key <> -1`,
    [known],
  );
  const customers = new Map(rows.map(({job, customer}) => [job, customer]));
  return told.map((each) => {
    if (!('answered' in each) || !isOfJobs(each)) return each;
    const {answered} = each;
    const keys = answered.answer.keys.map((row) => ({
      customer_key: customers.get(row.job_key ?? '') ?? null,
      ...row,
    }));
    return {...each, answered: {...answered, answer: {...answered.answer, keys}}};
  });
}
