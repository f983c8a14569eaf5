// The section of the file of settings about the delivery of the star. Keys of storage are never in
// the file: they are in the environment of the worker.

import {posix} from 'node:path';
import {z} from 'zod';
import {shortName, shortNameText} from '../core/names.ts';
import {parseBucket, usualKeep, usualRegion} from '../delivery/store.ts';
import {deleteTarget, listTargetSettings, writeTargetSetting} from '../delivery/targets.ts';
import {type EntryChange, known, type Section, type SettingProblem} from './section.ts';
import {removable} from './values.ts';

const place =
  'expected the absolute path of a folder, such as /srv/lake, or a bucket, such as s3://lake/star';
const address = 'expected an address without a password, such as https://storage.googleapis.com';
const zone = 'expected a region, such as eu-central-1';
const keep = 'expected a whole number of snapshots, 1 to 10000';
const secret =
  'a key is never in this file: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment';

const target = z.strictObject({
  to: z
    .string(place)
    .superRefine((text, context) => {
      // What looks like an address may hold a password.
      const params = {isPrivate: text.includes('@')};
      if (!isPlace(text)) context.addIssue({code: 'custom', message: place, params});
    })
    .describe('The folder, or the bucket of S3-compatible storage, that gets the snapshots.'),
  endpoint: z
    .string(address)
    .superRefine((text, context) => {
      if (!isEndpoint(text))
        context.addIssue({code: 'custom', message: address, params: {isPrivate: true}});
    })
    .exactOptional()
    .describe('Of a bucket: address of its service. Default: that of AWS in the region.'),
  region: z
    .string(zone)
    .regex(/^[a-z0-9-]{2,40}$/, zone)
    .exactOptional()
    .describe(`Of a bucket: region that requests are signed for. Default: ${usualRegion}.`),
  keep: z
    .int(keep)
    .min(1, keep)
    .max(10_000, keep)
    .exactOptional()
    .describe(`How many snapshots stay there, the newest ones. Default: ${usualKeep}.`),
});

type Target = z.infer<typeof target>;

function isPlace(text: string): boolean {
  if (/^[a-z\d]+:/i.test(text)) return parseBucket(text) !== null;
  return posix.isAbsolute(text) && posix.normalize(text) === text;
}

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const {protocol, username, password, search, hash} = new URL(text);
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === '';
}

export const deliverySection: Section<Target> = {
  name: 'delivery',
  about: [
    'Where the star is delivered at the end of each certified night, by name: one snapshot of all',
    'its tables as Parquet. Keys of storage are never in this file: the worker has them in',
    'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
  ],
  schema: z.record(z.string().regex(shortName, shortNameText), removable(target)),
  depth: 1,
  advice: Object.fromEntries(
    ['key', 'secret', 'access_key_id', 'secret_access_key'].map((key) => [key, secret]),
  ),
  read: async (db) =>
    (await listTargetSettings(db)).map(({name, place: to, endpoint, region, keep: kept}) => ({
      path: [name],
      entry: known({to, endpoint, region, keep: kept}),
    })),
  defaultsOf: () => ({keep: usualKeep}),
  check: (_db, changes) => changes.flatMap(findTargetProblems),
  write: (db, [name = ''], {to, endpoint = null, region = null, keep: kept = usualKeep}) =>
    writeTargetSetting(db, {name, place: to, endpoint, region, keep: kept}),
  remove: (db, [name = '']) => deleteTarget(db, name),
};

/** Keys that mean something with a bucket alone. */
function findTargetProblems({path, after}: EntryChange<Target>): SettingProblem[] {
  if (after === null || parseBucket(after.to) !== null) return [];
  return (['endpoint', 'region'] as const)
    .filter((key) => after[key] !== undefined)
    .map((key) => ({
      path: [...path, key],
      text: `expected it beside a bucket alone, got the folder ${after.to}`,
    }));
}
