// The lines of the log that a person reads aloud: one for each sweep and each change that ended. No
// value of a record is in them, and no word of the service on a change: it may repeat a value.

import type {ChangeState} from '../changes/change-states.ts';
import {nameState} from '../changes/change-words.ts';
import {formatElapsed, formatNumber} from '../core/format.ts';
import type {ChangeOperation} from '../streams/table.ts';
import type {Sweep, SweepCounts, SweepEnd} from '../sweeps/sweep.ts';

type NamedSweep = Pick<Sweep, 'sweepId' | 'stream' | 'windowName' | 'recordNumber'> & {
  readonly accountName: string;
};

/**
 * `sweep 12 of jobs (acme)`; of a window `sweep 13 of jobs, scheduled=today (acme)`, of a record
 * `sweep 14 of jobs 4711 (acme)`.
 */
export function nameSweep({
  sweepId,
  stream,
  windowName,
  recordNumber,
  accountName,
}: NamedSweep): string {
  const record = recordNumber === null ? '' : ` ${recordNumber}`;
  const window = windowName === null ? '' : `, ${windowName}`;
  return `sweep ${sweepId} of ${stream}${record}${window} (${accountName})`;
}

/** `sweep 12 of jobs (acme) certified: 3,332 records, 4 changed, in 2.1 s` */
export function tellSweepEnd(
  sweep: NamedSweep,
  {
    state,
    counts,
    durationMs,
  }: {readonly state: SweepEnd; readonly counts: SweepCounts; readonly durationMs: number},
): string {
  return `${nameSweep(sweep)} ${state}: ${tellCounts(counts)}, in ${formatElapsed(durationMs)}`;
}

function tellCounts(counts: SweepCounts): string {
  const {records, inserted, updated, revived, tombstoned, quarantined} = counts;
  const changes = [
    [inserted, 'new'],
    [updated, 'changed'],
    [revived, 'back'],
    [tombstoned, 'gone'],
    [quarantined, 'in quarantine'],
  ] as const;
  const told = changes.flatMap(([count, word]) =>
    count === 0 ? [] : [`${formatNumber(count)} ${word}`],
  );
  const read = `${formatNumber(records)} ${records === 1 ? 'record' : 'records'}`;
  return [read, ...(told.length === 0 ? ['nothing changed'] : told)].join(', ');
}

/** A change, by names that its log line may hold: the key at the ERP is not among them. */
interface NamedChange {
  readonly changeId: string;
  readonly operation: ChangeOperation;
  readonly table: string;
  readonly number: string | null;
  readonly rowId: string;
  readonly accountName: string;
}

/** `change 17, update customers 12 (acme), done in 0.4 s` */
export function tellChangeEnd(
  {changeId, operation, table, number, rowId, accountName}: NamedChange,
  {state, durationMs}: {readonly state: ChangeState; readonly durationMs: number},
): string {
  const record = number === null ? `, row ${rowId}` : ` ${number}`;
  const end = state === 'rejected' ? 'refused' : nameState(state);
  return `change ${changeId}, ${operation} ${table}${record} (${accountName}), ${end} in ${formatElapsed(durationMs)}`;
}
