// In what the two sides of matched pairs differ, field by field.

import type {Pair} from './match.ts';

export interface FieldDifference {
  readonly field: 'name' | 'phone' | 'email' | 'address';
  readonly equal: number;
  readonly differ: number;
  /** Only we have a value. */
  readonly onlyHere: number;
  readonly onlyThere: number;
}

/** Values that are written in another way are equal; pairs without a value are not counted. */
export function countDifferences(pairs: readonly Pair[]): FieldDifference[] {
  return [
    {
      field: 'name',
      ...count(pairs, ({ours, theirs, likeness}) => ({
        ...{here: ours.party.name !== '', there: theirs.party.name !== ''},
        isEqual: likeness.name === 'same',
      })),
    },
    {field: 'phone', ...count(pairs, (pair) => sidesOf(pair, 'phones', 'phone'))},
    {field: 'email', ...count(pairs, (pair) => sidesOf(pair, 'emails', 'email'))},
    {field: 'address', ...count(pairs, (pair) => sidesOf(pair, 'addresses', 'address'))},
  ];
}

interface Sides {
  readonly here: boolean;
  readonly there: boolean;
  readonly isEqual: boolean;
}

function sidesOf(
  {ours, theirs, likeness}: Pair,
  values: 'phones' | 'emails' | 'addresses',
  field: 'phone' | 'email' | 'address',
): Sides {
  return {
    ...{here: ours[values].length > 0, there: theirs[values].length > 0},
    isEqual: likeness[field] === 'agrees',
  };
}

function count(
  pairs: readonly Pair[],
  read: (pair: Pair) => Sides,
): Omit<FieldDifference, 'field'> {
  const counted = {equal: 0, differ: 0, onlyHere: 0, onlyThere: 0};
  for (const {here, there, isEqual} of pairs.map(read)) {
    if (here && there) counted[isEqual ? 'equal' : 'differ']++;
    else if (here) counted.onlyHere++;
    else if (there) counted.onlyThere++;
  }
  return counted;
}
