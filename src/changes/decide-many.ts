import type {Queryable} from '../postgres/database.ts';
import {type DecidedChange, type Deciding, decideChanges} from './decide-changes.ts';

/** So many changes are decided or taken back at once. */
export const mostDecided = 10_000;

/** Changes that one statement decides: it ends long before the deadline of a statement. */
const atOnce = 1_000;

/**
 * Decides many changes alike, each by itself. What is given up is given up from its end.
 * @param changeIds - ascending
 * @returns ascending
 */
export async function decideMany(
  db: Queryable,
  changeIds: readonly string[],
  deciding: Deciding,
): Promise<DecidedChange[]> {
  const ids = deciding.verb === 'cancel' ? changeIds.toReversed() : changeIds;
  const decided: DecidedChange[] = [];
  for (let at = 0; at < ids.length; at += atOnce)
    decided.push(...(await decideChanges(db, ids.slice(at, at + atOnce), deciding)));
  return decided.toSorted((one, other) => Number(BigInt(one.changeId) - BigInt(other.changeId)));
}
