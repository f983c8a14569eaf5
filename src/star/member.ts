// What a dimension, a fact or a question of the star is, the SQL that their definitions share, and
// how a definition becomes views and functions.

import {measured} from './measures.ts';

/**
 * The name of a column, its value as SQL, and its comment for the reader of a BI tool. What may
 * name a person says which key of its row stands for it where such data is masked.
 */
export type MemberColumn = readonly [
  name: string,
  value: string,
  comment: string,
  maskedBy?: string | undefined,
];

/**
 * A dimension or a fact of the star: one definition, rendered three times (`renderMember`): as the
 * present, as of any past moment, and for some jobs alone, which refreshes what is kept. In its
 * SQL `{jobs}` is the table `warehouse.jobs` with the rows that are gone, or the versions of that
 * moment; `{mart.dim_customer}` is another member, at the same moment; `{now}` is the present, or
 * that moment; `{job.revenue}` is the measure `revenue` over the rows that are called `job`.
 */
export interface Member {
  /** Its view in the schema `mart`. */
  readonly name: `${'dim' | 'fct' | 'ask'}_${string}`;
  /** Begins with the grain: "One row for each …". */
  readonly comment: string;
  /** The first column is the key, unless `key` says otherwise. */
  readonly columns: readonly MemberColumn[];
  /** From `FROM` on. */
  readonly from: string;
  /** The columns that tell one row from another; the first column when absent. */
  readonly key?: readonly string[];
  /**
   * The values of the row that stands for what is missing, so that an inner join loses no fact;
   * null if not given.
   */
  readonly missing?: Readonly<Record<string, string>>;
  /**
   * Kept as a table: `sync.refresh_star` writes the jobs that changed. It holds nothing that
   * depends on now. The columns that it is looked up by, beside its job and its key.
   */
  readonly keptBy?: readonly (readonly string[])[];
  /**
   * Columns that an earlier version looked it up by: their indexes go. Any other index is somebody
   * else's, and stays.
   */
  readonly formerlyKeptBy?: readonly (readonly string[])[];
  /** Made from versions, so it holds the past already: no form of it as of a moment. */
  readonly isOfVersions?: true;
}

/** The columns that tell one row of a member from another. */
export function rowKeyOf({columns, key}: Pick<Member, 'columns' | 'key'>): readonly string[] {
  return key ?? [columns[0]?.[0] ?? ''];
}

/**
 * A column as somebody reads it who is not to learn the names of people: `customer 17` for a name.
 */
export function maskedColumn([name, , , maskedBy]: MemberColumn): string {
  return maskedBy === undefined ? name : `${keyInPlace(maskedBy)} AS ${name}`;
}

/** What stands in place of a name: the kind and the number of the key. */
function keyInPlace(key: string): string {
  return `'${key.replace('_key', '')} ' || ${key}`;
}

/** The condition that a row is live, and that the service has given it its number. */
export function liveRow(alias: string, number: string): string {
  return `${alias}._deleted_at IS NULL AND ${alias}.${number} IS NOT NULL`;
}

/** The local date of an instant, in the zone of the account. */
export function localDate(instant: string): string {
  return `(${instant} AT TIME ZONE account.time_zone)::date`;
}

/**
 * The Monday of the week of a date. The year 1 began on a Monday; date_trunc would make each date a
 * moment of the session's zone and back, which takes ten times as long.
 */
export function mondayOf(date: string): string {
  return `${date} - (${date} - DATE '0001-01-01') % 7`;
}

/**
 * The same for a kept table. Where the session is in the zone of the account, as in a first load, a
 * cast gives the date in a third of the time. The subquery asks for the zone of the session once,
 * not for each row. Both give the same in every zone that an account can have: CET, EET, MET and
 * WET, which Postgres looks up as abbreviations without a summer, are none.
 */
export function keptDate(instant: string): string {
  return `CASE WHEN account.time_zone = (SELECT current_setting('TimeZone')) THEN (${instant})::date
               ELSE ${localDate(instant)} END`;
}

/** The account of a row, for its zone and its settings. */
export function joinAccount(alias: string): string {
  return `JOIN {mart.dim_account} AS account ON account.account_key = ${alias}.account_id`;
}

/**
 * The accounts, each with its date of today, reckoned once for each: of the view itself Postgres
 * would reckon it for every row that is joined, which takes as long as the sums.
 */
export const accountsSource = '(SELECT * FROM {mart.dim_account} AS known OFFSET 0) AS account';

/** The key of the row that a fact points at, or that of what is missing. */
export function keyOr(alias: string): string {
  return `coalesce(${alias}.row_id, -1)`;
}

/** A view of the schema `mart` that is made from a definition, and the same as of a moment. */
export interface StarMember {
  readonly name: string;
  readonly comment: string;
  /** Column to comment. */
  readonly columns: Readonly<Record<string, string>>;
  /** The query of the view. */
  readonly present: string;
  /** The query as of the moment `$1`; null if there is none. */
  readonly past: string | null;
  /** The query of its view in the schema `masked`: of one account, for an assistant. */
  readonly masked: string;
  /** Of a member that is kept as a table: null for a view. */
  readonly kept: {
    /** Begins with the job, by which rows are written anew: no index of the job alone is needed. */
    readonly key: readonly string[];
    readonly indexes: readonly (readonly string[])[];
    /** Indexes that an earlier version made and this one does not. */
    readonly formerIndexes: readonly (readonly string[])[];
    /** The query for some jobs alone, whose keys are `$1`. */
    readonly someJobs: string;
  } | null;
}

