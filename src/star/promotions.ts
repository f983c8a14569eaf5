import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';

/** A field of an account that is a column of mart. */
export interface Promotion {
  readonly account: string;
  readonly table: string;
  readonly field: string;
  /** Name of the column. */
  readonly name: string;
  /** The types that the field was sent with. */
  readonly types: readonly string[];
}

/** The promoted fields of every account. */
export async function listPromotions(db: Queryable): Promise<Promotion[]> {
  const {rows} = await db.query<Promotion>(
    `SELECT account.name AS account, table_name AS "table", field, promoted_as AS name, types
       FROM sync.fields JOIN sync.accounts AS account USING (account_id)
      WHERE promoted_as IS NOT NULL ORDER BY account.name, table_name, field`,
  );
  return rows;
}

/** The fields without a column that sweeps have seen, by account and table, as in `north jobs`. */
export async function listSeenFields(db: Queryable): Promise<Map<string, string[]>> {
  const {rows} = await db.query<{place: string; fields: string[]}>(
    `SELECT account.name || ' ' || table_name AS place, array_agg(field ORDER BY field) AS fields
       FROM sync.fields JOIN sync.accounts AS account USING (account_id)
      WHERE last_sweep_id > 0 AND (column_name IS NULL OR promoted_as IS NOT NULL) AND 'secret' <> ALL (types)
      GROUP BY account.name, table_name`,
  );
  return new Map(rows.map(({place, fields}) => [place, fields]));
}

/**
 * Promotes a field. One that no sweep has seen yet is listed with the types given, so that its
 * column has the right type from the start.
 * @param stream - the stream in whose records the field comes
 * @throws {UsageError} the name cannot be a column's, or a view of somebody's stands in the way
 */
export async function promoteField(
  db: Queryable,
  {account, table, field, name, types, stream}: Promotion & {readonly stream: string},
): Promise<void> {
  await writePromotion(
    db,
    `INSERT INTO sync.fields (account_id, table_name, field, stream, types, last_sweep_id, promoted_as)
     SELECT account_id, $2::text, $3::text, $4::text, $5::text[], 0, $6::text FROM sync.accounts WHERE name = $1
         ON CONFLICT (account_id, table_name, field) DO UPDATE SET promoted_as = EXCLUDED.promoted_as`,
    [account, table, field, stream, types, name],
  );
}

/**
 * Takes the column of a field away; its values stay in `extra`. A field that no sweep has seen is
 * no longer listed.
 * @throws {UsageError} a view of somebody's stands on the column
 */
export async function demoteField(
  db: Queryable,
  {account, table, field}: Pick<Promotion, 'account' | 'table' | 'field'>,
): Promise<void> {
  await writePromotion(
    db,
    `WITH unseen AS (
       DELETE FROM sync.fields AS held USING sync.accounts AS account
        WHERE account.account_id = held.account_id AND account.name = $1 AND table_name = $2 AND field = $3 AND last_sweep_id = 0
     )
     UPDATE sync.fields AS held SET promoted_as = NULL FROM sync.accounts AS account
      WHERE account.account_id = held.account_id AND account.name = $1 AND table_name = $2 AND field = $3 AND last_sweep_id > 0`,
    [account, table, field],
  );
}

/**
 * SQLSTATE of the refusals of sync.check_promotion and sync.build_mart_view: their words are for a
 * person.
 */
const refusals: ReadonlySet<string | undefined> = new Set([
  '42701',
  '42602',
  '42P01',
  '22023',
  '2BP01',
]);

async function writePromotion(
  db: Queryable,
  sql: string,
  values: readonly unknown[],
): Promise<void> {
  try {
    await db.query(sql, [...values]);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !refusals.has(error.code)) throw error;
    throw new UsageError(
      [error.message, ...(error.hint === undefined ? [] : [error.hint])].join('; '),
      {
        cause: error,
      },
    );
  }
}
