// A day of ten accounts, of which one works: an ERP writes here, an office at the service, and a
// worker does what it does by itself.

import {writeDueReports} from '../../../src/cli/ask.ts';
import {sequenceFeed} from '../../../src/feed/feed.ts';
import {readDatabaseBytes} from '../../../src/health/figures.ts';
import {pushAccount} from '../../../src/push/push.ts';
import {pruneHistory} from '../../../src/retention/retention.ts';
import {refreshStar} from '../../../src/star/mart.ts';
import {dayMs, hourMs, type Month, type Played, playSchedules, signal, sweep} from './month.ts';

/** The changes of a day on either side. */
export const changesADay = 20;

export interface DayEnd {
  /** The sweeps that schedules made. */
  readonly sweeps: number;
  /** The size of the database. */
  readonly bytes: number;
}

/**
 * Plays a day from midnight to midnight.
 * @param folder - of the weekly reports
 */
export async function playDay(month: Month, day: number, folder: string): Promise<DayEnd> {
  const momentOf = (hour: number) => new Date(month.begin.getTime() + day * dayMs + hour * hourMs);
  const morning = await playSchedules(month, momentOf(0), momentOf(9));
  await month.at(momentOf(9), async (played) => {
    await changeBothSides(month, played, day);
    await report(month, played, folder);
  });
  const evening = await playSchedules(month, momentOf(9), momentOf(24));
  return await month.at(momentOf(24), async (played) => {
    await removeOld(played);
    // Autovacuum comes round each minute; a played day takes seconds.
    await played.pool.query('VACUUM');
    return {sweeps: morning + evening, bytes: await readDatabaseBytes(played.pool)};
  });
}

/** As a worker does it every hour. */
export async function removeOld({pool}: Pick<Played, 'pool'>): Promise<void> {
  await pruneHistory({pool, signal, restMs: 0, batch: 5_000});
}

/** An ERP writes fax numbers, an office at the service telephone numbers of other customers. */
async function changeBothSides({working, api}: Month, played: Played, day: number): Promise<void> {
  const {accountId} = working;
  const {rows} = await played.pool.query<{number: string}>(
    `SELECT customer_number AS number FROM warehouse.customers
     WHERE account_id = $1 AND _deleted_at IS NULL ORDER BY customer_number LIMIT $2`,
    [accountId, 2 * changesADay],
  );
  const numbers = rows.map(({number}) => number);
  const [ours, theirs] = [numbers.slice(0, changesADay), numbers.slice(changesADay)];
  await played.pool.query(
    `UPDATE warehouse.customers SET fax = $3 WHERE account_id = $1 AND customer_number = ANY ($2)`,
    [accountId, ours, `555-01${String(day).padStart(2, '0')}`],
  );
  await pushAccount(played, accountId, signal);
  for (const number of theirs)
    await api.customers.update(number, {phone_number: `555-02${String(day).padStart(2, '0')}`});
  for (const stream of ['customers', 'jobs'])
    await sweep(played, accountId, {stream, mode: 'full'});
  await sequenceFeed(played.pool);
  await refreshStar(played.pool);
}

async function report({accounts}: Month, {pool, log}: Played, folder: string): Promise<void> {
  await writeDueReports({pool, folder, accountIds: accounts.map(({accountId}) => accountId), log});
}