/** What the words in braces of a definition stand for. */
interface Time {
  readonly now: string;
  readonly table: (name: string) => string;
  readonly member: (name: string) => string;
}

/** The first and the last date of a period, each as SQL or as a day such as `2026-10-31`. */
export interface Period {
  readonly first: string;
  readonly last: string;
}

/** Every date that there is. */
export const always: Period = {first: `'-infinity'::date`, last: `'infinity'::date`};

/** The last days of an account, with today: `account` is its row of `dim_account`. */
export function lastDays(days: number): Period {
  return {first: `account.today - ${days - 1}`, last: 'account.today'};
}

/** The last whole weeks of an account. */
export function wholeWeeks(weeks: number): Period {
  const monday = mondayOf('account.today');
  return {first: `${monday} - ${7 * weeks}`, last: `${monday} - 1`};
}

const present: Time = {
  now: 'now()',
  table: (name) => `warehouse.${name}`,
  member: (name) => `mart.${name}`,
};

/** @param moment - as SQL */
function pastOf(moment: string): Time {
  return {
    now: moment,
    table: (name) => `history.all_${name}_as_of(${moment})`,
    member: (name) => `mart.${name}_as_of(${moment})`,
  };
}

/** The moment is the one parameter of the function. */
const past = pastOf('$1');

/** Parts of a job, by the number of the job. */
const partsOfJobs = new Set(['job_charges', 'time_entries', 'job_employees']);

/** The present of some jobs alone: `$1` has their keys. */
const someJobs: Time = {
  ...present,
  table: (name) => {
    if (name === 'jobs')
      return '(SELECT chosen.* FROM warehouse.jobs AS chosen WHERE chosen.row_id = ANY ($1))';
    if (!partsOfJobs.has(name)) return present.table(name);
    return `(SELECT part.* FROM warehouse.jobs AS chosen
               JOIN warehouse.${name} AS part ON part.account_id = chosen.account_id
                AND part.job_number = chosen.job_number WHERE chosen.row_id = ANY ($1))`;
  },
};

/** A member, or a question, which may have a period. */
type Rendered = Member & {readonly period?: Period};

/**
 * A member in SQL, as the present and as of any moment: one definition, so that both always say the
 * same.
 */
export function renderMember(member: Rendered): StarMember {
  const {name, comment, columns, isOfVersions} = member;
  return {
    name,
    comment,
    columns: Object.fromEntries(columns.map(([column, , text]) => [column, text])),
    present: renderAt(member, present),
    past: isOfVersions ? null : renderAt(member, past),
    masked: renderMasked(member),
    kept: renderKept(member),
  };
}

/**
 * A member for an assistant: the rows of the account that its transaction is bound to, and the row
 * that stands for what is missing, which has no account. The names of people where they were asked
 * for.
 */
function renderMasked({name, columns, missing}: Member): string {
  const list = columns.map(shownColumn).join(', ');
  const bound = 'account_key = (SELECT sync.assistant_account())';
  return `SELECT ${list} FROM mart.${name}
      WHERE ${missing === undefined ? bound : `(${bound} OR account_key IS NULL)`}`;
}

function shownColumn([name, , , maskedBy]: MemberColumn): string {
  if (maskedBy === undefined) return name;
  return `CASE WHEN (SELECT sync.assistant_names()) THEN ${name}
               ELSE ${keyInPlace(maskedBy)} END AS ${name}`;
}

function renderKept(member: Member): StarMember['kept'] {
  const {keptBy, formerlyKeptBy = []} = member;
  if (keptBy === undefined) return null;
  return {
    key: [...new Set(['job_key', ...rowKeyOf(member)])],
    indexes: keptBy,
    formerIndexes: formerlyKeptBy,
    someJobs: renderAt(member, someJobs),
  };
}

function renderAt(
  {columns, from, missing, period = always}: Rendered,
  time: Time,
  {first, last} = period,
): string {
  const list = columns.map(([name, value]) => `${value} AS ${name}`).join(',\n       ');
  const rows = `SELECT ${list}\n  ${from}`.replace(
    /\{(?:(\w+)\.)?(\w+)\}/g,
    (_, of: string | undefined, word: string) => {
      if (of === 'mart') return time.member(word);
      if (of !== undefined) return measured(word, of);
      if (word === 'now') return time.now;
      if (word === 'first' || word === 'last') return `(${word === 'first' ? first : last})`;
      return time.table(word);
    },
  );
  if (missing === undefined) return rows;
  const nothing = columns.map(([name]) => missing[name] ?? 'NULL').join(', ');
  return `${rows}\n UNION ALL\nSELECT ${nothing}`;
}

