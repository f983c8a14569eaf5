import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/read-row.ts';
import type {audit} from './console-tables.ts';

type Row = typeof audit.$inferSelect;

const columns = [
  'audit_id',
  'at',
  'session_id',
  'name',
  'role',
  'address',
  'action',
  'account_id',
  'subject',
  'before',
  'after',
] as const satisfies readonly (keyof Row)[];

/** An action in the console: a row of sync.audit, whose definition says what each column means. */
export type AuditEntry = ReadRow<Row, (typeof columns)[number]>;

/** Notes an action, in the transaction that does it. */
export async function writeAudit(
  db: Queryable,
  entry: Omit<AuditEntry, 'auditId' | 'at'>,
): Promise<void> {
  const {sessionId, name, role, address, action, accountId, subject, before, after} = entry;
  await db.query(
    `INSERT INTO sync.audit (session_id, name, role, address, action, account_id, subject, before, after)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [sessionId, name, role, address, action, accountId, subject, toJson(before), toJson(after)],
  );
}

/**
 * The latest actions, the newest first. @param accountIds - only of these, and of none in
 * particular; null: all
 */
export async function listAudit(
  db: Queryable,
  {accountIds, limit}: {readonly accountIds: readonly string[] | null; readonly limit: number},
): Promise<AuditEntry[]> {
  const {rows} = await db.query<AuditEntry>(
    `SELECT ${selectColumns(columns)} FROM sync.audit
      WHERE $1::bigint[] IS NULL OR account_id = ANY ($1) ORDER BY audit_id DESC LIMIT $2`,
    [accountIds, limit],
  );
  return rows;
}

/** node-postgres would make an array of Postgres of an array. */
function toJson(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
