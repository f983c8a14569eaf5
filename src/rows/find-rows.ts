// Finds rows of several tables by the text that a person types, and the rows that belong to one.
// Each condition has an index, and each list a limit: a million rows are searched as quickly as a
// thousand. Rows are found by words. An index over an array of words costs less than half of one
// over trigrams. It needs no extension, which a role may not be allowed to create. A word is found
// by its beginning. Phone numbers are indexed as reversed words, so that a number without its area
// code is the beginning of one. See docs/scale.md "Finding a record".

import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import type {MirrorTable, Searched} from '../streams/table.ts';
import {findColumn, keyOf, nameTable} from './table-sql.ts';

/** A found row in short form. Instants are ISO 8601 in UTC. */
export interface FoundRow {
  readonly table: string;
  readonly accountId: string;
  readonly rowId: string;
  /** Null until the service has given one. */
  readonly number: string | null;
  readonly externalKey: string | null;
  readonly name: string | null;
  readonly changedAt: string;
  readonly isDeleted: boolean;
  readonly isPending: boolean;
}

/**
 * A row, and how it was found: by its number, by its key in an outside system, or by words that it
 * contains.
 */
export type Hit = FoundRow & {readonly by: 'number' | 'key' | 'words'};

/** The search terms; null skips the search by that term. */
interface SearchTerms {
  readonly accountIds: readonly string[];
  readonly number: string | null;
  readonly externalKey: string | null;
  readonly words: string | null;
  /** Digits of a phone number, in their order. */
  readonly phone: string | null;
  readonly limit: number;
}

/**
 * Finds rows by number, then by key, then by words: the row contains all words, the last of which
 * may be the beginning of one.
 */
export async function findRows(
  db: Queryable,
  tables: readonly MirrorTable[],
  {accountIds, number, externalKey, words, phone, limit}: SearchTerms,
): Promise<Hit[]> {
  const reversed = phone === null ? null : [...phone].reverse().join('');
  const {rows} = await db.query<Hit>(
    `SELECT * FROM (${tables.map(hitsSql).join(' UNION ALL ')}) AS hit
      ORDER BY array_position('{number,key,words}'::text[], by),
        array_position($6::text[], "table"), number DESC LIMIT $7`,
    [accountIds, number, externalKey, words, reversed, tables.map(({name}) => name), limit],
  );
  return rows;
}

/** Finds rows that contain a word with the same beginning as a typed one. */
export async function findSimilarRows(
  db: Queryable,
  tables: readonly MirrorTable[],
  {accountIds, words, limit}: Pick<SearchTerms, 'accountIds' | 'words' | 'limit'>,
): Promise<FoundRow[]> {
  const query = `(SELECT string_agg(quote_literal(left(word, 4)) || ':*', ' | ')::tsquery
                    FROM unnest(${splitWords('$2::text')}) AS word WHERE length(word) > 2)`;
  const similarQueries = tables.flatMap((table) =>
    table.searched === null
      ? []
      : [
          `(SELECT ${foundColumns(table)} FROM ${nameTable(table)} AS held
             WHERE row_id IN (${idsSql(table, table.searched, {query, limit: '$3'})}) LIMIT $3)`,
        ],
  );
  if (similarQueries.length === 0) return [];
  const {rows} = await db.query<FoundRow>(
    `SELECT * FROM (${similarQueries.join(' UNION ALL ')}) AS hit LIMIT $3`,
    [accountIds, words, limit],
  );
  return rows;
}

/**
 * The rows whose numbers are nearest to one, below it and above it.
 * @param limit - per side, of each table and account
 */
export async function findNearNumbers(
  db: Queryable,
  tables: readonly MirrorTable[],
  {accountIds, number, limit}: {accountIds: readonly string[]; number: string; limit: number},
): Promise<FoundRow[]> {
  const sideQueries = tables.flatMap((table) =>
    [`< $2::bigint`, `> $2::bigint`].map((side) => {
      const order = side.startsWith('<') ? 'DESC' : 'ASC';
      return `(SELECT near.* FROM unnest($1::bigint[]) AS account
                CROSS JOIN LATERAL (SELECT ${foundColumns(table)} FROM ${nameTable(table)} AS held
                                     WHERE account_id = account AND ${keyOf(table)} ${side}
                                     ORDER BY ${keyOf(table)} ${order} LIMIT $3) AS near)`;
    }),
  );
  const {rows} = await db.query<FoundRow>(
    `SELECT * FROM (${sideQueries.join(' UNION ALL ')}) AS near
       ORDER BY abs(number - $2::bigint), "table", "accountId" LIMIT 8`,
    [accountIds, number, limit],
  );
  return rows;
}

/** How many past versions are searched for the latest rows, including those of other accounts. */
const latestVersions = 1_000;

/**
 * Rows that changed recently, the latest first: rows without a number yet, rows with the highest
 * numbers, and rows whose versions ended last. An index on the moment of the change would slow down
 * every write of a row.
 */
