// The changes that a request chooses: by their numbers or by a filter.

import {z} from 'zod';
import {mostDecided} from '../changes/decide-many.ts';
import {changeNumber, filterShape} from './wanted-query.ts';

export const chosenShape = {
  change_ids: z.array(changeNumber).min(1).max(mostDecided).optional(),
  filter: z
    .strictObject(filterShape)
    .optional()
    .describe('Every change that matches; {} means every one of the account.'),
};

export const oneOf = {error: 'expected either change_ids or filter'};

export function isOneChosen(body: {change_ids?: unknown; filter?: unknown}): boolean {
  return (body.change_ids === undefined) !== (body.filter === undefined);
}

/** A request, as it was sent. */
export interface Asked<Schema extends z.ZodType> {
  readonly body: z.infer<Schema>;
  /** The address it came from. */
  readonly address: string;
}

/** The numbers that were asked for and that the account of the key does not have. */
export function listUnknown(asked: readonly string[], known: readonly string[]) {
  const found = new Set(known);
  return [...new Set(asked)]
    .filter((id) => !found.has(id))
    .map((id) => ({
      change_id: id,
      state: null,
      refusal: `change ${id}: there is none of that number`,
    }));
}
