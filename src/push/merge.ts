// The three-way merge: the values that the author had seen, the values wanted here, the service's
// present values. Pure.

import type {KeptConflict} from '../changes/conflicts.ts';
import type {FieldRule, Rule} from '../changes/write-rules.ts';
import {type ChangeValue, type ChangeValues, isSameValue} from '../rows/change-values.ts';

export interface Merge {
  /** The values to send. */
  readonly send: ChangeValues;
  /** Fields that the service holds already as they are wanted. */
  readonly unsent: readonly string[];
  /** Fields that the rule gives to the service. */
  readonly lost: readonly string[];
  readonly conflicts: readonly KeptConflict[];
}

export interface Sides {
  /** The wanted values. */
  readonly fields: ChangeValues;
  /**
   * The values that the author had seen before the change; includes the fields that move with the
   * wanted ones.
   */
  readonly base: ChangeValues;
  /** The values that the row held before the change, of the same fields. */
  readonly held: ChangeValues;
  /**
   * The service's present values; a field that is not told is unknown: it is sent, and is no
   * conflict.
   */
  readonly remote: ChangeValues;
  /**
   * Whether the service's record changed after the change was requested; null where the service is
   * silent.
   */
  readonly isServiceNewer: boolean | null;
  readonly rules: ReadonlyMap<string, FieldRule>;
}

/**
 * Merges field by field, and group by group: fields of one group, such as an address, move as one,
 * so a street changed here and a city changed there are a conflict.
 */
export function mergeFields(sides: Sides): Merge {
  const merges = groupFields(sides).map((fields) => mergeUnit(fields, sides));
  return {
    send: Object.assign({}, ...merges.map(({send}) => send)),
    unsent: merges.flatMap(({unsent}) => unsent),
    lost: merges.flatMap(({lost}) => lost),
    conflicts: merges.flatMap(({conflicts}) => conflicts),
  };
}

/**
 * The names of base and fields, those of one group together; groups without a wanted field are left
 * out.
 */
function groupFields({fields, base, rules}: Sides): string[][] {
  const units = new Map<string, string[]>();
  for (const name of new Set([...Object.keys(fields), ...Object.keys(base)])) {
    const unit = rules.get(name)?.group ?? name;
    units.set(unit, [...(units.get(unit) ?? []), name]);
  }
  return [...units.values()].filter((names) => names.some((name) => name in fields));
}

function mergeUnit(names: readonly string[], sides: Sides): Merge {
  const {fields, base, held, remote, rules} = sides;
  const valueIn = (values: ChangeValues, name: string) => values[name] ?? null;
  const isSame = (name: string, one: ChangeValue, other: ChangeValue) =>
    isSameValue(rules.get(name)?.kind ?? 'text', one, other);
  const wanted = (name: string) => valueIn(name in fields ? fields : base, name);
  const differing = names.filter((name) =>
    name in remote ? !isSame(name, wanted(name), valueIn(remote, name)) : name in fields,
  );
  const toSend = differing.filter((name) => name in fields);
  const unsent = names.filter((name) => name in fields && !differing.includes(name));
  // A reading that shows what the author had seen, and not what the row held since, may be old.
  const isTheirs = [base, held].some((before) =>
    names.some(
      (name) =>
        name in before &&
        name in remote &&
        !isSame(name, valueIn(before, name), valueIn(remote, name)),
    ),
  );
  const pick = (chosen: readonly string[]) =>
    Object.fromEntries(chosen.map((name) => [name, wanted(name)]));
  if (toSend.length === 0 || !isTheirs)
    return {send: pick(toSend), unsent, lost: [], conflicts: []};
  const rule = ruleOf(names, rules);
  const winner = decide(rule, sides);
  const conflicts = differing.map((field) => ({
    field,
    baseValue: valueIn(base, field),
    warehouseValue: wanted(field),
    serviceValue: valueIn(remote, field),
    rule,
    winner,
  }));
  if (winner === 'warehouse') return {send: pick(differing), unsent, lost: [], conflicts};
  return {send: {}, unsent, lost: winner === 'service' ? toSend : [], conflicts};
}

/** A group whose fields have different rules is left to a person. */
function ruleOf(names: readonly string[], rules: ReadonlyMap<string, FieldRule>): Rule {
  const [rule = 'ask', ...others] = new Set(names.map((name) => rules.get(name)?.rule ?? 'ask'));
  return others.length === 0 ? rule : 'ask';
}

function decide(rule: Rule, {isServiceNewer}: Sides): KeptConflict['winner'] {
  if (rule === 'ask') return null;
  if (rule !== 'newest') return rule;
  if (isServiceNewer === null) return null;
  return isServiceNewer ? 'service' : 'warehouse';
}
