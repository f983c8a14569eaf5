// The filters of the HTTP API: those of the console and the terminal, for the account of the key.

import {z} from 'zod';
import {changeStates, longestBatch} from '../changes/change-states.ts';
import {everyChange, type Wanted} from '../changes/wanted-changes.ts';
import {allWrites} from '../streams/all.ts';
import {isStorableInstant} from '../streams/values.ts';

const [firstTable = '', ...otherTables] = allWrites.map(({table}) => table.name);

export const changeNumber = z
  .string()
  .regex(/^[1-9]\d{0,17}$/, {error: 'expected the number of a change, as text'});

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
    .regex(/^[1-9]\d{0,17}$/, {error: 'expected the number of a transaction'})
    .optional(),
};

type Filters = z.infer<z.ZodObject<typeof filterShape>>;

export function toWanted(accountId: string, filters: Filters): Wanted {
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
