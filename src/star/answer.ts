// A question and its answer, with all that belongs to it: the requested moment, the rows, how fresh
// they are, and which claims do not hold.

import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import {
  type FormattedAnswer,
  findColumnKind,
  formatRows,
  type Sums,
  type Texts,
  toAnswerValue,
} from './format-answer.ts';
import {hasWorkingHours, maskColumn, type Question, renderQuestion} from './member.ts';
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
export function buildAnswerSql(request: AnswerRequest): string {
  return buildStatement(request, listShownColumns(request.question, request.isMasked));
}

function buildStatement(request: AnswerRequest, columns: readonly string[]): string {
  return `SELECT ${columns.join(', ')} FROM ${buildSource(request)}
     WHERE account_key = ${request.accountKey} ORDER BY ${request.question.order}`;
}

/** The view of a question, or its query if other days or another grouping are requested. */
function buildSource({question, moment, period}: AnswerRequest): string {
  const momentSql = moment === null ? null : pg.escapeLiteral(moment);
  if (question.grouped === undefined && period?.isGiven !== true)
    return momentSql === null
      ? `mart.${question.name}`
      : `mart.${question.name}_as_of(${momentSql})`;
  const query = renderQuestion(question, {
    moment: momentSql === null ? null : `${momentSql}::timestamptz`,
    period:
      period?.isGiven === true
        ? {first: period.from ?? '-infinity', last: period.to ?? 'infinity'}
        : null,
  });
  return `(${query}) AS answer`;
}

/** The columns of an answer that are shown: neither the requested account nor keys. */
function listShownColumns({columns}: Question, isMasked: boolean): string[] {
  return columns
    .filter(([name]) => !name.endsWith('_key'))
    .map((column) => (isMasked ? maskColumn(column) : column[0]));
}

/**
 * The keys of customers, jobs and employees in an answer. They are not shown, but lead to the
 * records.
 */
function listKeyColumns({columns}: Question): string[] {
  return columns
    .map(([name]) => name)
    .filter((name) => name.endsWith('_key') && name !== 'account_key');
}

/** Reads an answer, up to `limit` rows. */
async function readAnswer(
  client: pg.ClientBase,
  request: AnswerRequest,
  limit: number,
): Promise<QuestionAnswer> {
  const {totals} = request.question;
  const sums = totals.map((name) => `sum(${name}) OVER ()`);
  const shownColumns = listShownColumns(request.question, request.isMasked);
  const keyColumns = listKeyColumns(request.question);
  const {fields, rows: answerRows} = await readTexts(
    client,
    `${buildStatement(request, [...shownColumns, ...sums, ...keyColumns])} LIMIT ${limit + 1}`,
  );
  const rows = answerRows.slice(0, limit).map((row) => row.slice(0, shownColumns.length));
  const isCutOff = answerRows.length > limit;
  const columns = fields.slice(0, shownColumns.length).map(({name, dataTypeID}) => ({
    name,
    kind: findColumnKind(name, dataTypeID),
  }));
  const total =
    answerRows.length < 2
      ? null
      : toSums(
          totals,
          answerRows[0]?.slice(shownColumns.length, shownColumns.length + sums.length),
        );
  const days = request.period === null ? null : daysBefore(request.period);
  const before =
    days === null || answerRows.length === 0
      ? null
      : await readTotal(client, request, {totals, days});
  const toValues = (texts: Texts) =>
    Object.fromEntries(
      columns.flatMap(({name, kind}) =>
        texts.has(name) ? [[name, toAnswerValue(texts.get(name) ?? null, kind)]] : [],
      ),
    );
  return {
    json: {
      columns: columns.map(({name}) => name),
      rows: rows.map((row) =>
        toValues(new Map(columns.map(({name}, index) => [name, row[index]]))),
      ),
      isCutOff,
      total: total === null ? null : toValues(total),
      before: before === null || days === null ? null : {...days, total: toValues(before)},
    },
    drawn: formatRows(columns, {rows, total, before}),
    keys: answerRows.slice(0, limit).map((row) => {
      const values = row.slice(shownColumns.length + sums.length);
      return Object.fromEntries(keyColumns.map((name, index) => [name, values[index] ?? null]));
    }),
  };
}

async function readTexts(client: pg.ClientBase, sql: string) {
  return await client.query<(string | null)[]>({
    text: sql,
    rowMode: 'array',
    types: {getTypeParser: () => (value: string) => value},
  } as pg.QueryArrayConfig);
}

/** @returns null if nothing adds up */
function toSums(totals: readonly string[], values: readonly (string | null)[] = []): Texts | null {
  return totals.length === 0 ? null : new Map(totals.map((name, index) => [name, values[index]]));
}

/** The sums of the same answer over other days; null if it has no row for them. */
async function readTotal(
  client: pg.ClientBase,
  request: AnswerRequest,
  {totals, days}: {readonly totals: readonly string[]; readonly days: Days},
): Promise<Texts | null> {
  if (totals.length === 0) return null;
  const source = buildSource({...request, period: {...days, isGiven: true, isAhead: false}});
  const {rows} = await readTexts(
    client,
    `SELECT ${totals.map((name) => `sum(${name})`).join(', ')} FROM ${source}
      WHERE account_key = ${request.accountKey} HAVING count(*) > 0`,
  );
  return rows[0] === undefined ? null : toSums(totals, rows[0]);
}

/** The question's name on the command line: `debtors` for `mart.ask_debtors`. */
export const toQuestionWord = ({name}: Pick<Question, 'name'>) =>
  name.replace('ask_', '').replaceAll('_', '-');

