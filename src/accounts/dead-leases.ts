// The leases of processes that are gone. They end at once where that is certain: on the machine of
// the process. Everywhere else they run out.

import {findPlace, isHolderGone} from '../core/holder.ts';
import type {Queryable} from '../postgres/database.ts';

/**
 * Every table with leases, each with `lease_until` and `holder`; and the condition, if any, by
 * which an index leads to the rows that may be held.
 */
const leased: Readonly<Record<string, string>> = {
  alert_deliveries: `state IN ('due', 'sending')`,
  alert_looks: 'true',
  changes: `(state IN ('pending', 'in_doubt') AND waits_for IS NULL OR state = 'sending')`,
  delivery_targets: 'true',
  feed_hooks: 'true',
  prunings: 'true',
  report_mails: `state IN ('due', 'sending')`,
  sweeps: `state = 'running'`,
};

/** The names of all tables with leases, in order. */
export const leasedTables: readonly string[] = Object.keys(leased);

const held = Object.entries(leased)
  .map(
    ([table, where]) => `SELECT holder FROM sync.${table}
      WHERE ${where} AND lease_until > now() AND starts_with(holder, $1)`,
  )
  .join(' UNION ALL ');

/**
 * Ends the leases of processes of this machine that are certainly gone, so that their work is taken
 * up at once; whoever takes it up counts its fence further, as after a lease that ran out.
 * @returns how many leases were ended
 */
export async function endDeadLeases(db: Queryable): Promise<number> {
  const place = await findPlace();
  if (place === null) return 0;
  const {rows} = await db.query<{holder: string}>(`SELECT DISTINCT holder FROM (${held}) AS held`, [
    `${place}.`,
  ]);
  const gone: string[] = [];
  for (const {holder} of rows) if (await isHolderGone(holder)) gone.push(holder);
  if (gone.length === 0) return 0;
  let count = 0;
  for (const [table, where] of Object.entries(leased)) {
    const {rowCount} = await db.query(
      `UPDATE sync.${table} SET lease_until = now()
        WHERE ${where} AND lease_until > now() AND holder = ANY ($1)`,
      [gone],
    );
    count += rowCount ?? 0;
  }
  return count;
}
