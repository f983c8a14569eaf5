// The values of a change side by side: what was before it, what is wanted, what the row holds now,
// and what the service held when it was last read.

import type {ChangeValue, ChangeValues} from '../rows/change-values.ts';
import type {KeptAlteration} from './alterations.ts';
import type {Change} from './change.ts';
import type {FieldConflict} from './change-log.ts';

/** One field of a change. A value that is not known is left out; null is an empty one. */
export interface FieldSides {
  readonly field: string;
  readonly base?: ChangeValue;
  readonly wanted?: ChangeValue;
  readonly row?: ChangeValue;
  readonly service?: ChangeValue;
  /**
   * How the service's value is known, or became the one that counts; null where there is nothing to
   * tell.
   */
  readonly note: string | null;
  /** Both sides changed it, and nobody has decided. */
  readonly isFought: boolean;
}

interface Known {
  readonly change: Pick<Change, 'fields' | 'base' | 'state' | 'result'>;
  readonly conflicts: readonly FieldConflict[];
  readonly alterations: readonly KeptAlteration[];
  /** The row as it is now; null where it is gone. */
  readonly row: ChangeValues | null;
}

/** The fields that are wanted, and those that both sides changed. */
export function listFields({change, conflicts}: Pick<Known, 'change' | 'conflicts'>): string[] {
  return [...new Set([...Object.keys(change.fields), ...conflicts.map(({field}) => field)])];
}

/** Each field once. A password is never told: not even that the row has one. */
export function compareSides(known: Known): FieldSides[] {
  return listFields(known).map((field) => {
    const {change, row} = known;
    const conflict = known.conflicts.findLast((each) => each.field === field);
    return {
      field,
      ...pick('base', change.base, field),
      ...pick('wanted', change.fields, field),
      ...(row === null || field === 'password' ? {} : pick('row', row, field)),
      ...tellService(field, known),
      isFought: conflict !== undefined && conflict.winner === null,
    };
  });
}

function pick<Side extends string>(side: Side, values: ChangeValues, field: string) {
  const value = values[field];
  return value === undefined ? {} : ({[side]: value} as {readonly [Name in Side]: ChangeValue});
}

/** What the service holds of a field, as far as it is known, and how. */
export function tellService(
  field: string,
  {change, conflicts, alterations}: Omit<Known, 'row'>,
): Pick<FieldSides, 'service' | 'note'> {
  const altered = alterations.findLast((each) => each.field === field);
  const got = altered?.got ?? change.result?.altered?.[field]?.got;
  if (got !== undefined) return {service: got, note: describeAlteration(altered?.lookedBy ?? null)};
  const tidied = change.result?.tidied?.[field];
  if (tidied !== undefined) return {service: tidied.got, note: 'says the same'};
  const conflict = conflicts.findLast((each) => each.field === field);
  const wanted = change.fields[field];
  const isSent = change.state === 'done' && wanted !== undefined && conflict?.winner !== 'service';
  const how = change.result?.unsent?.includes(field) === true ? 'held already' : 'as sent';
  if (conflict !== undefined)
    return isSent
      ? {service: wanted, note: `${how}: ${describeConflict(conflict)}`}
      : {service: conflict.serviceValue, note: describeConflict(conflict)};
  return isSent ? {service: wanted, note: how} : {note: null};
}

function describeAlteration(lookedBy: string | null): string {
  return lookedBy === null
    ? 'altered by the service'
    : `altered by the service, accepted by ${lookedBy}`;
}

function describeConflict({rule, winner, decidedBy}: FieldConflict): string {
  return winner === null
    ? `rule ${rule}: nobody has decided yet`
    : `the ${winner}'s value counts, decided by ${decidedBy}`;
}
