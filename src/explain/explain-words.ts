import {formatAgo, formatNumber} from '../core/format.ts';
import {wholeList} from '../streams/windows.ts';
import type {Schedule} from '../sweeps/schedules.ts';
import type {ChangeWriter, Writer} from './record-versions.ts';

/**
 * `sweep 12 (full, page 3, certified)`, `change 7 (update by erp, sent 2026-…, answered 200)` or
 * `an edit by erp (psql)`
 * @param field - the field in question: other values that were read back with a change were not
 *   written by it
 */
export function describeWriter(writer: Writer, field?: string): string {
  if (writer.kind === 'change') return describeChange(writer, field);
  if (writer.kind === 'edit') {
    const application = writer.application === null ? '' : ` (${writer.application})`;
    return `an edit by ${writer.writtenBy ?? 'somebody unknown'}${application}`;
  }
  if (writer.kind === 'pruned-change' && writer.writtenBy !== null)
    return `an edit by ${writer.writtenBy}, brought to the service by change ${writer.changeId}, of which no more is kept`;
  if (writer.kind === 'pruned-change')
    return `the end of change ${writer.changeId}, of which no more is kept: the record as it was read back`;
  if (writer.mode === null) return `sweep ${writer.sweepId}, of which nothing is kept any more`;
  const mode = writer.mode === 'window' ? `window ${writer.windowName}` : writer.mode;
  const page = writer.page === null ? 'asked for by number' : `page ${formatNumber(writer.page)}`;
  return `sweep ${writer.sweepId} (${mode}, ${page}, ${writer.state})`;
}

/**
 * The sweep of a schedule that will look at a record: `window today, if the record falls in it`.
 */
export function describeLook({mode, windowName}: Pick<Schedule, 'mode' | 'windowName'>): string {
  if (mode === 'full') return 'full sweep';
  return windowName === wholeList
    ? 'pass over the whole list'
    : `window ${windowName}, if the record falls in it`;
}

function describeChange(writer: ChangeWriter, field: string | undefined): string {
  const {changeId, operation, table, state, isReadBack, requestedBy, sentAt, status, fields} =
    writer;
  const unsent = state === 'done' ? 'nothing to send' : 'never sent';
  const sent = sentAt === null ? unsent : `sent ${sentAt}`;
  const answered = status === null ? '' : `, answered ${status}`;
  const told = `change ${changeId} (${operation} ${table} by ${requestedBy}, ${sent}${answered})`;
  if (!isReadBack) return `the end of ${told}, which was ${state}: what was before it came back`;
  const isWish = state === 'done' && (field === undefined || fields.includes(field));
  return isWish ? told : `a look at the record after ${told}, which was ${state}`;
}

/** An instant, and how long ago that is. */
export function since(instant: string): string {
  return `${instant} (${formatAgo(instant)})`;
}
