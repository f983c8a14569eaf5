// Compares the wishes of authors with their outcome. Pure, and without any knowledge of how changes
// are carried: only of the product's promises.

import {findWrites} from '../../../src/streams/all.ts';
import {Facts, groupBy, isTakenBack, tell} from './facts.ts';
import {
  findLostChanges,
  findLostValues,
  findSilentLosers,
  findSilentOverwrites,
} from './find-lost.ts';
import {type Effect, type FinalChange, type History, normal, type Value} from './history.ts';

/**
 * - `lost`: acknowledged, and neither effective nor reported
 * - `duplicated`: an effect more often than it was wanted
 * - `unexpected`: an effect that no author wanted, or that its author had taken back
 * - `phantomDelete`: a row is marked deleted, and its record lives
 * - `unreported`: a change failed, and no reason tells a person why
 * - `diverged`: warehouse and service differ when all is quiet
 * - `leaked`: a secret where none should be
 * - `unrecorded`: a value lost against another, and no conflict keeps it
 * - `misjudged`: a field counts as altered by the service, or as changed on both sides, and nobody
 *   else wrote it
 * - `leftToPerson`: a change waits for a person, as it says; no fault
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
  'misjudged',
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
    misjudged: [...findUnaltered(facts), ...findUndisputed(facts)],
    leftToPerson: history.changes.filter(({state}) => state === 'conflict').map(tell),
  };
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
      `${name}: created ${effects.length} times, wanted ${count}: ` +
        effects.map(({number}) => number).join(', '),
    ];
  });
}

function findDuplicatedUpdates(facts: Facts): string[] {
  const nameOf = ({table, number}: Effect, field: string, value: string) =>
    `${table} ${number} ${field} = ${value}`;
  const done = new Map<string, {count: number; readonly effect: Effect; readonly field: string}>();
  /** Fields that another client has edited since we wrote them. */
  const edited = new Set<string>();
  for (const effect of facts.history.effects) {
    if (effect.operation !== 'update') continue;
    for (const [field, value] of Object.entries(effect.fields)) {
      const place = nameOf(effect, field, '');
      if (!effect.isOurs) {
        edited.add(place);
        continue;
      }
      const name = nameOf(effect, field, normal(value));
      const counted = done.get(name) ?? {count: 0, effect, field};
      const isAgain = counted.count > 0 && edited.has(place);
      // An edit that came between lost by a rule: then the value is wanted a second time.
      if (!isAgain || !isForWarehouse(facts, effect, {field, value})) counted.count++;
      edited.delete(place);
      done.set(name, counted);
    }
  }
  return [...done].flatMap(([name, {count, effect, field}]) => {
    const value = normal(effect.fields[field]);
    // A value that the author saw is sent, too, where its field moves with a wanted one.
    const wanted = facts
      .intentsOfRecord(effect)
      .filter((intent) =>
        [intent.fields, intent.saw].some(
          (values) => field in values && normal(values[field]) === value,
        ),
      ).length;
    return wanted > 0 && count > wanted
      ? [`${name}: written ${count} times, wanted ${wanted}`]
      : [];
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
      ? [
          `${name} (${key}): it is said to be ` +
            wanted.map((intent) => facts.stateOf(intent)).join(', '),
        ]
      : [];
  }
  const intents = facts.intentsOfRecord(effect);
  if (operation === 'delete')
    return intents.some(
      (intent) => intent.operation === 'delete' && !gaveUp.has(facts.stateOf(intent)),
    )
      ? []
      : [`${name}: nobody wanted it`];
  return Object.entries(fields).flatMap(([field, value]) => {
    // A field that moves with another, such as the rest of an address, is sent as the author saw
    // it.
    const known = intents
      .flatMap((intent) => [intent.fields, intent.saw])
      .some((values) => field in values && normal(values[field]) === normal(value));
    return known || isPutBack(facts, effect, {field, value})
      ? []
      : [`${name}: nobody wanted ${field} = ${normal(value)}`];
  });
}

