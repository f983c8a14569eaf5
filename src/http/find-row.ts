import pg from 'pg';
import type {Writes} from '../streams/stream.ts';
import type {Reference} from './change-request.ts';

/** A row of the key's account. */
export interface FoundRow {
  readonly rowId: string;
  readonly number: string | null;
  readonly externalKey: string | null;
  readonly isDeleted: boolean;
}

/**
 * The row of an account that a reference names, null when there is none. @param lock - held until
 * the commit
 */
export async function findRow(
  client: pg.ClientBase,
  {table, key}: Pick<Writes, 'table' | 'key'>,
  {
    accountId,
    reference,
    lock,
  }: {readonly accountId: string; readonly reference: Reference; readonly lock: 'UPDATE' | 'SHARE'},
): Promise<FoundRow | null> {
  const number = pg.escapeIdentifier(key);
  const {rows} = await client.query<FoundRow>(
    `SELECT row_id AS "rowId", ${number} AS number, external_key AS "externalKey", _deleted_at IS NOT NULL AS "isDeleted"
       FROM warehouse.${pg.escapeIdentifier(table.name)}
      WHERE account_id = $1 AND (row_id = $2 OR ${number} = $3 OR external_key = $4) FOR ${lock}`,
    [accountId, reference.row_id ?? null, reference.number ?? null, reference.external_key ?? null],
  );
  return rows[0] ?? null;
}
