// Stories of records for those who are not to see personal data.

import type {OpenWish} from '../changes/change-log.ts';
import {isPersonal} from '../streams/all.ts';
import type {FieldStory} from './explain-field.ts';
import type {RecordStory, ToldValue} from './record-story.ts';

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
    pointedAt: story.pointedAt.map((record) => ({
      ...record,
      name: record.name === null ? null : hidden,
    })),
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
    value === null || value === undefined || value === '' || !isPersonal(table, field)
      ? value
      : hidden;
}

function hideWish(wish: OpenWish, hide: Hide): OpenWish {
  return {...wish, fields: hideAll(wish.fields, hide), base: hideAll(wish.base, hide)};
}

function hideAll<Value>(
  fields: Readonly<Record<string, Value>>,
  hide: Hide,
): Readonly<Record<string, Value | string>> {
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [field, hide(field, value)]),
  );
}
