import {z} from 'zod';
import {
  type DeletionLimit,
  deleteDeletionLimit,
  listDeletionLimits,
  writeDeletionLimit,
} from '../accounts/settings.ts';
import {allStreams} from '../streams/all.ts';
import type {Section} from './section.ts';
import {listChanged} from './setting-entries.ts';
import {accountName} from './setting-values.ts';
import {toTree} from './settings-tree.ts';

const expected = 'expected a number of rows, such as 20, or a share of the live ones, such as 5%';
const mostRows = 2_147_483_647;
const limit = z
  .union([z.number(), z.string()], expected)
  .transform(String)
  .refine((text) => parseLimit(text) !== null, expected);

export const deletionsSection: Section = {
  name: 'deletions',
  about: [
    'How many rows one full sweep may mark as deleted before a person approves it, by account and stream: rows, or a share.',
    'Where nothing is set: 2 % or 50 rows, whichever is more, but never above 10 % and 3 rows.',
  ],
  schema: z.record(
    accountName,
    z.strictObject(
      Object.fromEntries(
        allStreams
          .filter(({isDeletable}) => isDeletable)
          .map(({name}) => [
            name,
            limit
              .nullable()
              .exactOptional()
              .describe(
                `How many rows of ${name} one sweep may mark as deleted, such as 20 or 5%.`,
              ),
          ]),
      ),
    ),
  ),
  isByAccount: true,
  read: async (db) =>
    toTree(
      (await listDeletionLimits(db)).map((held) => ({
        path: [held.account, held.stream],
        value: formatLimit(held.limit),
      })),
    ),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<string>(change, 2)) {
      const [account = '', stream = ''] = path;
      const parsed = after === null ? null : parseLimit(after);
      if (parsed === null) await deleteDeletionLimit(db, {account, stream});
      else await writeDeletionLimit(db, {account, stream, limit: parsed});
    }
  },
};

/** `20` is rows, `5%` or `2.5%` a share; null for anything else. */
function parseLimit(text: string): DeletionLimit | null {
  const [, amount, percent] = /^(\d{1,10}|\d{1,3}\.\d{1,3}(?=\s*%))\s*(%?)$/.exec(text) ?? [];
  if (amount === undefined) return null;
  const number = Number(amount);
  if (percent === '%') return number <= 100 ? {percent: number} : null;
  return number <= mostRows ? {rows: number} : null;
}

function formatLimit(held: DeletionLimit): string {
  return 'rows' in held ? String(held.rows) : `${held.percent}%`;
}
