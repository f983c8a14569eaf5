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
 * A dimension or a fact of the star: one definition, rendered twice (render.ts), as the present and
 * as of any past moment. In its SQL `{jobs}` is the table `warehouse.jobs` with the rows that are
 * gone, or the versions of that moment; `{mart.dim_customer}` is another member, at the same
 * moment; `{now}` is the present, or that moment.
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
   * null where not given.
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

/**
 * A column as somebody reads it who is not to learn the names of people: `customer 17` for a name.
 */
export function maskedColumn([name, , , maskedBy]: MemberColumn): string {
  return maskedBy === undefined ? name : `${keyInPlace(maskedBy)} AS ${name}`;
}

/** What stands in place of a name: the kind and the number of the key. */
export function keyInPlace(key: string): string {
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
  return `CASE WHEN account.time_zone = (SELECT current_setting('TimeZone')) THEN (${instant})::date ELSE ${localDate(instant)} END`;
}

/** The account of a row, for its zone and its settings. */
export function joinAccount(alias: string): string {
  return `JOIN {mart.dim_account} AS account ON account.account_key = ${alias}.account_id`;
}

/**
 * The accounts, each with its date of today, reckoned once for each: of the view itself Postgres
 * would reckon it for every row that is joined, which takes as long as the sums.
 */
export const accounts = '(SELECT * FROM {mart.dim_account} AS known OFFSET 0) AS account';

/** The key of the row that a fact points at, or that of what is missing. */
export function keyOr(alias: string): string {
  return `coalesce(${alias}.row_id, -1)`;
}
