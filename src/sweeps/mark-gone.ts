import type pg from 'pg';
import {ownedTablesOf} from '../streams/stream.ts';
import type {SweepCounts} from './sweep.ts';
import type {SweepRun} from './sweep-run.ts';
import {writeTombstones} from './tombstones.ts';

/**
 * Marks deleted every row that the sweep has evidence for, in the caller's transaction. A stream
 * that is not deletable is left alone.
 */
export async function markGone(
  client: pg.ClientBase,
  {sweep, stream}: SweepRun,
): Promise<Pick<SweepCounts, 'tombstoned' | 'vanished'>> {
  if (!stream.isDeletable) return {tombstoned: 0, vanished: 0};
  return await writeTombstones(client, {table: stream.table, owned: ownedTablesOf(stream)}, sweep);
}
