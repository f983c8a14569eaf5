// The contents of a warehouse, as they are shown before it goes.

import {countChanges} from '../changes/undo-words.ts';
import {listOwnSchemas, type OwnSchema} from '../health/own-schemas.ts';
import type {Queryable} from '../postgres/database.ts';
import {drawTable} from './report.ts';

export interface Held {
  readonly schemas: readonly OwnSchema[];
  readonly accounts: readonly string[];
  /** Changes that were made here and are not settled. */
  readonly openChanges: number;
}

const megabyte = 1_000_000;

/** A schema that another version has made is counted as far as it goes. */
export async function readHeld(db: Queryable): Promise<Held> {
  const schemas = await listOwnSchemas(db);
  const {rows} = await db.query<{accounts: boolean; changes: boolean}>(
    `SELECT to_regclass('sync.accounts') IS NOT NULL AS accounts,
            EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('sync.changes') AND attname = 'is_open') AS changes`,
  );
  const isThere = rows[0] ?? {accounts: false, changes: false};
  const accounts = isThere.accounts
    ? (await db.query<{name: string}>('SELECT name FROM sync.accounts ORDER BY name')).rows
    : [];
  const changes = isThere.changes
    ? (
        await db.query<{open: number}>(
          'SELECT count(*)::int AS open FROM sync.changes WHERE is_open',
        )
      ).rows
    : [];
  return {schemas, accounts: accounts.map(({name}) => name), openChanges: changes[0]?.open ?? 0};
}

export function drawHeld({schemas, accounts, openChanges}: Held): string {
  const rows = schemas.map(({schema, tables, bytes}) => [
    schema,
    tables,
    Math.ceil(bytes / megabyte),
  ]);
  return [
    ...(rows.length === 0 ? [] : [drawTable(['schema', 'tables', 'MB'], rows)]),
    `accounts: ${accounts.length === 0 ? 'none' : accounts.join(', ')}`,
    ...(openChanges === 0
      ? []
      : [
          `${countChanges(openChanges)} ${openChanges === 1 ? 'is' : 'are'} not settled: what was not sent is never sent`,
        ]),
  ].join('\n');
}
