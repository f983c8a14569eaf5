// The tables of the delivery of the star: the targets, and the snapshots that each of them holds.

import {sql} from 'drizzle-orm';
import {bigint, check, integer, primaryKey, text} from 'drizzle-orm/pg-core';
import {syncSchema} from '../accounts/tables.ts';
import {bigNumber, commentTable, instant} from '../postgres/tables.ts';
import {usualKeep} from './store.ts';

export const deliveryTargets = syncSchema.table(
  'delivery_targets',
  {
    name: text().primaryKey(),
    place: text().notNull(),
    endpoint: text(),
    region: text(),
    keep: integer().notNull().default(usualKeep),
    added_at: instant().notNull().defaultNow(),
    fence: integer().notNull().default(0),
    lease_until: instant(),
    begun_at: instant(),
    step: text(),
    attempts: integer().notNull().default(0),
    due_at: instant().notNull().defaultNow(),
    failing_since: instant(),
    last_error: text(),
  },
  (table) => [
    check('delivery_targets_keep_check', sql`${table.keep} >= 1`),
    check('delivery_targets_attempts_check', sql`${table.attempts} >= 0`),
  ],
);

export const deliveryTargetsTable = commentTable(
  deliveryTargets,
  'Where snapshots of the star are delivered: a folder, or a bucket of S3-compatible storage.',
  {
    name: 'Its name in the file of settings.',
    place: 'The path of a folder, or s3://BUCKET/PREFIX.',
    endpoint: 'Address of the S3-compatible service; null for that of AWS, and for a folder.',
    region: 'Region that requests are signed for; null for the usual one, and for a folder.',
    keep: 'How many snapshots stay there: the newest ones.',
    added_at: 'When it was added, or got another place.',
    fence: 'Number of the delivery; a worker that holds an older number goes no further.',
    lease_until: 'Until when a worker delivers, unless it renews; null while none does.',
    begun_at: 'When the delivery in progress began; null while there is none.',
    step: 'What the delivery in progress does; null while there is none.',
    attempts: 'How many deliveries in a row have failed.',
    due_at: 'When the next one may begin; later than now after one that failed.',
    failing_since: 'When the first of them failed; null if the last delivery succeeded.',
    last_error:
      'Why the last one failed; if failing_since is null, why old snapshots could not be removed.',
  },
);

export const snapshots = syncSchema.table(
  'snapshots',
  {
    target: text()
      .notNull()
      .references(() => deliveryTargets.name, {onDelete: 'cascade'}),
    name: text().notNull(),
    known_as_of: instant().notNull(),
    delivered_at: instant().notNull().defaultNow(),
    sweep_ids: bigNumber().array().notNull(),
    files: integer().notNull(),
    rows: bigint({mode: 'number'}).notNull(),
    bytes: bigint({mode: 'number'}).notNull(),
    manifest_sha256: text().notNull(),
    broken_ties: text().array().notNull(),
  },
  (table) => [primaryKey({name: 'snapshots_pkey', columns: [table.target, table.name]})],
);

export const snapshotsTable = commentTable(
  snapshots,
  'The snapshots of the star that a target holds: a row goes when its snapshot is removed there.',
  {
    target: 'The target: sync.delivery_targets.',
    name: 'Name of its folder: the moment that it is as of, in UTC.',
    known_as_of: 'The moment whose rows it holds.',
    delivered_at: 'When all of it was there.',
    sweep_ids: 'The certified sweeps that its rows come from: the last one of each stream.',
    files: 'How many files it has, without its manifest.',
    rows: 'Rows of all tables.',
    bytes: 'Bytes of all files.',
    manifest_sha256: 'SHA-256 of its manifest, in hex.',
    broken_ties: 'The tie-outs that did not hold; empty if all did.',
  },
);
