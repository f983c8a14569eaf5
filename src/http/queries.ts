// The queries of the HTTP API: filters, those of the console and the terminal for the account of
// the key; the changes that a request chooses by number or by filter; tokens of pages.

import {z} from 'zod';
import {type ChangeFilter, everyChange} from '../changes/change.ts';
import {mostDecided} from '../changes/decisions.ts';
import {changeStates, longestBatch} from '../changes/states.ts';
import {idPattern} from '../core/text.ts';
import {allWrites} from '../streams/all.ts';
import {isStorableInstant} from '../streams/values.ts';

const [firstTable = '', ...otherTables] = allWrites.map(({table}) => table.name);

export const changeNumber = z
  .string()
  .regex(idPattern, {error: 'expected the number of a change, as text'});

/** A text of one line, which Postgres can hold. */
export const lineOf = (most: number) =>
  z
    .string()
    .max(most)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a line may not have
    .regex(/^[^\u0000-\u001f\u007f]*$/, {error: 'expected a line without control characters'});

/** The name of a transaction. */
export const batchName = lineOf(longestBatch).min(1);

/** Conditions that are left out are open. */
export const filterShape = {
  state: z.enum([...changeStates, 'altered', 'needy']).optional(),
  table: z.enum([firstTable, ...otherTables]).optional(),
  by: lineOf(200)
    .optional()
    .describe('The database user, the person or the application that made it.'),
  since: z
    .string()
    .refine(isStorableInstant, {
      error: 'expected ISO 8601 with an offset, such as 2027-03-14T09:30:00Z',
    })
    .optional()
    .describe('Made at this instant or later.'),
  batch: batchName.optional().describe('The name of the transaction.'),
  transaction: z
    .string()
    .regex(idPattern, {error: 'expected the number of a transaction'})
    .optional(),
};

type Filters = z.infer<z.ZodObject<typeof filterShape>>;

export function toWanted(accountId: string, filters: Filters): ChangeFilter {
  const {
    state = null,
    table = null,
    by = null,
    since = null,
    batch = null,
    transaction = null,
  } = filters;
  return {...everyChange([accountId]), state, table, by, since, batch, transaction};
}

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
export interface AskedQuery<Schema extends z.ZodType> {
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

const tokenSchema = z.tuple([
  z.literal(1),
  z.string(),
  z.string().regex(idPattern),
  z.boolean(),
  z.string().refine(isStorableInstant).nullable(),
  z.record(z.string().max(60), z.string().max(200)),
]);

/** The place where a list goes on: behind a row, with the filters that the list began with. */
export interface Place {
  readonly table: string;
  readonly afterRowId: string;
  readonly showsDeleted: boolean;
  readonly changedSince: string | null;
  /** By column the value that a row must have. */
  readonly where?: Readonly<Record<string, string>>;
}

/**
 * Packs a place. The token is no secret and opens nothing: the account is always that of the key.
 */
export function packPlace({
  table,
  afterRowId,
  showsDeleted,
  changedSince,
  where = {},
}: Place): string {
  const place = [1, table, afterRowId, showsDeleted, changedSince, where];
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** @returns null for a token that `packPlace` never made */
export function unpackPlace(token: string): Place | null {
  if (!/^[A-Za-z0-9_-]{1,20000}$/.test(token)) return null;
  const read = tokenSchema.safeParse(parse(Buffer.from(token, 'base64url').toString()));
  if (!read.success) return null;
  const [, table, afterRowId, showsDeleted, changedSince, where] = read.data;
  const place = {table, afterRowId, showsDeleted, changedSince, where};
  return packPlace(place) === token ? place : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
