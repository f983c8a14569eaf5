// Changes as the HTTP API answers them: one, or a page of them.

import type pg from 'pg';
import {z} from 'zod';
import {type ChangeFilter, isWanted, needySql, valuesOf} from '../changes/change.ts';
import {pageOfChange} from '../changes/story.ts';
import type {Queryable} from '../postgres/database.ts';
import {keysOf} from '../rows/links.ts';
import {type ChangeAnswer, changeSchema, type Story, storySchema} from './answers.ts';
import type {AccountKey} from './keys.ts';
import {changeNumber, filterShape, lineOf} from './queries.ts';

// The answers say which columns they are made of.
const {attempts: attempt, conflicts: conflict} = storySchema.shape;
const attemptColumns = listColumns(attempt.element);
const conflictColumns = listColumns(conflict.element);

/** Whose keys, of which account, are in the answers. */
type KeyScope = Pick<AccountKey, 'accountId' | 'system'>;

/** Changes of an account by their numbers. */
export async function answerChanges(
  db: Queryable,
  {accountId, system}: KeyScope,
  changeIds: readonly string[],
): Promise<ReadonlyMap<string, ChangeAnswer>> {
  const {rows} = await db.query<ChangeAnswer>(
    `SELECT ${changeColumnsFor(system)} FROM sync.changes AS held
     WHERE account_id = $1 AND change_id = ANY ($2::bigint[])`,
    [accountId, changeIds],
  );
  return new Map(rows.map((row) => [row.change_id, row]));
}

/** One change with its attempts and conflicts; null when the account has none of that number. */
export async function answerStory(
  db: Queryable,
  key: KeyScope,
  changeId: string,
): Promise<Story | null> {
  const change = (await answerChanges(db, key, [changeId])).get(changeId);
  if (change === undefined) return null;
  const attempts = await db.query<Story['attempts'][number]>(
    `SELECT ${attemptColumns} FROM sync.attempts
      WHERE change_id = $1 ORDER BY attempt_id`,
    [changeId],
  );
  const conflicts = await db.query<Story['conflicts'][number]>(
    `SELECT ${conflictColumns}
       FROM sync.conflicts WHERE change_id = $1 ORDER BY conflict_id`,
    [changeId],
  );
  return {
    ...change,
    docs: pageOfChange(change),
    attempts: attempts.rows,
    conflicts: conflicts.rows,
  };
}

/**
 * The change that a statement of this transaction made or went into, since it was last forgotten.
 */
export async function readLastChange(client: pg.ClientBase): Promise<string | null> {
  const {rows} = await client.query<{id: string | null}>('SELECT sync.last_change() AS id');
  return rows[0]?.id ?? null;
}

/** The latest change of a row. */
export async function readLatestChange(
  client: pg.ClientBase,
  table: string,
  rowId: string,
): Promise<string | null> {
  const {rows} = await client.query<{change_id: string}>(
    `SELECT change_id FROM sync.changes WHERE table_name = $1 AND row_id = $2
      ORDER BY change_id DESC LIMIT 1`,
    [table, rowId],
  );
  return rows[0]?.change_id ?? null;
}

/** `held` is the change. Of the system default it has the key that its row had then. */
function changeColumnsFor(system: string): string {
  const {key} = keysOf(system, 'held.table_name');
  return listColumns(changeSchema).replace('external_key', `${key} AS external_key`);
}

function listColumns(schema: z.ZodObject): string {
  return Object.keys(schema.shape)
    .map((name) => (name === 'table' ? 'table_name AS "table"' : name))
    .join(', ');
}

export const listChangesQuery = z.strictObject({
  ...filterShape,
  external_key: lineOf(1_000)
    .optional()
    .describe('Changes of the row that has this key; of the system default, that had it then.'),
  after: changeNumber.optional().describe('next_after of the page before.'),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});

export const listChangesSchema = z
  .object({
    changes: z.array(changeSchema),
    next_after: z.string().nullable().describe('Give it as after to go on; null at the end.'),
  })
  .describe('A page of changes, in the order in which they were made.');

/**
 * Changes in the order of their numbers. @param after - number of the last change of the page
 * before
 */
export async function listApiChanges(
  db: Queryable,
  wanted: ChangeFilter,
  {
    externalKey,
    system,
    after,
    limit,
  }: {
    readonly externalKey: string | null;
    readonly system: string;
    readonly after: string;
    readonly limit: number;
  },
): Promise<ChangeAnswer[]> {
  const {key} = keysOf(system, 'held.table_name');
  const {rows} = await db.query<ChangeAnswer>(
    `WITH ${needySql}
     SELECT ${changeColumnsFor(system)} FROM sync.changes AS held
      WHERE ${isWanted} AND change_id > $10 AND ($11::text IS NULL OR ${key} = $11)
      ORDER BY change_id LIMIT $12`,
    [...valuesOf(wanted), after, externalKey, limit],
  );
  return rows;
}