export async function listLatestRows(
  db: Queryable,
  tables: readonly MirrorTable[],
  {accountIds, limit}: Pick<SearchTerms, 'accountIds' | 'limit'>,
): Promise<FoundRow[]> {
  const queries = tables.map(
    (table) => `
      (SELECT ${foundColumns(table)} FROM ${nameTable(table)} AS held
        WHERE row_id IN (
              SELECT newest.row_id FROM unnest($1::bigint[]) AS account
               CROSS JOIN LATERAL (
                     SELECT row_id FROM ${nameTable(table)} AS new WHERE new.account_id = account
                      ORDER BY new.account_id DESC, new.${keyOf(table)} DESC LIMIT $3) AS newest
               UNION
              SELECT row_id FROM (
                     SELECT row_id, account_id
                       FROM history.${pg.escapeIdentifier(`past_${table.name}`)}
                      ORDER BY valid_to DESC LIMIT ${latestVersions}) AS ended
               WHERE account_id = ANY ($1))
        ORDER BY _changed_at DESC LIMIT $2)`,
  );
  const perAccount = Math.max(2, Math.ceil(limit / accountIds.length));
  const {rows} = await db.query<FoundRow>(
    `SELECT * FROM (${queries.join(' UNION ALL ')}) AS hit ORDER BY "changedAt" DESC LIMIT $2`,
    [accountIds, limit, perAccount],
  );
  return rows;
}

function hitsSql(table: MirrorTable): string {
  const hitSql = (by: Hit['by'], condition: string) =>
    `(SELECT ${foundColumns(table)}, '${by}' AS by FROM ${nameTable(table)} AS held
       WHERE account_id = ANY ($1::bigint[]) AND ${condition} LIMIT $7)`;
  const key = keyOf(table);
  const queries = [
    hitSql('number', `${key} = $2::bigint`),
    hitSql('key', `external_key = $3::text AND (${key} = $2::bigint) IS NOT TRUE`),
  ];
  if (table.searched === null) return queries.join(' UNION ALL ');
  const isOtherHit = `(${key} = $2::bigint) IS NOT TRUE AND (external_key = $3::text) IS NOT TRUE`;
  const ids = idsSql(table, table.searched, {query: typedQuery, limit: '$7'});
  return [...queries, hitSql('words', `row_id IN (${ids}) AND ${isOtherHit}`)].join(' UNION ALL ');
}

/**
 * How many of the latest rows are searched first: a common word is found often enough among them.
 */
const latestRows = 300;

/**
 * SQL for the rows that contain the words: among the latest rows, and by the index among all rows
 * if those are too few. An index alone would first gather all rows that contain a word, however
 * many: 0.3 s for a word in 800,000 rows. Postgres plans a materialized query as if all of it were
 * read. So no limit makes a scan of the whole table look cheap, but the rows are still read only up
 * to the limit.
 */
function idsSql(
  table: MirrorTable,
  searched: Searched,
  {query, limit}: {readonly query: string; readonly limit: string},
): string {
  const hasWords = `${searchedWords(searched)} @@ ${query}`;
  const isOfAccounts = 'account_id = ANY ($1::bigint[])';
  return `
    WITH latest AS MATERIALIZED (
      SELECT row_id FROM (SELECT * FROM ${nameTable(table)} ORDER BY row_id DESC
        LIMIT ${latestRows}) AS late
       WHERE ${isOfAccounts} AND ${hasWords} LIMIT ${limit}),
    every AS MATERIALIZED (
      SELECT row_id FROM ${nameTable(table)} AS held
       WHERE ${isOfAccounts} AND ${hasWords} AND (SELECT count(*) FROM latest) < ${limit})
    SELECT row_id FROM latest
     UNION
    (SELECT row_id FROM every LIMIT ${limit})`;
}

/**
 * SQL for the typed words and phone number. Words that are split as in the index contain no sign
 * that has a meaning in a query. A single letter is left out, because it would be found nearly
 * everywhere.
 */
const typedQuery = `(
  SELECT nullif(concat_ws(' | ',
                   '(' || CASE WHEN length(string_agg(word, '')) > 1
                            THEN string_agg(quote_literal(word)
                                   || CASE WHEN at = of THEN ':*' ELSE '' END, ' & ' ORDER BY at)
                          END || ')',
                   quote_literal($5::text) || ':*'), '')::tsquery
    FROM (SELECT word, at, count(*) OVER () AS of
            FROM unnest(${splitWords('$4::text')}) WITH ORDINALITY AS typed (word, at)) AS typed)`;

function foundColumns(table: MirrorTable): string {
  return `${pg.escapeLiteral(table.name)} AS "table", account_id AS "accountId",
          row_id AS "rowId", ${keyOf(table)} AS number,
          external_key AS "externalKey", left(name, 200) AS name, _changed_at AS "changedAt",
          _deleted_at IS NOT NULL AS "isDeleted", coalesce(_pending, false) AS "isPending"`;
}

/**
 * How many characters of a text are searched: a row must not be refused because a word is too long
 * for an index.
 */
const longestText = 200;

/**
 * SQL for the words of a row, as in its index: Postgres uses the index only if the query has the
 * same expression.
 */
