// How `feed` looks: a line an entry.

import type {FeedEntry, FeedPage} from '../feed/read-feed.ts';

const longestValue = 40;
const shownFields = 4;

export function drawFeed({entries, cursor}: FeedPage): string {
  const end = `go on with: fieldmirror feed --after ${cursor}`;
  return entries.length === 0
    ? `nothing changed\n${end}`
    : [...entries.map(drawEntry), end].join('\n');
}

/** `2027-03-15T09:30:00Z  customers 12 changed by erp: phone_number 555-0100 → 555-0199` */
export function drawEntry(entry: FeedEntry): string {
  const {at, account, table, number, row_id, operation, before, after} = entry;
  const row = number ?? (row_id === null ? '' : `row ${row_id}`);
  const author = entry.application ?? entry.written_by;
  const by = author === null ? '' : ` by ${author}`;
  const fields = drawFields(before ?? {}, after ?? {}, operation);
  const what = [account, table, row, operation].filter((part) => part !== '').join(' ');
  return `${at.slice(0, 19)}Z  ${what}${by}${fields === '' ? '' : `: ${fields}`}`;
}

function drawFields(
  before: NonNullable<FeedEntry['before']>,
  after: NonNullable<FeedEntry['after']>,
  operation: FeedEntry['operation'],
): string {
  if (operation === 'loaded')
    return 'it was read as a whole for the first time; take its rows from the table';
  if (operation !== 'changed') return '';
  const names = Object.keys(after);
  const shown = names
    .slice(0, shownFields)
    .map((name) => `${name} ${drawValue(before[name])} → ${drawValue(after[name])}`);
  return [
    ...shown,
    ...(names.length > shownFields ? [`${names.length - shownFields} more`] : []),
  ].join(', ');
}

function drawValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return '(empty)';
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/g, ' ');
  return text.length <= longestValue ? text : `${text.slice(0, longestValue - 1)}…`;
}
