// The types of the dimensions, facts and questions of the star, the SQL that their definitions
// share, and the rendering of a definition into views and functions.

import {renderMeasure} from './measures.ts';

/**
 * The name of a column, its value as SQL, and its comment for the reader of a BI tool. If the
 * column may name a person, `maskedBy` is the key of its row that replaces the name if such data is
 * masked.
 */
export type MemberColumn = readonly [
  name: string,
  value: string,
  comment: string,
  maskedBy?: string | undefined,
];

/**
 * A dimension or a fact of the star. One definition is rendered three times (`renderMember`): as
 * the present, as of any past moment, and for some jobs alone, which refreshes the kept table. In
 * its SQL `{jobs}` is the table `warehouse.jobs` with its deleted rows, or the versions of that
 * moment. `{mart.dim_customer}` is another member, at the same moment. `{now}` is the present, or
 * that moment. `{job.revenue}` is the measure `revenue` over the rows with the alias `job`.
 */
export interface Member {
  /** Its view in the schema `mart`. */
  readonly name: `${'dim' | 'fct' | 'ask'}_${string}`;
  /** Begins with the grain: "One row for each …". */
  readonly comment: string;
  /** The first column is the key, unless `key` names others. */
  readonly columns: readonly MemberColumn[];
  /** From `FROM` on. */
  readonly from: string;
  /** The columns that identify a row; the first column when absent. */
  readonly key?: readonly string[];
  /**
   * The values of the row for a missing reference, so that an inner join loses no fact. A column
   * without a value here is null.
   */
  readonly missing?: Readonly<Record<string, string>>;
  /**
   * The member is kept as a table: `sync.refresh_star` writes the jobs that changed. It contains
   * nothing that depends on the present time. Each list has columns by which the table is looked
   * up, besides its job and its key.
   */
  readonly keptBy?: readonly (readonly string[])[];
  /**
   * Columns by which an earlier version looked the table up: their indexes are dropped. Any other
   * index belongs to others and stays.
   */
  readonly formerlyKeptBy?: readonly (readonly string[])[];
  /**
   * The member is made from versions, so it holds the past already: it has no form as of a moment.
   */
  readonly isOfVersions?: true;
}

/** The columns that identify a row of a member. */
export function resolveRowKey({columns, key}: Pick<Member, 'columns' | 'key'>): readonly string[] {
  return key ?? [columns[0]?.[0] ?? ''];
}

/** A column for a reader who may not see the names of people: `customer 17` for a name. */
export function maskColumn([name, , , maskedBy]: MemberColumn): string {
  return maskedBy === undefined ? name : `${buildNameMask(maskedBy)} AS ${name}`;
}

/** The replacement of a name: the kind and the number of the key. */
function buildNameMask(key: string): string {
  return `'${key.replace('_key', '')} ' || ${key}`;
}

/** The condition that a row is live, and that the service has given it its number. */
export function isLiveRow(alias: string, number: string): string {
  return `${alias}._deleted_at IS NULL AND ${alias}.${number} IS NOT NULL`;
}

/** The local date of an instant, in the zone of the account. */
export function localDate(instant: string): string {
  return `(${instant} AT TIME ZONE account.time_zone)::date`;
}

/**
 * The Monday of the week of a date. The year 1 began on a Monday. `date_trunc` would convert each
 * date to a moment of the session's zone and back, which takes ten times as long.
 */
export function mondayOf(date: string): string {
  return `${date} - (${date} - DATE '0001-01-01') % 7`;
}

/**
 * The local date of an instant, for a kept table. If the session is in the zone of the account, as
 * in a first load, a cast gives the date in a third of the time. The subquery reads the zone of the
 * session once, not for each row. Both expressions give the same date in every zone that an account
 * can have. CET, EET, MET and WET, which Postgres reads as abbreviations without summer time, are
 * not among these zones.
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
 * The accounts, each with its date of today, computed once for each account. From the view itself,
 * Postgres would compute it for every joined row, which takes as long as the sums.
 */
export const accountsSource = '(SELECT * FROM {mart.dim_account} AS known OFFSET 0) AS account';

/** The key of the row that a fact refers to, or the key of the row for a missing reference. */
export function keyOrMissing(alias: string): string {
  return `coalesce(${alias}.row_id, -1)`;
}

