// Stories of records for those who are not to see personal data. A text may name anybody: all texts are hidden but for those
// that have a few values only, and every field without a column.

import {allTables} from '../../streams/all-tables.ts';
import type {OpenWish} from '../../warehouse/changes/reads/change-log.ts';
import type {FieldStory} from './explain-field.ts';
import type {RecordStory, ToldValue} from './record-story.ts';

/** Texts that say how a record stands, not whom it is about. */
const plainTexts: ReadonlySet<string> = new Set([
  'status',
  'invoice_status',
  'invoice_terms',
  'estimate_type',
  'estimate_terms',
  'recurring_interval',
  'which_billing_address',
  'origin',
  'delivery_method',
  'noteable_type',
  'external_key',
]);

/** Whether the values of a field may tell who somebody is, or how to reach them. */
export function isPersonal(table: string, field: string): boolean {
  if (plainTexts.has(field)) return false;
  const columns = allTables.find(({name}) => name === table)?.columns ?? [];
  const type = columns.find(({name}) => name === field)?.type;
  return type === undefined || type === 'text' || type === 'nested' || type === 'float';
}

/** The story with personal values replaced; empty ones stay empty. */
export function hideRecord(story: RecordStory, hidden: string): RecordStory {
  const hide = hider(story.stream, hidden);
  const hideValue = (told: ToldValue): ToldValue => ({
    ...told,
    value: hide(told.field, told.value),
    ...('now' in told ? {now: hide(told.field, told.now)} : {}),
  });
  return {
    ...story,
    name: story.name === null ? null : hidden,
    values: story.values.map(hideValue),
    attributes: story.attributes.map(hideValue),
    wanted: story.wanted.map((wish) => hideWish(wish, hide)),
    pointedAt: story.pointedAt.map((record) => ({...record, name: record.name === null ? null : hidden})),
    parts: story.parts.map((parts) => {
      const hidePart = hider(parts.table, hidden);
      const rows = parts.rows.map((row) => ({...row, fields: hideAll(row.fields, hidePart)}));
      return {...parts, rows};
    }),
    events: story.events.map((event) => ({
      ...event,
      changes: event.changes.map(({field, from, to}) => ({
        field,
        from: hide(field, from),
        to: hide(field, to),
      })),
    })),
  };
}

/** The story of a field of a table with personal values replaced. */
export function hideField(story: FieldStory, table: string, hidden: string): FieldStory {
  const hide = hider(table, hidden);
  const {field, wanted} = story;
  return {
    ...story,
    value: hide(field, story.value),
    earlier: story.earlier.map((run) => ({...run, value: hide(field, run.value)})),
    wanted:
      wanted === null || wanted.lastSaid === undefined || !isPersonal(table, field)
        ? wanted
        : {...wanted, lastSaid: hidden},
  };
}

type Hide = <Value>(field: string, value: Value) => Value | string;

function hider(table: string, hidden: string): Hide {
  return (field, value) =>
    value === null || value === undefined || value === '' || !isPersonal(table, field) ? value : hidden;
}

function hideWish(wish: OpenWish, hide: Hide): OpenWish {
  return {...wish, fields: hideAll(wish.fields, hide), base: hideAll(wish.base, hide)};
}

function hideAll<Value>(
  fields: Readonly<Record<string, Value>>,
  hide: Hide,
): Readonly<Record<string, Value | string>> {
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, hide(field, value)]));
}
