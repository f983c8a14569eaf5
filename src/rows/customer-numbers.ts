import type {Queryable} from '../postgres/database.ts';

/**
 * The number of a customer that is known by its internal key; null where no such customer is held.
 */
export async function readCustomerNumber(
  db: Queryable,
  {accountId, customerId}: {readonly accountId: string; readonly customerId: string},
): Promise<string | null> {
  const {rows} = await db.query<{number: string}>(
    `SELECT customer_number AS number FROM warehouse.customers
      WHERE account_id = $1 AND id = $2 AND customer_number IS NOT NULL ORDER BY _deleted_at NULLS FIRST LIMIT 1`,
    [accountId, customerId],
  );
  return rows[0]?.number ?? null;
}
