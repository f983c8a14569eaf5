import type {WriteKind} from '../streams/table.ts';
import type {ChangeValues} from './change-values.ts';
import type {RecentWrite} from './recent-writes.ts';
import {isSameValue} from './same-value.ts';

/**
 * Whether values of a record show what one of the changes, which are done, has replaced, and not
 * what the last of them left.
 */
export function showsReplaced(
  writes: readonly RecentWrite[],
  shown: ChangeValues,
  kindOf: (field: string) => WriteKind,
): boolean {
  return [...new Set(writes.flatMap(({fields}) => Object.keys(fields)))].some((name) => {
    const held = shown[name];
    const ofField = writes.filter(({fields}) => name in fields);
    const last = ofField.at(-1);
    if (held === undefined || last === undefined) return false;
    const kind = kindOf(name);
    const left = last.made[name]?.got ?? last.fields[name] ?? null;
    return (
      !isSameValue(kind, left, held) &&
      ofField.some(
        ({base: {[name]: before}}) => before !== undefined && isSameValue(kind, before, held),
      )
    );
  });
}