/** A view of the schema `mart` that is made from a definition, and the same as of a moment. */
export interface StarMember {
  readonly name: string;
  readonly comment: string;
  /** The comment of each column, by its name. */
  readonly columns: Readonly<Record<string, string>>;
  /** The query of the view. */
  readonly present: string;
  /** The query as of the moment `$1`; null if there is none. */
  readonly past: string | null;
  /** The query of its view in the schema `masked`: of one account, for an assistant. */
  readonly masked: string;
  /** For a member that is kept as a table; null for a view. */
  readonly kept: {
    /**
     * The key begins with the job, by which rows are rewritten: no index of the job alone is
     * needed.
     */
    readonly key: readonly string[];
    readonly indexes: readonly (readonly string[])[];
    /** Indexes that an earlier version made and this one does not. */
    readonly formerIndexes: readonly (readonly string[])[];
    /** The query for some jobs alone, whose keys are `$1`. */
    readonly someJobs: string;
  } | null;
}

/** The SQL for the words in braces of a definition. */
interface Placeholders {
  readonly now: string;
  readonly table: (name: string) => string;
  readonly member: (name: string) => string;
}

/** The first and the last date of a period, each as SQL or as a day such as `2026-10-31`. */
interface Period {
  readonly first: string;
  readonly last: string;
}

/** Every date that there is. */
export const allDates: Period = {first: `'-infinity'::date`, last: `'infinity'::date`};

/** The last days of an account, with today: `account` is its row of `dim_account`. */
export function lastDays(days: number): Period {
  return {first: `account.today - ${days - 1}`, last: 'account.today'};
}

/** The last whole weeks of an account. */
export function wholeWeeks(weeks: number): Period {
  const monday = mondayOf('account.today');
  return {first: `${monday} - ${7 * weeks}`, last: `${monday} - 1`};
}

const present: Placeholders = {
  now: 'now()',
  table: (name) => `warehouse.${name}`,
  member: (name) => `mart.${name}`,
};

/** @param moment - as SQL */
function buildPast(moment: string): Placeholders {
  return {
    now: moment,
    table: (name) => `history.all_${name}_as_of(${moment})`,
    member: (name) => `mart.${name}_as_of(${moment})`,
  };
}

/** The moment is the one parameter of the function. */
const past = buildPast('$1');

/** Parts of a job, by the number of the job. */
const partsOfJobs = new Set(['job_charges', 'time_entries', 'job_employees']);

