import type {Element, Value} from '../api/xml-record.ts';
import {compareNames} from './nested-records.ts';
import type {Layout, Part} from './record-plan.ts';
import {type Reading, refusal} from './record-refusal.ts';
import {isSecret} from './secret-values.ts';

/**
 * The layout of a list of names, made once per list.
 * @throws {RecordError} a name twice
 */
export function layoutOf(part: Part, names: readonly string[], reading: Reading): Layout {
  let layout = part.layouts.get(names);
  if (layout === undefined) {
    layout = makeLayout(part, names, reading);
    part.layouts.set(names, layout);
  }
  return layout;
}

/**
 * The value at a layout's position; undefined for -1, which is no index to ask an array for: that
 * is slow.
 */
export function elementAt(record: Element, position: number | undefined): Value | undefined {
  return position === undefined || position === -1 ? undefined : record.values[position];
}

function makeLayout(part: Part, names: readonly string[], reading: Reading): Layout {
  const columns = part.columns.map(() => -1);
  const rest: {name: string; label: string; position: number}[] = [];
  const seen = new Set<string>();
  for (const [position, name] of names.entries()) {
    if (seen.has(name)) throw refusal(reading, {field: name, expected: 'it once', got: 'it twice'});
    seen.add(name);
    const column = part.columnOf.get(name);
    if (column !== undefined) columns[column] = position;
    else if (part.keepsRest && !part.skipped.has(name) && !isSecret(name)) {
      rest.push({name, label: `${JSON.stringify(name)}:`, position});
    }
  }
  rest.sort((one, other) => compareNames(one.name, other.name));
  return {columns, elements: part.elements.map((name) => names.indexOf(name)), rest};
}
