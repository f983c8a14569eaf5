import type {EditWriter, SweepWriter} from '../warehouse/versions.ts';
import {formatAgo, formatNumber} from './report.ts';

/** Characters of one value that a person is shown; JSON has all. */
const longest = 2_000;

/** A value as a person reads it: text in quotes, so that blanks and emptiness show. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined) return '(empty)';
  const text = JSON.stringify(value);
  if (text.length <= longest) return text;
  return `${text.slice(0, longest)}… (${formatNumber(text.length)} characters; --json prints all)`;
}

/** `sweep 12 (full, page 3, certified)` or `an edit by erp (psql)` */
export function describeWriter(writer: SweepWriter | EditWriter): string {
  if (writer.kind === 'edit') {
    const application = writer.application === null ? '' : ` (${writer.application})`;
    return `an edit by ${writer.writtenBy ?? 'somebody unknown'}${application}`;
  }
  if (writer.mode === null) return `sweep ${writer.sweepId}, of which nothing is kept any more`;
  const mode = writer.mode === 'window' ? `window ${writer.windowName}` : writer.mode;
  const page = writer.page === null ? 'asked for by number' : `page ${formatNumber(writer.page)}`;
  return `sweep ${writer.sweepId} (${mode}, ${page}, ${writer.state})`;
}

/** An instant, and how long ago that is. */
export function since(instant: string): string {
  return `${instant} (${formatAgo(instant)})`;
}