/** The present of some jobs alone: `$1` is the array of their keys. */
const someJobs: Placeholders = {
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
type RenderableMember = Member & {readonly period?: Period};

/**
 * Renders a member in SQL, as the present and as of any moment. Both come from one definition, so
 * they always agree.
 */
export function renderMember(member: RenderableMember): StarMember {
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
 * A member for an assistant: the rows of the account to which its transaction is bound, and the row
 * for missing references, which has no account. The names of people are included if they were
 * requested.
 */
function renderMasked({name, columns, missing}: Member): string {
  const columnList = columns.map(renderMaskedColumn).join(', ');
  const accountSql = 'account_key = (SELECT sync.assistant_account())';
  return `SELECT ${columnList} FROM mart.${name}
      WHERE ${missing === undefined ? accountSql : `(${accountSql} OR account_key IS NULL)`}`;
}

function renderMaskedColumn([name, , , maskedBy]: MemberColumn): string {
  if (maskedBy === undefined) return name;
  return `CASE WHEN (SELECT sync.assistant_names()) THEN ${name}
               ELSE ${buildNameMask(maskedBy)} END AS ${name}`;
}

function renderKept(member: Member): StarMember['kept'] {
  const {keptBy, formerlyKeptBy = []} = member;
  if (keptBy === undefined) return null;
  return {
    key: [...new Set(['job_key', ...resolveRowKey(member)])],
    indexes: keptBy,
    formerIndexes: formerlyKeptBy,
    someJobs: renderAt(member, someJobs),
  };
}

function renderAt(
  {columns, from, missing, period = allDates}: RenderableMember,
  placeholders: Placeholders,
  {first, last} = period,
): string {
  const columnList = columns.map(([name, value]) => `${value} AS ${name}`).join(',\n       ');
  const rows = `SELECT ${columnList}\n  ${from}`.replace(
    /\{(?:(\w+)\.)?(\w+)\}/g,
    (_, prefix: string | undefined, word: string) => {
      if (prefix === 'mart') return placeholders.member(word);
      if (prefix !== undefined) return renderMeasure(word, prefix);
      if (word === 'now') return placeholders.now;
      if (word === 'first' || word === 'last') return `(${word === 'first' ? first : last})`;
      return placeholders.table(word);
    },
  );
  if (missing === undefined) return rows;
  const missingValues = columns.map(([name]) => missing[name] ?? 'NULL').join(', ');
  return `${rows}\n UNION ALL\nSELECT ${missingValues}`;
}

/**
 * A question of an owner, a dispatcher or a bookkeeper, and its answer. The answer is a view of the
 * schema `mart` like those of the star, with a form as of any moment. In its SQL `{first}` and
 * `{last}` are the first and the last date of its period.
 */
export interface Question extends Omit<Member, 'name' | 'missing' | 'isOfVersions'>, AnswerColumns {
  readonly name: `ask_${string}`;
  /** In the words of the person who asks. */
  readonly question: string;
  /** A description of what is counted, and how. */
  readonly definition: string;
  /** The limits of the answer: what it leaves out, and what may be wrong in it. */
  readonly caveats: string;
  /** The claims that the answer depends on: names of tie-outs. */
  readonly tieOuts: readonly string[];
  /** The order of the rows: the text after ORDER BY. */
  readonly order: string;
  /** The setting that people must enter before there is an answer: a column of `mart.settings`. */
  readonly needs?: 'working_hours';
  /**
   * The dates of the answer unless others are requested; absent if the answer is about a moment
   * alone.
   */
  readonly period?: Period;
  /** The same answer with another grouping, by the word of it: `town` for `--by town`. */
  readonly by?: Readonly<Record<string, Grouping>>;
  /** The word of the grouping in use, whose rows replace those of the view. */
  readonly grouped?: string;
}

/** The parts of an answer that differ with another grouping. Such an answer has no view. */
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
 * The query of an answer for other dates, or with another grouping. Any login that may read `mart`
 * may run it.
 * @param moment - as SQL; null is the present
 * @param period - null is the period of the question
 */
export function renderQuestion(
  question: Question,
  {moment, period}: {readonly moment: string | null; readonly period: Period | null},
): string {
  const placeholders = moment === null ? present : buildPast(moment);
  const answerPeriod =
    period === null
      ? question.period
      : {first: `DATE '${period.first}'`, last: `DATE '${period.last}'`};
  return renderAt(question, placeholders, answerPeriod);
}

/** Whether the working hours of an account are set: of all its technicians, or of one of them. */
export const hasWorkingHours = `(account.working_hours IS NOT NULL
     OR EXISTS (SELECT FROM mart.capacity AS own
                  JOIN mart.dim_employee AS person ON person.employee_key = own.employee_key
                 WHERE person.account_key = account.account_key))`;

/** The first column of every answer: its account. */
const accountColumn = ['account_key', 'answer.account_key', 'The account: dim_account.'] as const;

/** For an answer with a row for each job: the columns that identify the job and its customer. */
export const jobColumns = {
  job_key: 'The job: fct_job.',
  job_number: 'Its number.',
  customer: 'Its customer.',
  job: 'Its title.',
} as const;
/** Those of `jobColumns` that may name a person, with the key that replaces the name. */
export const jobMasks = {customer: 'job_key', job: 'job_key'} as const;

/** The phone number of a customer of the warehouse: the first, else the mobile, else the second. */
export function choosePhone(column: (name: string) => string): string {
  const [first, mobile, second] = ['phone_number', 'mobile', 'alt_phone_number'].map(
    (name) => `nullif(btrim(${column(name)}), '')`,
  );
  return `coalesce(${first}, ${mobile}, ${second})`;
}

/** The comment of the phone number in an answer. */
export const phoneComment = 'Its phone number: the first, else the mobile, else the second.';

/** The settings, the zone and the date of the account of a fact. */
export function joinAccountKey(alias: string): string {
  return `JOIN ${accountsSource} ON account.account_key = ${alias}.account_key`;
}

/**
 * Days of employees between two dates of their account. The lateral subquery lets Postgres know the
 * dates before it computes the days; a join would not.
 */
export function listEmployeeDays(from: string, to: string): string {
  return `(SELECT part.* FROM ${accountsSource}
           CROSS JOIN LATERAL (SELECT day.* FROM {mart.fct_employee_day} AS day
                                WHERE day.account_key = account.account_key
                                  AND day.date BETWEEN ${from} AND ${to} OFFSET 0) AS part)`;
}

/**
 * Columns of an answer that have the same names in its subquery.
 * @param options - `money`: columns of amounts, shown with at least two decimals and with all that
 *   they have; `totals`: columns that add up over the rows; `maskedBy`: the key that replaces the
 *   value of a column that may name a person
 */
export function buildAnswerColumns(
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
  const answerColumnList = Object.entries(columns).map(
    ([name, comment]): MemberColumn => [
      name,
      money.includes(name) ? `answer.${name} + 0.00` : `answer.${name}`,
      comment,
      maskedBy[name],
    ],
  );
  return {columns: [accountColumn, ...answerColumnList], money, totals};
}
