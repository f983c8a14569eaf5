// Finds losses: wanted changes, values of an author and values of the service that are not there.

import {type Facts, isOver, isTakenBack, tell} from './facts.ts';
import {type FinalChange, type Intent, normal} from './history.ts';

/**
 * Each acknowledged change is there, came to rest or says whom it waits for, and did as it says.
 */
export function findLostChanges(facts: Facts): string[] {
  const missing = facts.history.intents.filter(
    ({changeId}) => facts.change(changeId) === undefined,
  );
  const owners = new Map<string, string>();
  const found = missing.map(({changeId, table}) => `change ${changeId} of ${table} is nowhere`);
  for (const change of facts.changes) {
    const {table, number, state, operation} = change;
    if (!isOver.has(state) && !isLeftToPerson(facts, change))
      found.push(`${tell(change)}, and all is quiet`);
    if (state !== 'done' || facts.intentsOf(change).length === 0) continue;
    const effects = facts.effectsOf(table, number ?? '');
    if (operation === 'delete' && facts.record(table, number ?? '') !== undefined)
      found.push(`${tell(change)}, and the record lives`);
    if (operation !== 'create') continue;
    const [{key} = {key: null}] = facts.intentsOf(change);
    if (!effects.some((effect) => effect.operation === 'create' && effect.key === key))
      found.push(`${tell(change)}, and was never created`);
    const owner = owners.get(`${table} ${number}`);
    if (owner !== undefined)
      found.push(`${tell(change)}, and that is what change ${owner} created`);
    owners.set(`${table} ${number}`, change.changeId);
  }
  return found;
}

/** Whether a change waits for a person, or for another change that does. */
function isLeftToPerson(facts: Facts, {state, waitsFor}: FinalChange): boolean {
  if (state === 'conflict' || state === 'held') return true;
  const first = waitsFor === null ? undefined : facts.change(waitsFor);
  return first !== undefined && (first.state === 'rejected' || isLeftToPerson(facts, first));
}

/**
 * The service holds each last wanted value. Where others wrote the field, too, conflicts are
 * judged.
 */
export function findLostValues(facts: Facts): string[] {
  const last = new Map<string, {readonly intent: Intent; readonly field: string}>();
  for (const intent of facts.history.intents)
    for (const field of Object.keys(intent.fields))
      last.set(`${intent.table} ${intent.rowId} ${field}`, {intent, field});
  return [...last.values()].flatMap(({intent, field}) => {
    const change = facts.change(intent.changeId);
    if (change?.state !== 'done' || change.number === null) return [];
    const {table, number} = change;
    const record = facts.record(table, number);
    const isForeign = facts
      .effectsOf(table, number)
      .some(({isOurs, fields}) => !isOurs && field in fields);
    // To what the service held, or to another change, whose conflict keeps the value.
    const hasGivenWay = facts
      .conflictsOfRow(change)
      .some(
        ({changeId, winner, serviceValue, warehouseValue, ...conflict}) =>
          conflict.field === field &&
          (changeId === change.changeId
            ? winner === 'service'
            : [serviceValue, warehouseValue].map(normal).includes(normal(intent.fields[field]))),
      );
    if (
      record === undefined ||
      isForeign ||
      hasGivenWay ||
      normal(record.fields[field]) === normal(intent.fields[field])
    )
      return [];
    return [
      `${tell(change)}: ${field} is ${normal(record.fields[field])}, ` +
        `wanted ${normal(intent.fields[field])}`,
    ];
  });
}

/** A value of the service that we overwrote was seen by the author, or a conflict keeps it. */
export function findSilentOverwrites(facts: Facts): string[] {
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
            `${effect.table} ${effect.number}.${field}: ${normal(value)} of the service ` +
              `was overwritten by ${normal(effect.fields[field])}`,
          ];
    });
  });
}

/** The last wanted values of a settled change reached the service, or a conflict keeps them. */
export function findSilentLosers(facts: Facts): string[] {
  return facts.changes.flatMap((change) => {
    const {state, operation, table, number} = change;
    if (operation !== 'update' || number === null || (state !== 'done' && state !== 'cancelled'))
      return [];
    if (state === 'cancelled' && isTakenBack(facts, change)) return [];
    const wanted: Record<string, Intent['fields'][string]> = Object.assign(
      {},
      ...facts.intentsOf(change).map(({fields}) => fields),
    );
    const saw = facts.intentsOf(change).map((intent) => intent.saw);
    const effects = facts.effectsOf(table, number);
    return Object.entries(wanted).flatMap(([field, value]) => {
      const holds = (values: Intent['fields']) =>
        field in values && normal(values[field]) === normal(value);
      // Another change of the row may have wanted the same.
      const isKept = facts
        .conflictsOfRow(change)
        .some(
          (conflict) =>
            conflict.field === field && normal(conflict.warehouseValue) === normal(value),
        );
      // The service held the value already, or held it all along.
      const isThere =
        effects.some((effect) => holds(effect.fields) || holds(effect.before)) || saw.some(holds);
      return isThere || isKept
        ? []
        : [`${tell(change)}: ${field} = ${normal(value)} never arrived`];
    });
  });
}
