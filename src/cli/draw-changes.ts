// How `changes list` looks: a line a change.

import type {Account} from '../accounts/accounts.ts';
import type {Change} from '../changes/change.ts';
import {nameChange, nameOutcome, tellWhy} from '../changes/change-words.ts';
import {formatRoughly} from '../core/format.ts';
import {drawTable} from './report.ts';
import {maxWidth} from './wrap-text.ts';

const head = ['change', 'made', 'what', 'fields', 'state', 'why'];
const widestBatch = 20;
const longestName = 36;
const longestFields = 28;
const shortestReason = 24;

export function drawChanges(changes: readonly Change[], accounts: readonly Account[]): string {
  if (changes.length === 0)
    return 'no change: who writes to the tables of schema warehouse makes one';
  const isNamed = changes.some(({batch}) => batch !== null);
  const columns = isNamed ? head.toSpliced(2, 0, 'batch') : head;
  const names = new Map(accounts.map(({accountId, name}) => [accountId, name]));
  const rows = changes.map((change) => [
    change.changeId,
    `${formatRoughly(Date.now() - Date.parse(change.requestedAt))} ago`,
    ...(isNamed ? [cut(change.batch ?? '', widestBatch)] : []),
    cut(
      `${accounts.length > 1 ? `${names.get(change.accountId)}: ` : ''}${nameChange(change)}`,
      longestName,
    ),
    nameFields(Object.keys(change.fields)),
    nameOutcome(change),
    tellWhy(change),
  ]);
  const room = maxWidth - widthBefore(columns, rows);
  return drawTable(
    columns,
    rows.map((row) => [...row.slice(0, -1), cut(row.at(-1) ?? '', Math.max(shortestReason, room))]),
  );
}

/** The width of a drawn table without the words of its last column. */
function widthBefore(columns: readonly string[], rows: readonly (readonly string[])[]): number {
  const widths = columns
    .slice(0, -1)
    .map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  return widths.reduce((total, width) => total + width, 0) + 3 * columns.length + 1;
}

/** As many names as there is room for, and how many more there are. */
function nameFields(names: readonly string[]): string {
  const shown = names.slice(0, 1);
  for (const name of names.slice(1)) {
    if ([...shown, name].join(', ').length > longestFields) break;
    shown.push(name);
  }
  const more = names.length > shown.length ? ` +${names.length - shown.length}` : '';
  return shown.join(', ') + more;
}

function cut(text: string, width: number): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`;
}
