// Rows of several tables found by what a person types. Each condition has an index, and each list a
// limit: a million rows are searched as quickly as a thousand.

import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import type {MirrorTable, Searched} from '../streams/table.ts';
import {searchedWords, splitWords} from './searched-words.ts';
import {keyOf, nameTable} from './table-sql.ts';

/** A row that was found, in a few words. Instants are ISO 8601 in UTC. */
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
 * A row, and by what it was found: its number, its key in the system of somebody else, or words
 * that stand in it.
 */
export type Hit = FoundRow & {readonly by: 'number' | 'key' | 'words'};

/** What is looked for; null leaves a way out. */
export interface Sought {
  readonly accountIds: readonly string[];
  readonly number: string | null;
  readonly externalKey: string | null;
  readonly words: string | null;
  /** Digits of a phone number, in their order. */
  readonly phone: string | null;
  readonly limit: number;
}

/**
 * Rows by number, then by key, then by words: all words stand in the row, the last one may be the
 * beginning of one.
 */
export async function findRows(
  db: Queryable,
  tables: readonly MirrorTable[],
  {accountIds, number, externalKey, words, phone, limit}: Sought,
): Promise<Hit[]> {
  const reversed = phone === null ? null : [...phone].reverse().join('');
  const {rows} = await db.query<Hit>(
    `SELECT * FROM (${tables.map(hitsSql).join(' UNION ALL ')}) AS hit
      ORDER BY array_position('{number,key,words}'::text[], by), array_position($6::text[], "table"), number DESC LIMIT $7`,
    [accountIds, number, externalKey, words, reversed, tables.map(({name}) => name), limit],
  );
  return rows;
}

/** Rows in which one of some words begins as one that was typed. */
export async function findSimilarRows(
  db: Queryable,
  tables: readonly MirrorTable[],
  {accountIds, words, limit}: Pick<Sought, 'accountIds' | 'words' | 'limit'>,
): Promise<FoundRow[]> {
  const query = `(SELECT string_agg(quote_literal(left(word, 4)) || ':*', ' | ')::tsquery
                    FROM unnest(${splitWords('$2::text')}) AS word WHERE length(word) > 2)`;
  const similar = tables.flatMap((table) =>
    table.searched === null
      ? []
      : [
          `(SELECT ${foundColumns(table)} FROM ${nameTable(table)} AS held
             WHERE row_id IN (${idsSql(table, table.searched, {query, limit: '$3'})}) LIMIT $3)`,
        ],
  );
  if (similar.length === 0) return [];
  const {rows} = await db.query<FoundRow>(
    `SELECT * FROM (${similar.join(' UNION ALL ')}) AS hit LIMIT $3`,
    [accountIds, words, limit],
  );
  return rows;
}

/**
 * The rows whose numbers are next to one, below it and above it. @param limit - on either side, of
 * each table and account
 */
export async function findNearNumbers(
  db: Queryable,
  tables: readonly MirrorTable[],
  {accountIds, number, limit}: {accountIds: readonly string[]; number: string; limit: number},
): Promise<FoundRow[]> {
  const sides = tables.flatMap((table) =>
    [`< $2::bigint`, `> $2::bigint`].map((side) => {
      const order = side.startsWith('<') ? 'DESC' : 'ASC';
      return `(SELECT near.* FROM unnest($1::bigint[]) AS account
                CROSS JOIN LATERAL (SELECT ${foundColumns(table)} FROM ${nameTable(table)} AS held
                                     WHERE account_id = account AND ${keyOf(table)} ${side}
                                     ORDER BY ${keyOf(table)} ${order} LIMIT $3) AS near)`;
    }),
  );
  const {rows} = await db.query<FoundRow>(
    `SELECT * FROM (${sides.join(' UNION ALL ')}) AS near ORDER BY abs(number - $2::bigint), "table", "accountId" LIMIT 8`,
    [accountIds, number, limit],
  );
  return rows;
}

/** Versions among which the latest are looked for: those of other accounts are among them. */
const latestVersions = 1_000;

/**
 * Rows that changed of late, the latest first: those without a number yet, those of the highest
 * numbers, and those whose last versions ended. An index on the moment of the change would cost
 * every write of a row.
 */
