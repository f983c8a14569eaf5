import type {Queryable} from '../../src/postgres/database.ts';

/** Lets one transaction edit all customers of an account that there is, as an import may. */
export async function allowLargeEdits(db: Queryable): Promise<void> {
  await db.query(
    `INSERT INTO sync.edit_limits (account_id, table_name, most_percent)
     SELECT account_id, 'customers', 100 FROM sync.accounts`,
  );
}