/**
 * Whether the service held it before, and a conflict was decided for the warehouse: a block moves
 * as one.
 */
function isPutBack(
  facts: Facts,
  effect: Effect,
  set: {readonly field: string; readonly value: Value},
): boolean {
  const wasTheirs = facts
    .effectsOf(effect.table, effect.number)
    .some(({isOurs, fields}) => !isOurs && isSame(fields[set.field], set.value));
  return wasTheirs && isForWarehouse(facts, effect, set);
}

/** Whether a conflict about a field of the record was decided for this value of the warehouse. */
function isForWarehouse(
  facts: Facts,
  {table, number}: Effect,
  {field, value}: {readonly field: string; readonly value: Value},
): boolean {
  return facts.history.conflicts.some((conflict) => {
    const change = facts.change(conflict.changeId);
    const isOfRecord = change?.table === table && change.number === number;
    return (
      isOfRecord &&
      conflict.winner === 'warehouse' &&
      conflict.field === field &&
      isSame(conflict.warehouseValue, value)
    );
  });
}

function isSame(held: Value | undefined, value: Value): boolean {
  return held !== undefined && normal(held) === normal(value);
}

/** The laboratory's service keeps what it is sent: only another client can have altered a field. */
function findUnaltered(facts: Facts): string[] {
  return facts.changes.flatMap((change) =>
    change.altered.flatMap((field) =>
      isWrittenByOthers(facts, change, field)
        ? []
        : [`${tell(change)}, and ${field} altered, which nobody did`],
    ),
  );
}

function findUndisputed(facts: Facts): string[] {
  return facts.history.conflicts.flatMap(({changeId, field, serviceValue}) => {
    const change = facts.change(changeId);
    if (change === undefined || isWrittenByOthers(facts, change, field)) return [];
    if (isWantedBySeveral(facts, change, field)) return [];
    return [
      `${tell(change)}: ${field} in conflict with ${normal(serviceValue)}, which nobody else wrote`,
    ];
  });
}

function isWrittenByOthers(facts: Facts, {table, number}: FinalChange, field: string): boolean {
  const together = listTogether(table, field);
  return facts
    .effectsOf(table, number ?? '')
    .some(({isOurs, fields}) => !isOurs && together.some((name) => name in fields));
}

/** Whether several authors of the warehouse wanted something of the field. */
function isWantedBySeveral(facts: Facts, change: FinalChange, field: string): boolean {
  const together = listTogether(change.table, field);
  const wishes = facts
    .intentsOfRow(change)
    .filter(({fields}) => together.some((name) => name in fields));
  return new Set(wishes.map(({author}) => author)).size > 1;
}

/**
 * Fields of a group, such as those of an address, are decided as one: a conflict names them all.
 */
function listTogether(table: string, field: string): string[] {
  const {writable} = findWrites(table).table;
  const group = writable.find(({name}) => name === field)?.group ?? field;
  return writable.filter((each) => (each.group ?? each.name) === group).map(({name}) => name);
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

function findRowless(facts: Facts): string[] {
  const live = new Set(
    facts.history.rows
      .filter(({isDeleted}) => !isDeleted)
      .map(({table, number}) => `${table} ${number}`),
  );
  const dead = new Set(
    facts.history.rows
      .filter((row) => row.isDeleted)
      .map(({table, number}) => `${table} ${number}`),
  );
  return facts.history.records.flatMap(({table, number}) =>
    live.has(`${table} ${number}`) || dead.has(`${table} ${number}`)
      ? []
      : [`${table} ${number}: no row`],
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
    return states.includes('rejected')
      ? []
      : [`${name}: no number, and its create is ${states.join(', ')}`];
  }
  const record = facts.record(table, number);
  if (record === undefined) return [`${name}: a row, and no record`];
  return Object.entries(record.fields).flatMap(([field, value]) =>
    normal(value) === normal(fields[field])
      ? []
      : [`${name}.${field}: the service has ${normal(value)}, the row ${normal(fields[field])}`],
  );
}