export async function listLatestRows(
  db: Queryable,
  tables: readonly MirrorTable[],
  {accountIds, limit}: Pick<Sought, 'accountIds' | 'limit'>,
): Promise<FoundRow[]> {
  const latest = tables.map(
    (table) => `
      (SELECT ${foundColumns(table)} FROM ${nameTable(table)} AS held
        WHERE row_id IN (
              SELECT newest.row_id FROM unnest($1::bigint[]) AS account
               CROSS JOIN LATERAL (SELECT row_id FROM ${nameTable(table)} AS new WHERE new.account_id = account
                                    ORDER BY new.account_id DESC, new.${keyOf(table)} DESC LIMIT $3) AS newest
               UNION
              SELECT row_id FROM (SELECT row_id, account_id FROM history.${pg.escapeIdentifier(`past_${table.name}`)}
                                   ORDER BY valid_to DESC LIMIT ${latestVersions}) AS ended
               WHERE account_id = ANY ($1))
        ORDER BY _changed_at DESC LIMIT $2)`,
  );
  const perAccount = Math.max(2, Math.ceil(limit / accountIds.length));
  const {rows} = await db.query<FoundRow>(
    `SELECT * FROM (${latest.join(' UNION ALL ')}) AS hit ORDER BY "changedAt" DESC LIMIT $2`,
    [accountIds, limit, perAccount],
  );
  return rows;
}

function hitsSql(table: MirrorTable): string {
  const hit = (by: Hit['by'], condition: string) =>
    `(SELECT ${foundColumns(table)}, '${by}' AS by FROM ${nameTable(table)} AS held
       WHERE account_id = ANY ($1::bigint[]) AND ${condition} LIMIT $7)`;
  const key = keyOf(table);
  const ways = [
    hit('number', `${key} = $2::bigint`),
    hit('key', `external_key = $3::text AND (${key} = $2::bigint) IS NOT TRUE`),
  ];
  if (table.searched === null) return ways.join(' UNION ALL ');
  const others = `(${key} = $2::bigint) IS NOT TRUE AND (external_key = $3::text) IS NOT TRUE`;
  const ids = idsSql(table, table.searched, {query: typedQuery, limit: '$7'});
  return [...ways, hit('words', `row_id IN (${ids}) AND ${others}`)].join(' UNION ALL ');
}

/** Rows of the latest, among which a word that stands in many is found often enough. */
const latestRows = 300;

/**
 * The rows in which the words stand: of the latest rows, and of all by the index where those are
 * too few. An index alone would first gather all of the rows in which a word stands, however many:
 * 0.3 s for one that stands in 800,000. OFFSET 0 keeps the limit around it from making a scan of
 * the whole table look cheap.
 */
function idsSql(
  table: MirrorTable,
  searched: Searched,
  {query, limit}: {readonly query: string; readonly limit: string},
): string {
  const stand = `${searchedWords(searched)} @@ ${query}`;
  const isOurs = 'account_id = ANY ($1::bigint[])';
  return `
    WITH latest AS MATERIALIZED (
      SELECT row_id FROM (SELECT * FROM ${nameTable(table)} ORDER BY row_id DESC LIMIT ${latestRows}) AS late
       WHERE ${isOurs} AND ${stand} LIMIT ${limit})
    SELECT row_id FROM latest
     UNION
    SELECT row_id FROM (SELECT row_id FROM ${nameTable(table)} AS held
                         WHERE ${isOurs} AND ${stand} AND (SELECT count(*) FROM latest) < ${limit} OFFSET 0) AS every`;
}

/**
 * The words and the phone number that are looked for. Words that are split as the index has split
 * them hold no sign that means something in a query; one letter alone would be found nearly
 * everywhere.
 */
const typedQuery = `(
  SELECT nullif(concat_ws(' | ', '(' || CASE WHEN length(string_agg(word, '')) > 1
                                       THEN string_agg(quote_literal(word) || CASE WHEN at = of THEN ':*' ELSE '' END, ' & ' ORDER BY at) END || ')',
                   quote_literal($5::text) || ':*'), '')::tsquery
    FROM (SELECT word, at, count(*) OVER () AS of
            FROM unnest(${splitWords('$4::text')}) WITH ORDINALITY AS typed (word, at)) AS typed)`;

function foundColumns(table: MirrorTable): string {
  return `${pg.escapeLiteral(table.name)} AS "table", account_id AS "accountId", row_id AS "rowId", ${keyOf(table)} AS number,
          external_key AS "externalKey", left(name, 200) AS name, _changed_at AS "changedAt",
          _deleted_at IS NOT NULL AS "isDeleted", coalesce(_pending, false) AS "isPending"`;
}