export function searchedWords({words, phones = []}: Searched): string {
  const texts = [
    joinColumns(words, ' '),
    ...(phones.length === 0 ? [] : [reverseSql(joinColumns(phones, ','))]),
  ];
  return `array_to_tsvector(${splitWords(texts.join(` || ' ' || `))})`;
}

/**
 * SQL for the words of a text: in lower case, without the characters between them, and no empty
 * one.
 */
function splitWords(text: string): string {
  return `array_remove(regexp_split_to_array(lower(${text}), '\\W+'::text), ''::text)`;
}

function joinColumns(columns: readonly string[], between: string): string {
  const texts = columns.map(
    (name) => `COALESCE("left"(${pg.escapeIdentifier(name)}, ${longestText}), ''::text)`,
  );
  return texts.join(` || '${between}' || `);
}

/**
 * SQL for reversed phone numbers. Only the characters that people write between the digits are
 * dropped: a regular expression would cost twice as much.
 */
function reverseSql(phones: string): string {
  return `reverse(translate(${phones}, ' ()-./+'::text, ''::text))`;
}

/** One version of a row that belongs to another. Instants are ISO 8601 in UTC. */
export interface RowPart {
  readonly rowId: string;
  /** When this version began. */
  readonly since: string;
  readonly isDeleted: boolean;
  /**
   * The sweep, the change or the user that wrote it; null if another of these wrote it, or if that
   * is not known.
   */
  readonly sweepId: string | null;
  readonly changeId: string | null;
  readonly writtenBy: string | null;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface PartRow extends Omit<RowPart, 'fields'>, Record<string, unknown> {}

/**
 * Reads the rows in which a column has a value, the newest first, deleted ones last.
 * @param options.at - reads the versions of that moment, of rows that were not deleted then; null:
 *   the current versions. A row that was removed from the warehouse is not included: rows of the
 *   service never are removed
 * @param options.columns - those that are read
 */
export async function readParts(
  db: Queryable,
  table: MirrorTable,
  options: {
    readonly accountId: string;
    readonly column: string;
    readonly value: string;
    readonly columns: readonly string[];
    readonly at: string | null;
    readonly limit: number;
  },
): Promise<RowPart[]> {
  const {accountId, column, value, columns, at, limit} = options;
  for (const name of [column, ...columns]) findColumn(table, name);
  const {rows} = await db.query<PartRow>(partsSql(table, column, columns), [
    accountId,
    value,
    at,
    limit,
  ]);
  return rows.map(({rowId, since, isDeleted, sweepId, changeId, writtenBy, ...row}) => ({
    rowId,
    since,
    isDeleted,
    sweepId,
    changeId,
    writtenBy,
    fields: Object.fromEntries(columns.map((name) => [name, row[`field_${name}`]])),
  }));
}

/**
 * The version is looked up for each row by its row_id, because the index of past versions begins
 * with that.
 */
function partsSql(table: MirrorTable, column: string, columns: readonly string[]): string {
  const fields = columns.map(
    (name) => `version.${pg.escapeIdentifier(name)} AS ${pg.escapeIdentifier(`field_${name}`)}`,
  );
  return `
    SELECT version.row_id AS "rowId", version.valid_from AS since,
           version._deleted_at IS NOT NULL AS "isDeleted",
           version._sweep_id AS "sweepId", version._change_id AS "changeId",
           version.written_by AS "writtenBy", ${fields.join(', ')}
      FROM (SELECT row_id, _deleted_at IS NOT NULL AS is_deleted FROM ${nameTable(table)}
             WHERE account_id = $1 AND ${pg.escapeIdentifier(column)} = $2
             ORDER BY is_deleted, row_id DESC LIMIT $4) AS child
     CROSS JOIN LATERAL (
           SELECT * FROM history.${pg.escapeIdentifier(table.name)} AS held
            WHERE held.row_id = child.row_id
              AND held.valid_from <= coalesce($3::timestamptz, 'infinity')
              AND (held.valid_to IS NULL OR held.valid_to > $3::timestamptz) OFFSET 0) AS version
     WHERE $3::timestamptz IS NULL OR version._deleted_at IS NULL
     ORDER BY child.is_deleted, child.row_id DESC`;
}

/** The number and the name of the record that another one references; null if it is not stored. */
export async function readNamed(
  db: Queryable,
  table: MirrorTable,
  lookup: {
    readonly accountId: string;
    readonly column: string;
    readonly value: string;
    readonly key: string;
  },
): Promise<{readonly number: string | null; readonly name: string | null} | null> {
  const {accountId, column, value, key} = lookup;
  for (const name of [column, key]) findColumn(table, name);
  const {rows} = await db.query<{number: string | null; name: string | null}>(
    `SELECT ${pg.escapeIdentifier(key)} AS number, left(name, 200) AS name FROM ${nameTable(table)}
      WHERE account_id = $1 AND ${pg.escapeIdentifier(column)} = $2 ORDER BY _deleted_at NULLS FIRST
        LIMIT 1`,
    [accountId, value],
  );
  return rows[0] ?? null;
}
