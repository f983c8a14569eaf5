// Compares what authors wanted with what became of it. Pure, and without any knowledge of how changes are carried: only of
// what is promised.

import {type Effect, type FinalChange, type History, type Intent, normal, type Value} from './history.ts';

/**
 * - `lost`: acknowledged, and neither effective nor reported
 * - `duplicated`: an effect more often than it was wanted
 * - `unexpected`: an effect that nobody wanted, or had taken back
 * - `phantomDelete`: a row is marked deleted, and its record lives
 * - `unreported`: it failed, and nothing tells a person why
 * - `diverged`: warehouse and service differ when all is quiet
 * - `leaked`: a secret where none should be
 * - `unrecorded`: a value lost against another, and no conflict keeps it
 * - `leftToPerson`: waits for a person, as it says; no fault
 */
export const counters = [
  'lost',
  'duplicated',
  'unexpected',
  'phantomDelete',
  'unreported',
  'diverged',
  'leaked',
  'unrecorded',
  'leftToPerson',
] as const;

export type Counter = (typeof counters)[number];

/** One line for every case. */
export type Verdict = Readonly<Record<Counter, readonly string[]>>;

/** Judges a history that has come to rest. */
export function judge(history: History): Verdict {
  const facts = new Facts(history);
  return {
    lost: [...findLostChanges(facts), ...findLostValues(facts)],
    duplicated: [...findDuplicatedCreates(facts), ...findDuplicatedUpdates(facts)],
    unexpected: history.effects
      .filter(({isOurs}) => isOurs)
      .flatMap((effect) => findUnexpected(facts, effect)),
    phantomDelete: history.rows.flatMap((row) =>
      row.isDeleted &&
      row.number !== null &&
      facts.record(row.table, row.number) !== undefined &&
      !facts.isOpen(row)
        ? [`${row.table} ${row.number} is marked deleted, and lives`]
        : [],
    ),
    unreported: facts.changes.flatMap((change) => findUnreported(facts, change)),
    diverged: [...findRowless(facts), ...history.rows.flatMap((row) => findDiverged(facts, row))],
    leaked: history.canaryHits,
    unrecorded: [...findSilentOverwrites(facts), ...findSilentLosers(facts)],
    leftToPerson: history.changes.filter(({state}) => state === 'conflict').map(tell),
  };
}

const isOver = new Set(['done', 'rejected', 'cancelled']);

/** The history, looked up. */
class Facts {
  readonly history: History;
  readonly changes: readonly FinalChange[];
  readonly #changes: ReadonlyMap<string, FinalChange>;
  readonly #records: ReadonlyMap<string, History['records'][number]>;
  readonly #intentsOfChange: ReadonlyMap<string, Intent[]>;
  readonly #intentsOfRow: ReadonlyMap<string, Intent[]>;
  readonly #rowOfNumber: ReadonlyMap<string, string>;
  readonly #openRows: ReadonlySet<string>;
  readonly #effects: ReadonlyMap<string, Effect[]>;