/**
 * A question of an owner, a dispatcher or a bookkeeper, and its answer: a view of the schema `mart`
 * like those of the star, with a form as of any moment. In its SQL `{first}` and `{last}` are the
 * first and the last date of its period.
 */
export interface Question extends Omit<Member, 'name' | 'missing' | 'isOfVersions'>, AnswerColumns {
  readonly name: `ask_${string}`;
  /** In the words of the person who asks. */
  readonly question: string;
  /** What is counted, and how. */
  readonly definition: string;
  /** What the answer does not say, or may be wrong about. */
  readonly caveats: string;
  /** The claims that the answer rests on: names of tie-outs. */
  readonly tieOuts: readonly string[];
  /** The order of the rows: what follows ORDER BY. */
  readonly order: string;
  /** What people have to be asked before there is an answer: a column of `mart.settings`. */
  readonly needs?: 'working_hours';
  /**
   * The dates that the answer is about unless others are asked for; absent if it is about a moment
   * alone.
   */
  readonly period?: Period;
  /** The same answer by something else, by the word of it: `town` for `--by town`. */
  readonly by?: Readonly<Record<string, Grouping>>;
  /** The word by which the answer is grouped, in place of the rows of its view. */
  readonly grouped?: string;
}

/** What differs in an answer that is grouped by something else. It has no view. */
type Grouping = AnswerColumns &
  Pick<Question, 'order' | 'key' | 'from'> &
  Partial<Pick<Question, 'question' | 'definition' | 'caveats' | 'tieOuts' | 'period' | 'needs'>>;

/** The columns of an answer: all, those of money, and those that add up over its rows. */
interface AnswerColumns {
  readonly columns: readonly MemberColumn[];
  readonly money: readonly string[];
  readonly totals: readonly string[];
}

/**
 * The query of an answer for other dates, or by something else, that anybody may run who may read
 * `mart`.
 * @param moment - as SQL; null is the present
 * @param period - null is the period of the question
 */
export function renderQuestion(
  question: Question,
  {moment, period}: {readonly moment: string | null; readonly period: Period | null},
): string {
  const time = moment === null ? present : pastOf(moment);
  const days =
    period === null
      ? question.period
      : {first: `DATE '${period.first}'`, last: `DATE '${period.last}'`};
  return renderAt(question, time, days);
}

/** Whether the working hours of an account are set: of all its technicians, or of one of them. */
export const knowsHours = `(account.working_hours IS NOT NULL
     OR EXISTS (SELECT FROM mart.capacity AS own
                  JOIN mart.dim_employee AS person ON person.employee_key = own.employee_key
                 WHERE person.account_key = account.account_key))`;

/** Beside the answer of each account: the account, first. */
const accountColumn = ['account_key', 'answer.account_key', 'The account: dim_account.'] as const;

/** Of an answer with a row for each job: which job it is, and whose. */
export const jobColumns = {
  job_key: 'The job: fct_job.',
  job_number: 'Its number.',
  customer: 'Its customer.',
  job: 'Its title.',
} as const;
/** Those of them that may name a person, with the key that stands for it. */
export const jobMasks = {customer: 'job_key', job: 'job_key'} as const;

/** The phone number of a customer of the warehouse: the first, else the mobile, else the second. */
export function phoneOf(column: (name: string) => string): string {
  const [first, mobile, second] = ['phone_number', 'mobile', 'alt_phone_number'].map(
    (name) => `nullif(btrim(${column(name)}), '')`,
  );
  return `coalesce(${first}, ${mobile}, ${second})`;
}

/** What an answer says of it. */
export const phoneWords = 'Its phone number: the first, else the mobile, else the second.';

/** The settings, the zone and the date of the account of a fact. */
export function ofAccount(alias: string): string {
  return `JOIN ${accountsSource} ON account.account_key = ${alias}.account_key`;
}

/**
 * Days of employees between two dates of their account. The dates are known before the days are
 * reckoned, which a join would not let Postgres see.
 */
export function daysOfAccounts(from: string, to: string): string {
  return `(SELECT part.* FROM ${accountsSource}
           CROSS JOIN LATERAL (SELECT day.* FROM {mart.fct_employee_day} AS day
                                WHERE day.account_key = account.account_key
                                  AND day.date BETWEEN ${from} AND ${to} OFFSET 0) AS part)`;
}

/**
 * Columns of an answer that stand in its subquery under their own names.
 * @param special - which are money: told with two decimals at least, and all that they have; which
 *   add up over the rows; and of a column that may name a person the key that stands for it
 */
export function answerColumns(
  columns: Readonly<Record<string, string>>,
  {
    money = [],
    totals = [],
    maskedBy = {},
  }: {
    readonly money?: readonly string[];
    readonly totals?: readonly string[];
    readonly maskedBy?: Readonly<Record<string, string>>;
  } = {},
): AnswerColumns {
  const own = Object.entries(columns).map(
    ([name, comment]): MemberColumn => [
      name,
      money.includes(name) ? `answer.${name} + 0.00` : `answer.${name}`,
      comment,
      maskedBy[name],
    ],
  );
  return {columns: [accountColumn, ...own], money, totals};
}
