import {z} from 'zod';
import {isStorableInstant} from '../streams/values.ts';

const tokenSchema = z.tuple([
  z.literal(1),
  z.string(),
  z.string().regex(/^[1-9]\d{0,17}$/),
  z.boolean(),
  z.string().refine(isStorableInstant).nullable(),
]);

/** The place where a list goes on: behind a row, with the filters that the list began with. */
export interface Place {
  readonly table: string;
  readonly afterRowId: string;
  readonly showsDeleted: boolean;
  readonly changedSince: string | null;
}

/**
 * Packs a place. The token is no secret and opens nothing: the account is always that of the key.
 */
export function packPlace({table, afterRowId, showsDeleted, changedSince}: Place): string {
  return Buffer.from(JSON.stringify([1, table, afterRowId, showsDeleted, changedSince])).toString(
    'base64url',
  );
}

/** @returns null for a token that `packPlace` never made */
export function unpackPlace(token: string): Place | null {
  if (!/^[A-Za-z0-9_-]{1,400}$/.test(token)) return null;
  const read = tokenSchema.safeParse(parse(Buffer.from(token, 'base64url').toString()));
  if (!read.success) return null;
  const [, table, afterRowId, showsDeleted, changedSince] = read.data;
  const place = {table, afterRowId, showsDeleted, changedSince};
  return packPlace(place) === token ? place : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
