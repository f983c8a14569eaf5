import type {Queryable} from '../postgres/database.ts';

/** A name for what the service sends as a number alone. */
export interface Label {
  readonly account: string;
  /** As in customer_type. */
  readonly kind: string;
  readonly id: string;
  readonly label: string;
}

/** The labels of every account. */
export async function listLabels(db: Queryable): Promise<Label[]> {
  const {rows} = await db.query<Label>(
    `SELECT account.name AS account, kind, id, label
       FROM mart.labels JOIN sync.accounts AS account ON account.account_id = account_key
      ORDER BY account.name, kind, labels.id`,
  );
  return rows;
}

/** Writes a label, in place of the one that the number had. */
export async function writeLabel(db: Queryable, {account, kind, id, label}: Label): Promise<void> {
  await db.query(
    `INSERT INTO mart.labels (account_key, kind, id, label)
     SELECT account_id, $2::text, $3::bigint, $4::text FROM sync.accounts WHERE name = $1
         ON CONFLICT (account_key, kind, id) DO UPDATE SET label = EXCLUDED.label`,
    [account, kind, id, label],
  );
}

/** Takes a label away. */
export async function deleteLabel(
  db: Queryable,
  {account, kind, id}: Pick<Label, 'account' | 'kind' | 'id'>,
): Promise<void> {
  await db.query(
    `DELETE FROM mart.labels USING sync.accounts AS account
      WHERE account.account_id = account_key AND account.name = $1 AND kind = $2 AND id = $3`,
    [account, kind, id],
  );
}
