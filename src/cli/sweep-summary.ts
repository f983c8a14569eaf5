// The ends of sweeps, for a person: the last output of `start --once` and `sync`.

import {seeNumber} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {findStream} from '../streams/all.ts';
import {countRows, pageOfSweep} from '../sweeps/story.ts';
import type {Sweep} from '../sweeps/sweep.ts';
import {drawTable} from './report.ts';
import type {Warehouse} from './with-warehouse.ts';

/** One line of the closing table. */
export interface StreamSummary {
  readonly stream: string;
  readonly state: string;
  readonly records: number;
  readonly rows: number;
  readonly inserted: number;
  readonly updated: number;
  readonly tombstoned: number;
  readonly quarantined: number;
  readonly seconds: number;
  readonly recordsPerSecond: number;
  /** Why the sweep is not certified. */
  readonly reasons: readonly string[];
  /** For one record that was asked for: the evidence that the service has none of that number. */
  readonly absent: string | null;
  readonly error: string | null;
  /** The number of the page with cause and mend; null where nothing has to be mended. */
  readonly docs: string | null;
}

/** One line on how a sweep ended. */
export function describeEnd(sweep: Sweep): string {
  const {counts} = sweep;
  if (sweep.state === 'failed') return `${sweep.stream.padEnd(10)} failed: ${sweep.error}`;
  const parts = [
    `${formatNumber(counts.records)} records in ${formatNumber(counts.pages)} ${counts.pages === 1 ? 'page' : 'pages'}`,
    `${formatNumber(counts.inserted)} new`,
    `${formatNumber(counts.updated)} changed`,
    `${formatNumber(counts.unchanged)} unchanged`,
  ];
  if (counts.tombstoned > 0) parts.push(`${formatNumber(counts.tombstoned)} gone`);
  if (counts.quarantined > 0) parts.push(`${formatNumber(counts.quarantined)} in quarantine`);
  return `${sweep.stream.padEnd(10)} ${sweep.state}: ${parts.join(', ')}`;
}

/**
 * The service's words that it has no record of the number asked for; null where it has, or was not
 * asked.
 */
function describeAbsent({stream, recordNumber, evidence, counts}: Sweep): string | null {
  if (evidence.absent === undefined) return null;
  const {status, words} = evidence.absent;
  const row = counts.tombstoned > 0 ? 'its row is marked deleted' : 'no row of it is held here';
  return `the service has no ${findStream(stream).item} ${recordNumber} (${status} "${words}"), and ${row}`;
}

export async function summarise(
  {pool}: Pick<Warehouse, 'pool'>,
  sweeps: readonly Sweep[],
): Promise<StreamSummary[]> {
  return await Promise.all(
    sweeps.map(async (sweep) => {
      const seconds = (Date.parse(sweep.endedAt ?? '') - Date.parse(sweep.startedAt ?? '')) / 1000;
      return {
        stream: sweep.stream,
        state: sweep.state,
        records: sweep.counts.records,
        rows: await countRows(pool, findStream(sweep.stream).table, sweep.accountId),
        inserted: sweep.counts.inserted,
        updated: sweep.counts.updated,
        tombstoned: sweep.counts.tombstoned,
        quarantined: sweep.counts.quarantined,
        seconds,
        recordsPerSecond: seconds > 0 ? Math.round(sweep.counts.records / seconds) : 0,
        reasons: sweep.reasons,
        absent: describeAbsent(sweep),
        error: sweep.error,
        docs: pageOfSweep(sweep.state),
      };
    }),
  );
}

export function drawSummary(summaries: readonly StreamSummary[]): string {
  const head = [
    'stream',
    'state',
    'records read',
    'rows in the warehouse',
    'seconds',
    'records a second',
  ];
  const rows = summaries.map((line) => [
    line.stream,
    line.state,
    line.records,
    line.rows,
    line.seconds,
    line.recordsPerSecond,
  ]);
  const remarks = summaries.flatMap((line) =>
    [...line.reasons, line.absent ?? [], line.error ?? []]
      .flat()
      .map(
        (why) => `${line.stream}: ${why}${line.docs === null ? '' : ` (${seeNumber(line.docs)})`}`,
      ),
  );
  return [drawTable(head, rows), ...remarks].join('\n');
}

/** 3 when a sweep failed, 1 when records were refused or a person must approve, else 0. */
export function exitCodeOf(summaries: readonly StreamSummary[]): number {
  if (summaries.some((line) => line.state === 'failed')) return 3;
  return summaries.some((line) => line.quarantined > 0 || line.state === 'stopped') ? 1 : 0;
}
