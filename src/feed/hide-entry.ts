import {isPersonal} from '../streams/all.ts';
import type {FeedEntry, FieldValues} from './read-feed.ts';

/** Stands for a value that the reader may not see. */
const hidden = '•••';

/** An entry of the feed without its personal values. */
export function hideEntry<T extends Pick<FeedEntry, 'table' | 'before' | 'after'>>(entry: T): T {
  const hide = (values: FieldValues | null) =>
    values &&
    Object.fromEntries(
      Object.entries(values).map(([field, value]) => [
        field,
        value === null || value === '' || !isPersonal(entry.table, field) ? value : hidden,
      ]),
    );
  return {...entry, before: hide(entry.before), after: hide(entry.after)};
}
