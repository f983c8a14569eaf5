import {z} from 'zod';
import {isWanted, needySql, valuesOf, type Wanted} from '../changes/wanted-changes.ts';
import type {Queryable} from '../postgres/database.ts';
import {type Change, changeSchema} from './answers.ts';
import {changeColumns} from './read-change.ts';
import {changeNumber, filterShape, lineOf} from './wanted-query.ts';

export const listChangesQuery = z.strictObject({
  ...filterShape,
  external_key: lineOf(1_000).optional().describe('Changes of the rows that had this key then.'),
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
  wanted: Wanted,
  {externalKey, after, limit}: {readonly externalKey: string | null; after: string; limit: number},
): Promise<Change[]> {
  const {rows} = await db.query<Change>(
    `WITH ${needySql}
     SELECT ${changeColumns} FROM sync.changes
      WHERE ${isWanted} AND change_id > $10 AND ($11::text IS NULL OR external_key = $11) ORDER BY change_id LIMIT $12`,
    [...valuesOf(wanted), after, externalKey, limit],
  );
  return rows;
}