/**
 * @param by - the word of another grouping of its answer
 * @throws {UsageError} there is no question of that name, or no such grouping of it
 */
export function findQuestion(name: string, by?: string): Question {
  const namedQuestion = questions.find((question) => toQuestionWord(question) === name);
  if (namedQuestion !== undefined) return groupQuestion(namedQuestion, by);
  throw new UsageError(
    `no question "${name}"${nearest(name, questions.map(toQuestionWord))}; ` +
      'fieldmirror ask lists them',
  );
}

/** @throws {UsageError} the question has no such grouping */
export function groupQuestion(question: Question, by: string | undefined): Question {
  if (by === undefined) return question;
  const groupings = Object.keys(question.by ?? {});
  const grouping = question.by?.[by];
  if (grouping !== undefined) return {...question, ...grouping, grouped: by};
  const expected =
    groupings.length === 0 ? 'no --by: it has no other grouping' : groupings.join(' or ');
  throw new UsageError(`${toQuestionWord(question)}: --by ${by}: expected ${expected}`);
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
      `${toQuestionWord(question)}: expected a column to sort by, such as ${columns[0]}, got ` +
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
 * @param days - the first and the last day of the period, as they were typed
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
export interface AnsweredQuestion {
  readonly asked: AnswerRequest;
  readonly answer: QuestionAnswer;
  readonly broken: readonly string[];
  readonly fresh: Freshness;
  /** ISO 8601, by the clock of this machine. */
  readonly countedAt: string;
}

export async function answerQuestion(
  client: pg.ClientBase,
  request: AnswerRequest,
  limit: number,
): Promise<AnsweredQuestion> {
  const countedAt = new Date().toISOString();
  const fresh = await readFreshness(client, request.accountKey);
  return {
    asked: request,
    countedAt,
    answer: await readAnswer(client, request, limit),
    // While changes wait to be written into the star, the star and the warehouse show different
    // moments.
    broken: fresh.waiting > 0 ? [] : await findBroken(client, request.question),
    fresh,
  };
}

/** An answer for a program. */
export function describeAnswered(
  {asked: request, answer, broken, fresh}: AnsweredQuestion,
  account: string,
) {
  const {question, moment, period} = request;
  return {
    name: toQuestionWord(question),
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
export function describeScope(answered: AnsweredQuestion): string[] {
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
}: Pick<AnsweredQuestion, 'asked' | 'answer'>): string[] {
  const {before} = answer.json;
  const replacement = period?.isGiven === true ? ', in place of the usual dates' : '';
  const comparison = before === null ? '' : `; before: ${describePeriod(before)}`;
  return period === null ? [] : [`${describePeriod(period)}${replacement}${comparison}`];
}

async function checkSettings(
  client: pg.ClientBase,
  {needs, name}: Question,
  accountKey: string,
): Promise<void> {
  if (needs === undefined) return;
  const {rows} = await client.query<{set: boolean}>(
    `SELECT ${hasWorkingHours} AS set FROM mart.dim_account AS account WHERE account_key = $1`,
    [accountKey],
  );
  if (rows[0]?.set === true) return;
  throw new MissingSettingError(
    `${toQuestionWord({name})} ${needsHours}: ` +
      'INSERT INTO mart.settings (account_key, working_hours) ' +
      `VALUES (${accountKey}, '{8,8,8,8,8,0,0}') ` +
      'ON CONFLICT (account_key) DO UPDATE SET working_hours = EXCLUDED.working_hours',
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
  | {readonly answered: AnsweredQuestion}
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
  chosenQuestions: readonly Question[],
  {limit, ...options}: AnswerOptions,
): Promise<readonly AnswerOrGap[]> {
  const client = await pool.connect();
  try {
    await beginReading(client);
    const answers: AnswerOrGap[] = [];
    for (const question of chosenQuestions) {
      const prepared = await prepareQuestion(client, question, options).catch((error: unknown) => {
        if (error instanceof MissingSettingError) return `It ${needsHours}`;
        throw error;
      });
      if (typeof prepared === 'string') answers.push({question, missing: prepared});
      else answers.push({question, answered: await answerQuestion(client, prepared, limit)});
    }
    return await nameCustomers(client, answers);
  } finally {
    await client.query('ROLLBACK').catch(() => {});
    client.release();
  }
}

/** Adds the customers of jobs to the keys of answers about jobs, in one statement for all. */
async function nameCustomers(
  client: pg.ClientBase,
  answers: readonly AnswerOrGap[],
): Promise<AnswerOrGap[]> {
  const isAboutJobs = (entry: AnswerOrGap) =>
    'answered' in entry && entry.answered.answer.json.columns.includes('customer');
  const jobKeys = answers
    .filter(isAboutJobs)
    .flatMap((entry) =>
      'answered' in entry ? entry.answered.answer.keys.map(({job_key: key}) => key) : [],
    );
  const knownKeys = jobKeys.filter((key) => key !== null && key !== undefined);
  if (knownKeys.length === 0) return [...answers];
  const {rows} = await client.query<{job: string; customer: string}>(
    `SELECT job_key::text AS job, customer_key::text AS customer FROM mart.fct_job
      WHERE job_key = ANY ($1::bigint[]) AND customer_key <> -1`,
    [knownKeys],
  );
  const customers = new Map(rows.map(({job, customer}) => [job, customer]));
  return answers.map((entry) => {
    if (!('answered' in entry) || !isAboutJobs(entry)) return entry;
    const {answered} = entry;
    const keys = answered.answer.keys.map((row) => ({
      customer_key: customers.get(row.job_key ?? '') ?? null,
      ...row,
    }));
    return {...entry, answered: {...answered, answer: {...answered.answer, keys}}};
  });
}
