// A history, looked up: by change, row, record and number.

import {
  type Effect,
  type FinalChange,
  type FinalConflict,
  type History,
  type Intent,
  normal,
  type Value,
} from './history.ts';

/** The states in which nothing more happens to a change. */
export const isOver = new Set(['done', 'rejected', 'cancelled']);

export class Facts {
  readonly history: History;
  readonly changes: readonly FinalChange[];
  readonly #changes: ReadonlyMap<string, FinalChange>;
  readonly #records: ReadonlyMap<string, History['records'][number]>;
  readonly #intentsOfChange: ReadonlyMap<string, Intent[]>;
  readonly #intentsOfRow: ReadonlyMap<string, Intent[]>;
  readonly #conflictsOfRow: ReadonlyMap<string, FinalConflict[]>;
  readonly #rowOfNumber: ReadonlyMap<string, string>;
  readonly #openRows: ReadonlySet<string>;
  readonly #effects: ReadonlyMap<string, Effect[]>;

  constructor(history: History) {
    this.history = history;
    this.changes = history.changes;
    this.#changes = new Map(history.changes.map((change) => [change.changeId, change]));
    this.#records = new Map(
      history.records.map((record) => [`${record.table} ${record.number}`, record]),
    );
    this.#intentsOfChange = groupBy(history.intents, ({changeId}) => changeId);
    this.#intentsOfRow = groupBy(history.intents, ({table, rowId}) => `${table} ${rowId}`);
    this.#conflictsOfRow = groupBy(history.conflicts, ({changeId}) => {
      const change = this.change(changeId);
      return `${change?.table} ${change?.rowId}`;
    });
    const numbered = [...history.changes, ...history.rows].filter(({number}) => number !== null);
    this.#rowOfNumber = new Map(
      numbered.map(({table, number, rowId}) => [`${table} ${number}`, rowId]),
    );
    const open = history.changes.filter(({state}) => !isOver.has(state));
    this.#openRows = new Set(open.map(({table, rowId}) => `${table} ${rowId}`));
    this.#effects = groupBy(history.effects, ({table, number}) => `${table} ${number}`);
  }

  change(changeId: string): FinalChange | undefined {
    return this.#changes.get(changeId);
  }

  record(table: string, number: string) {
    return this.#records.get(`${table} ${number}`);
  }

  intentsOf({changeId}: FinalChange): readonly Intent[] {
    return this.#intentsOfChange.get(changeId) ?? [];
  }

  intentsOfRow({table, rowId}: Pick<Intent, 'table' | 'rowId'>): readonly Intent[] {
    return this.#intentsOfRow.get(`${table} ${rowId}`) ?? [];
  }

  /** The conflicts of every change of a row. */
  conflictsOfRow({table, rowId}: Pick<Intent, 'table' | 'rowId'>): readonly FinalConflict[] {
    return this.#conflictsOfRow.get(`${table} ${rowId}`) ?? [];
  }

  intentsOfRecord({table, number}: Pick<Effect, 'table' | 'number'>): readonly Intent[] {
    const rowId = this.#rowOfNumber.get(`${table} ${number}`);
    return rowId === undefined ? [] : this.intentsOfRow({table, rowId});
  }

  effectsOf(table: string, number: string): readonly Effect[] {
    return this.#effects.get(`${table} ${number}`) ?? [];
  }

  isOpen({table, rowId}: Pick<Intent, 'table' | 'rowId'>): boolean {
    return this.#openRows.has(`${table} ${rowId}`);
  }

  stateOf({changeId}: Intent): string {
    return this.#changes.get(changeId)?.state ?? 'nowhere';
  }
}

/**
 * Whether the author deleted the row, or wrote back the earlier value: the one that it had seen, or
 * the one of an earlier change that was not sent.
 */
export function isTakenBack(facts: Facts, change: FinalChange): boolean {
  const own = facts.intentsOf(change);
  if (facts.intentsOfRow(change).some(({operation}) => operation === 'delete')) return true;
  const last: Record<string, Value> = Object.assign({}, ...own.map(({fields}) => fields));
  const first: Record<string, Value> = Object.assign({}, ...[...own].reverse().map(({saw}) => saw));
  // Or wrote the value that the service held by then.
  const effects = facts.effectsOf(change.table, change.number ?? '');
  const isHeld = (field: string, value: Value) =>
    effects.some(({fields, before}) =>
      [fields, before].some((values) => field in values && normal(values[field]) === normal(value)),
    );
  const ofRow = facts.intentsOfRow(change);
  const earlier = ofRow
    .slice(
      0,
      ofRow.findIndex(({changeId}) => changeId === change.changeId),
    )
    .map(({fields}) => fields);
  const isWanted = (field: string, value: Value) =>
    normal(earlier.findLast((fields) => field in fields)?.[field]) === normal(value);
  return Object.entries(last).every(
    ([field, value]) =>
      (own.length > 1 && (normal(value) === normal(first[field]) || isWanted(field, value))) ||
      isHeld(field, value),
  );
}

/** One change in words. */
export function tell({
  changeId,
  operation,
  table,
  number,
  rowId,
  state,
  reason,
}: FinalChange): string {
  const what = `change ${changeId} (${operation} of ${table} ${number ?? `row ${rowId}`})`;
  return `${what} is ${state}${reason === null ? '' : `: ${reason}`}`;
}

/** The items under their names, in the order of the list. */
export function groupBy<T>(list: readonly T[], nameOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of list) {
    const group = groups.get(nameOf(item));
    if (group === undefined) groups.set(nameOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
