import type {LateChange, LateChanges, Lateness} from '../changes/change-health.ts';
import {formatDuration, formatNumber} from '../core/format.ts';
import {quoteWord} from '../core/text.ts';

export type LateChangeKind = `change-${Lateness}`;

interface Matter {
  readonly kind: LateChangeKind;
  readonly subject: string;
  readonly since: string;
  readonly text: string;
  readonly next: string;
}

/**
 * Describes changes that do not come to their end by themselves, one text for each reason, each
 * batch or each change.
 */
export function describeLateChanges(
  late: readonly (LateChanges | LateChange)[],
  now: string,
): Matter[] {
  return late.map((changes) => ({
    kind: `change-${changes.lateness}`,
    subject:
      'subject' in changes
        ? changes.subject
        : changes.batch === null
          ? ''
          : `batch ${changes.batch}`,
    since: changes.since,
    text: describe(
      changes,
      formatDuration(Math.max(0, Date.parse(now) - Date.parse(changes.since))),
    ),
    next: nextOf(changes),
  }));
}

function describe({lateness, count, changeId, reason, batch}: LateChanges, age: string): string {
  const isOne = count === 1;
  const of = batch === null ? '' : ` of the batch ${batch}`;
  const what = `${isOne ? `change ${changeId}` : `${formatNumber(count)} changes`}${of}`;
  const oldest = isOne ? '' : `, change ${changeId} the first of them`;
  const why = reason === null ? '' : `: ${reason}`;
  switch (lateness) {
    case 'conflict':
      return `${what} ${isOne ? 'needs' : 'need'} a decision${oldest}, for ${age}${why}`;
    case 'altered':
      return `${what} ${isOne ? 'was' : 'were'} altered by the service${oldest}, ${age} ago${why}`;
    case 'rejected':
      return `${what} ${isOne ? 'was' : 'were'} refused by the service${oldest}, ${age} ago${why}`;
    case 'in-doubt':
      return `${what} ${isOne ? 'was' : 'were'} sent, and nobody knows whether ${isOne ? 'it' : 'they'} arrived${oldest}, ${age} ago`;
    case 'failing':
      return `${what} ${isOne ? 'fails' : 'fail'} again and again${oldest}, for ${age}${why}`;
    case 'untaken':
      return `${what} ${isOne ? 'is' : 'are'} due and nobody takes ${isOne ? 'it' : 'them'} up${oldest}, for ${age}`;
    case 'held':
      return `${what} ${isOne ? 'is' : 'are'} held${oldest}, for ${age}`;
  }
}

function nextOf({lateness, count, changeId, batch}: LateChanges): string {
  if (lateness === 'untaken')
    return 'is a worker running? fieldmirror start, or by hand: fieldmirror push';
  if (count === 1 || (lateness === 'failing' && batch === null))
    return `fieldmirror changes show ${changeId}`;
  const state =
    lateness === 'failing' ? 'pending' : lateness === 'in-doubt' ? 'in_doubt' : lateness;
  const of = batch === null ? '' : ` --batch ${quoteWord(batch)}`;
  return `fieldmirror changes list --state ${state}${of}, then fieldmirror changes show ${changeId}`;
}
