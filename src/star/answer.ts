// A question and its answer, with all that belongs to it: the moment that is asked for, the rows,
// how fresh they are and which claims do not hold.

import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {showSecond} from '../core/format.ts';
import {nearest} from '../core/names.ts';
import {knowsHours, maskedColumn, type Question} from './member.ts';
import {questions} from './star.ts';
import {tieOuts} from './tie-outs.ts';

/** A question, the account it is about, and the moment. */
interface Asked {
  readonly question: Question;
  readonly accountKey: string;
  /** Null is the present. */
  readonly moment: string | null;
  /** Whether the keys of people stand in place of their names. */
  readonly isMasked: boolean;
}

export interface QuestionAnswer {
  readonly json: {
    readonly columns: readonly string[];
    readonly rows: readonly Readonly<Record<string, unknown>>[];
    readonly isCutOff: boolean;
  };
  /** The same for a person: names of columns, and what stands in the cells. */
  readonly drawn: {
    readonly head: readonly string[];
    readonly cells: readonly (readonly string[])[];
    /** Places of the columns that hold numbers. */
    readonly numbers: readonly number[];
  };
}

/** The statement that anybody may run who may read `mart`. */
export function sqlOf({question, accountKey, moment, isMasked}: Asked): string {
  const columns = columnsOf(question, isMasked).join(', ');
  const source =
    moment === null
      ? `mart.${question.name}`
      : `mart.${question.name}_as_of(${pg.escapeLiteral(moment)})`;
  return `SELECT ${columns} FROM ${source} WHERE account_key = ${accountKey}
      ORDER BY ${question.order}`;
}

/** The columns of an answer that are shown: neither the account, which was asked for, nor keys. */
function columnsOf({columns}: Question, isMasked: boolean): string[] {
  return columns
    .filter(([name]) => !name.endsWith('_key'))
    .map((column) => (isMasked ? maskedColumn(column) : column[0]));
}

/** Reads an answer, up to so many rows. */
async function readAnswer(
  client: pg.ClientBase,
  asked: Asked,
  limit: number,
): Promise<QuestionAnswer> {
  const {fields, rows} = await client.query<(string | null)[]>({
    text: `${sqlOf(asked)} LIMIT ${limit + 1}`,
    rowMode: 'array',
    types: {getTypeParser: () => (value: string) => value},
  } as pg.QueryArrayConfig);
  const shown = rows.slice(0, limit);
  const isCutOff = rows.length > limit;
  const columns = fields.map(({name}) => name);
  const kinds = fields.map(({name, dataTypeID}) => kindOf(name, dataTypeID));
  const json = shown.map((row) =>
    Object.fromEntries(row.map((value, at) => [columns[at], toJson(value, kinds[at])])),
  );
  const places = kinds.map((kind, at) =>
    kind === 'amount' ? Math.max(0, ...shown.map((row) => placesOf(row[at]))) : 0,
  );
  const cells = shown.map((row) => row.map((value, at) => show(value, kinds[at], places[at])));
  const head = columns.map((name) => name.replaceAll('_', ' '));
  const numbers = kinds.flatMap((kind, at) =>
    kind === 'whole' || kind === 'number' || kind === 'amount' ? [at] : [],
  );
  return {json: {columns, rows: json, isCutOff}, drawn: {head, cells, numbers}};
}

type Kind = 'whole' | 'number' | 'amount' | 'truth' | 'moment' | 'words';

/** The number of a job is its name: it is not grouped. */
function kindOf(name: string, typeId: number): Kind {
  const {INT2, INT4, INT8, NUMERIC, FLOAT8, BOOL, TIMESTAMPTZ} = pg.types.builtins;
  if ([INT2, INT4, INT8].includes(typeId)) return name.endsWith('_number') ? 'number' : 'whole';
  if ([NUMERIC, FLOAT8].includes(typeId)) return 'amount';
  if (typeId === TIMESTAMPTZ) return 'moment';
  return typeId === BOOL ? 'truth' : 'words';
}

/** Amounts stay texts, for a number of JSON would not hold them exactly. */
function toJson(value: string | null, kind: Kind | undefined): unknown {
  if (value === null) return null;
  if (kind === 'whole' || kind === 'number') return Number(value);
  return kind === 'truth' ? value === 't' : value;
}

/** @param places - decimals of the column: an amount gets zeros up to them */
function show(value: string | null, kind: Kind | undefined, places = 0): string {
  if (value === null) return '';
  if (kind === 'truth') return value === 't' ? 'yes' : 'no';
  if (kind === 'moment') return showSecond(value);
  return kind === 'whole' || kind === 'amount' ? group(value, places) : value;
}

const placesOf = (value: string | null | undefined) => value?.split('.')[1]?.length ?? 0;

/** 1234567.5 with two places becomes 1,234,567.50: no digit is lost. */
function group(number: string, places: number): string {
  const [whole = '', fraction = ''] = number.split('.');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return places === 0 ? grouped : `${grouped}.${fraction.padEnd(places, '0')}`;
}

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
  readonly answer: QuestionAnswer;
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

/**
 * The moment that a person means: the end of a day of the account, or an instant.
 * @returns null for the present
 * @throws {UsageError} no day and no instant, one before the mirror knew the account, or one to
 *   come
 */
async function findMoment(
  client: pg.ClientBase,
  accountKey: string,
  typed: string | undefined,
): Promise<string | null> {
  if (typed === undefined) return null;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(typed);
  if (!isMoment(typed, isDay))
    throw new UsageError(
      `--as-of: expected a day such as 2026-10-31, or an instant with its offset such as 2026-10-31T17:00:00Z, got "${typed}"`,
    );
  // A day ends a microsecond before the next one begins: its own date is the one that ages are
  // counted to.
  const {rows} = await client.query<{
    moment: string;
    knownSince: string | null;
    isKnown: boolean | null;
    isToCome: boolean;
  }>(
    `SELECT moment, known_since AS "knownSince", moment >= known_since AS "isKnown",
            moment > now() AS "isToCome"
       FROM (SELECT known_since,
                    ${isDay ? `(($2::date + 1)::timestamp AT TIME ZONE time_zone) - interval '1 microsecond'` : '$2::timestamptz'} AS moment
               FROM mart.dim_account WHERE account_key = $1) AS asked`,
    [accountKey, typed],
  );
  const [asked] = rows;
  if (asked === undefined) return null;
  if (asked.isToCome) throw new UsageError(`--as-of ${typed}: expected a moment that has passed`);
  if (asked.isKnown !== true)
    throw new UsageError(
      asked.knownSince === null
        ? `--as-of ${typed}: the mirror knows nothing yet: jobs, customers and employees were never all proven complete; run fieldmirror sync`
        : `--as-of ${typed}: the mirror knows the account since ${showSecond(asked.knownSince)}; ask for that moment or a later one`,
    );
  return asked.moment;
}

/**
 * Postgres has neither the year 0 nor the days that JavaScript moves into the next month, such as
 * February 30.
 */
function isMoment(typed: string, isDay: boolean): boolean {
  if (!/^(?!0000)\d{4}-\d{2}-\d{2}(?:$|[T ])/.test(typed)) return false;
  const day = typed.slice(0, 10);
  const parsed = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(parsed.getTime()) || !parsed.toISOString().startsWith(day)) return false;
  return (
    isDay || (/(Z|[+-](?:0\d|1[0-4]):?[0-5]\d)$/.test(typed) && !Number.isNaN(Date.parse(typed)))
  );
}

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