  constructor(history: History) {
    this.history = history;
    this.changes = history.changes;
    this.#changes = new Map(history.changes.map((change) => [change.changeId, change]));
    this.#records = new Map(history.records.map((record) => [`${record.table} ${record.number}`, record]));
    this.#intentsOfChange = groupBy(history.intents, ({changeId}) => changeId);
    this.#intentsOfRow = groupBy(history.intents, ({table, rowId}) => `${table} ${rowId}`);
    const numbered = [...history.changes, ...history.rows].filter(({number}) => number !== null);
    this.#rowOfNumber = new Map(numbered.map(({table, number, rowId}) => [`${table} ${number}`, rowId]));
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

function findLostChanges(facts: Facts): string[] {
  const missing = facts.history.intents.filter(({changeId}) => facts.change(changeId) === undefined);
  const owners = new Map<string, string>();
  const found = missing.map(({changeId, table}) => `change ${changeId} of ${table} is nowhere`);
  for (const change of facts.changes) {
    const {table, number, state, operation} = change;
    if (!isOver.has(state) && !isLeftToPerson(facts, change)) found.push(`${tell(change)}, and all is quiet`);
    if (state !== 'done' || facts.intentsOf(change).length === 0) continue;
    const effects = facts.effectsOf(table, number ?? '');
    if (operation === 'delete' && facts.record(table, number ?? '') !== undefined)
      found.push(`${tell(change)}, and the record lives`);
    if (operation !== 'create') continue;
    const [{key} = {key: null}] = facts.intentsOf(change);
    if (!effects.some((effect) => effect.operation === 'create' && effect.key === key))
      found.push(`${tell(change)}, and was never created`);
    const owner = owners.get(`${table} ${number}`);
    if (owner !== undefined) found.push(`${tell(change)}, and that is what change ${owner} created`);
    owners.set(`${table} ${number}`, change.changeId);
  }
  return found;
}

/** It waits for a person, or for a change that does. */
function isLeftToPerson(facts: Facts, {state, waitsFor}: FinalChange): boolean {
  if (state === 'conflict' || state === 'held') return true;
  const first = waitsFor === null ? undefined : facts.change(waitsFor);
  return first !== undefined && (first.state === 'rejected' || isLeftToPerson(facts, first));
}

/** The last value wanted of a field is what the service holds. Where others wrote it, too, conflicts are judged instead. */
function findLostValues(facts: Facts): string[] {
  const last = new Map<string, {readonly intent: Intent; readonly field: string}>();
  for (const intent of facts.history.intents)
    for (const field of Object.keys(intent.fields))
      last.set(`${intent.table} ${intent.rowId} ${field}`, {intent, field});
  return [...last.values()].flatMap(({intent, field}) => {
    const change = facts.change(intent.changeId);
    if (change?.state !== 'done' || change.number === null) return [];
    const {table, number} = change;
    const record = facts.record(table, number);
    const isForeign = facts.effectsOf(table, number).some(({isOurs, fields}) => !isOurs && field in fields);
    const hasGivenWay = facts.history.conflicts.some(
      (conflict) =>
        conflict.changeId === change.changeId && conflict.field === field && conflict.winner === 'service',
    );
    if (
      record === undefined ||
      isForeign ||
      hasGivenWay ||
      normal(record.fields[field]) === normal(intent.fields[field])
    )
      return [];
    return [
      `${tell(change)}: ${field} is ${normal(record.fields[field])}, wanted ${normal(intent.fields[field])}`,
    ];
  });
}

function findDuplicatedCreates({history}: Facts): string[] {
  const wanted = groupBy(
    history.intents.filter(({operation}) => operation === 'create'),
    ({table, key}) => `${table} ${key}`,
  );
  const made = groupBy(
    history.effects.filter(({operation, isOurs}) => operation === 'create' && isOurs),
    ({table, key}) => `${table} ${key}`,
  );
  return [...made].flatMap(([name, effects]) => {
    const count = wanted.get(name)?.length ?? 0;
    if (count === 0 || effects.length <= count) return [];
    return [
      `${name}: created ${effects.length} times, wanted ${count}: ${effects.map(({number}) => number).join(', ')}`,
    ];
  });
}

function findDuplicatedUpdates(facts: Facts): string[] {
  const nameOf = ({table, number}: Effect, field: string, value: string) =>
    `${table} ${number} ${field} = ${value}`;
  const done = new Map<string, {count: number; readonly effect: Effect; readonly field: string}>();
  for (const effect of facts.history.effects) {
    if (effect.operation !== 'update' || !effect.isOurs) continue;
    for (const [field, value] of Object.entries(effect.fields)) {
      const name = nameOf(effect, field, normal(value));
      const counted = done.get(name) ?? {count: 0, effect, field};
      counted.count++;
      done.set(name, counted);
    }
  }
  return [...done].flatMap(([name, {count, effect, field}]) => {
    const value = normal(effect.fields[field]);
    // What an author saw is sent, too, where it moves with what was wanted.
    const wanted = facts
      .intentsOfRecord(effect)
      .filter((intent) =>
        [intent.fields, intent.saw].some((values) => field in values && normal(values[field]) === value),
      ).length;
    return wanted > 0 && count > wanted ? [`${name}: written ${count} times, wanted ${wanted}`] : [];
  });
}

const gaveUp = new Set(['rejected', 'cancelled', 'nowhere']);

function findUnexpected(facts: Facts, effect: Effect): string[] {
  const {operation, table, number, key, fields} = effect;
  const name = `${operation} of ${table} ${number}`;
  if (operation === 'create') {
    const wanted = facts.history.intents.filter(
      (intent) => intent.operation === 'create' && intent.table === table && intent.key === key,
    );
    if (wanted.length === 0) return [`${name} (${key}): nobody wanted it`];
    return wanted.every((intent) => gaveUp.has(facts.stateOf(intent)))
      ? [`${name} (${key}): it is said to be ${wanted.map((intent) => facts.stateOf(intent)).join(', ')}`]
      : [];
  }
  const intents = facts.intentsOfRecord(effect);
  if (operation === 'delete')
    return intents.some((intent) => intent.operation === 'delete' && !gaveUp.has(facts.stateOf(intent)))
      ? []
      : [`${name}: nobody wanted it`];
  return Object.entries(fields).flatMap(([field, value]) => {
    // What moves with a field, such as the rest of an address, is sent as the author saw it.
    const known = intents
      .flatMap((intent) => [intent.fields, intent.saw])
      .some((values) => field in values && normal(values[field]) === normal(value));
    return known || isPutBack(facts, effect, {field, value})
      ? []
      : [`${name}: nobody wanted ${field} = ${normal(value)}`];
  });
}

/** The service held it before, and a conflict that shows it was decided for the warehouse: a block moves as one. */
function isPutBack(
  facts: Facts,
  {table, number}: Effect,
  {field, value}: {readonly field: string; readonly value: Value},
): boolean {
  const isIt = (other: Value | undefined) => other !== undefined && normal(other) === normal(value);
  const wasTheirs = facts.effectsOf(table, number).some(({isOurs, fields}) => !isOurs && isIt(fields[field]));
  const isDecided = facts.history.conflicts.some((conflict) => {
    const change = facts.change(conflict.changeId);
    const isOfRecord = change?.table === table && change.number === number;
    return (
      isOfRecord &&
      conflict.winner === 'warehouse' &&
      conflict.field === field &&
      isIt(conflict.warehouseValue)
    );
  });
  return wasTheirs && isDecided;
}

function findUnreported(facts: Facts, change: FinalChange): string[] {
  const {state, reason} = change;
  if (state !== 'rejected' && state !== 'cancelled' && state !== 'conflict') return [];
  if (reason === null || reason.trim() === '') return [`${tell(change)}, and says not why`];
  if (state !== 'cancelled' || isTakenBack(facts, change)) return [];
  const hasConflict = facts.history.conflicts.some(
    ({changeId, winner}) => changeId === change.changeId && winner === 'service',
  );
  return hasConflict ? [] : [`${tell(change)}, though nobody took it back`];
}

/** The author deleted the row, or wrote back what had been there. */
function isTakenBack(facts: Facts, change: FinalChange): boolean {
  const own = facts.intentsOf(change);
  if (facts.intentsOfRow(change).some(({operation}) => operation === 'delete')) return true;
  const last: Record<string, Value> = Object.assign({}, ...own.map(({fields}) => fields));
  const first: Record<string, Value> = Object.assign({}, ...[...own].reverse().map(({saw}) => saw));
  // Or wrote what the service held by then.
  const effects = facts.effectsOf(change.table, change.number ?? '');
  const isHeld = (field: string, value: Value) =>
    effects.some(({fields, before}) =>
      [fields, before].some((values) => field in values && normal(values[field]) === normal(value)),
    );
  return Object.entries(last).every(
    ([field, value]) => (own.length > 1 && normal(value) === normal(first[field])) || isHeld(field, value),
  );
}

function findRowless(facts: Facts): string[] {
  const live = new Set(
    facts.history.rows.filter(({isDeleted}) => !isDeleted).map(({table, number}) => `${table} ${number}`),
  );
  const dead = new Set(
    facts.history.rows.filter((row) => row.isDeleted).map(({table, number}) => `${table} ${number}`),
  );
  return facts.history.records.flatMap(({table, number}) =>
    live.has(`${table} ${number}`) || dead.has(`${table} ${number}`) ? [] : [`${table} ${number}: no row`],
  );
}

function findDiverged(facts: Facts, row: History['rows'][number]): string[] {
  const {table, rowId, number, isDeleted, isPending, fields} = row;
  const isOpen = facts.isOpen(row);
  const name = `${table} ${number ?? `row ${rowId}`}`;
  if (isPending && !isOpen && number !== null) return [`${name}: still marked as under change`];
  if (isDeleted || isOpen) return [];
  if (number === null) {
    const states = facts.intentsOfRow(row).map((intent) => facts.stateOf(intent));
    return states.includes('rejected') ? [] : [`${name}: no number, and its create is ${states.join(', ')}`];
  }
  const record = facts.record(table, number);
  if (record === undefined) return [`${name}: a row, and no record`];
  return Object.entries(record.fields).flatMap(([field, value]) =>
    normal(value) === normal(fields[field])
      ? []
      : [`${name}.${field}: the service has ${normal(value)}, the row ${normal(fields[field])}`],
  );
}

/** What we wrote over at the service was seen by the author, or a conflict keeps it. */
function findSilentOverwrites(facts: Facts): string[] {
  return facts.history.effects.flatMap((effect) => {
    if (effect.operation !== 'update' || !effect.isOurs) return [];
    const intents = facts.intentsOfRecord(effect);
    const ids = new Set(intents.map(({changeId}) => changeId));
    return Object.entries(effect.before).flatMap(([field, value]) => {
      const isSeen = intents.some(({saw, fields}) =>
        [saw, fields].some((values) => field in values && normal(values[field]) === normal(value)),
      );
      const isKept = facts.history.conflicts.some(
        (conflict) =>
          ids.has(conflict.changeId) &&
          conflict.field === field &&
          normal(conflict.serviceValue) === normal(value),
      );
      return isSeen || isKept
        ? []
        : [
            `${effect.table} ${effect.number}.${field}: ${normal(value)} of the service was overwritten by ${normal(effect.fields[field])}`,
          ];
    });
  });
}

/** What an author wanted last in a settled change reached the service, or a conflict keeps it. */
function findSilentLosers(facts: Facts): string[] {
  return facts.changes.flatMap((change) => {
    const {state, operation, table, number} = change;
    if (operation !== 'update' || number === null || (state !== 'done' && state !== 'cancelled')) return [];
    if (state === 'cancelled' && isTakenBack(facts, change)) return [];
    const wanted: Record<string, Intent['fields'][string]> = Object.assign(
      {},
      ...facts.intentsOf(change).map(({fields}) => fields),
    );
    const saw = facts.intentsOf(change).map((intent) => intent.saw);
    const effects = facts.effectsOf(table, number);
    return Object.entries(wanted).flatMap(([field, value]) => {
      const holds = (values: Intent['fields']) => field in values && normal(values[field]) === normal(value);
      const isKept = facts.history.conflicts.some(
        (conflict) =>
          conflict.changeId === change.changeId &&
          conflict.field === field &&
          normal(conflict.warehouseValue) === normal(value),
      );
      // The service held it already, or held it all along.
      const isThere =
        effects.some((effect) => holds(effect.fields) || holds(effect.before)) || saw.some(holds);
      return isThere || isKept ? [] : [`${tell(change)}: ${field} = ${normal(value)} never arrived`];
    });
  });
}

function tell({changeId, operation, table, number, rowId, state, reason}: FinalChange): string {
  return `change ${changeId} (${operation} of ${table} ${number ?? `row ${rowId}`}) is ${state}${reason === null ? '' : `: ${reason}`}`;
}

function groupBy<T>(list: readonly T[], nameOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of list) {
    const group = groups.get(nameOf(item));
    if (group === undefined) groups.set(nameOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
