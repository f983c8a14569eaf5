// The section of the file of settings about the delivery of the star.

import {posix} from 'node:path';
import {z} from 'zod';
import {shortName, shortNameText} from '../core/names.ts';
import {deleteTarget, listTargetSettings, writeTargetSetting} from '../delivery/targets.ts';
import {usualKeep} from '../delivery/terms.ts';
import type {Section} from './section.ts';
import {removable} from './values.ts';

const place = 'expected the absolute path of a folder, such as /srv/lake';
const keep = 'expected a whole number of snapshots, 1 to 10000';

const target = z.strictObject({
  to: z
    .string(place)
    .refine((text) => posix.isAbsolute(text) && posix.normalize(text) === text, place)
    .describe('The folder that gets the snapshots; the one above it exists.'),
  keep: z
    .int(keep)
    .min(1, keep)
    .max(10_000, keep)
    .exactOptional()
    .describe(`How many snapshots stay there, the newest ones. Default: ${usualKeep}.`),
});

export const deliverySection: Section<z.infer<typeof target>> = {
  name: 'delivery',
  about: [
    'Where the star is delivered at the end of each certified night, by name: one snapshot of all',
    'its tables as Parquet.',
  ],
  schema: z.record(z.string().regex(shortName, shortNameText), removable(target)),
  depth: 1,
  read: async (db) =>
    (await listTargetSettings(db)).map(({name, place: to, keep: kept}) => ({
      path: [name],
      entry: {to, keep: kept},
    })),
  defaultsOf: () => ({keep: usualKeep}),
  write: (db, [name = ''], {to, keep: kept = usualKeep}) =>
    writeTargetSetting(db, {name, place: to, endpoint: null, region: null, keep: kept}),
  remove: (db, [name = '']) => deleteTarget(db, name),
};
