// A warehouse that mirrors an adversary, and one sweep of it judged by the checker. It does not
// know the test runner: the torture uses it too.

import type pg from 'pg';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {writeRowLimit} from '../../src/accounts/settings.ts';
import {createClient} from '../../src/api/client.ts';
import {createTransport} from '../../src/api/transport.ts';
import {createLogger} from '../../src/core/log.ts';
import {Secret} from '../../src/core/secret.ts';
import {openPool} from '../../src/postgres/database.ts';
import {findStream} from '../../src/streams/all.ts';
import type {PageReader} from '../../src/sweeps/page-reader.ts';
import {runSweep, type SweepResult} from '../../src/sweeps/run-sweep.ts';
import {requestSweep} from '../../src/sweeps/sweeps.ts';
import type {HeldRow} from './sweep-checker.ts';

/** The result of a sweep in its own row. */
export interface SweepRow {
  readonly sweepId: string;
  readonly reasons: readonly string[];
}

export interface Mirror {
  readonly pool: pg.Pool;
  /** Sweeps once; a sweep that was postponed goes on. */
  sweep(): Promise<SweepResult>;
  /** The latest sweep. */
  readSweep(): Promise<SweepRow>;
  /** Every row of the stream, deleted ones too. */
  readRows(): Promise<HeldRow[]>;
  close(): Promise<void>;
}

const timeZone = 'America/New_York';

/** @param place.databaseUrl - a migrated, empty warehouse of its own */
export async function openMirror(place: {
  readonly databaseUrl: string;
  readonly pageReader: PageReader;
  readonly stream: string;
  readonly service: {readonly url: string; readonly token: string};
  /** How many records a sweep writes at once; the product's own number where left out. */
  readonly batchRecords?: number;
}): Promise<Mirror> {
  const {databaseUrl, pageReader, service} = place;
  // Thousands of sweeps need not survive a power cut.
  const pool = openPool(`${databaseUrl}?options=-c%20synchronous_commit%3Doff`, {
    max: 4,
    applicationName: 'adversary',
  });
  const transport = createTransport({
    baseUrl: service.url,
    token: new Secret(service.token),
    retry: {attempts: 1},
  });
  const {accountId} = await upsertAccount(pool, {name: 'adversary', apiUrl: service.url, timeZone});
  // A business that lives fast, on few records: a person would let so many deletions pass.
  const often = {account: 'adversary', of: place.stream, limit: {rows: 50}};
  await writeRowLimit(pool, 'deletions', often);
  const log = createLogger({level: 'silent', secrets: []});
  const account = {api: createClient(transport), timeZone};
  const batch = place.batchRecords === undefined ? {} : {batchRecords: place.batchRecords};
  const deps = {pool, databaseUrl, openAccount: async () => account, pageReader, log, ...batch};
  return {
    pool,
    sweep: async () => {
      const target = {
        accountId,
        stream: place.stream,
        mode: 'full',
        requestedBy: 'command',
      } as const;
      const {sweepId} = await requestSweep(pool, target);
      return await runSweep(deps, sweepId, new AbortController().signal);
    },
    readSweep: () => readSweep(pool),
    readRows: () => readRows(pool, place.stream),
    close: async () => {
      await transport.close();
      await pool.end();
    },
  };
}

async function readSweep(pool: pg.Pool): Promise<SweepRow> {
  const {rows} = await pool.query<SweepRow>(
    `SELECT sweep_id AS "sweepId", reasons FROM sync.sweeps
      ORDER BY sync.sweeps.sweep_id DESC LIMIT 1`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('no sweep yet');
  return row;
}

async function readRows(pool: pg.Pool, streamName: string): Promise<HeldRow[]> {
  const stream = findStream(streamName);
  const notes = stream.children.find((child) => child.element === 'notes')?.table.name;
  const {key} = stream;
  const notesOf =
    notes === undefined
      ? `'[]'::json`
      : `(SELECT coalesce(json_agg(json_build_object('id', note.id::text, 'note', note.note)), '[]')
            FROM warehouse.${notes} AS note
           WHERE note.account_id = held.account_id AND note.${key} = held.${key}
           AND note._deleted_at IS NULL)`;
  const {rows} = await pool.query<HeldRow>(
    `SELECT ${key}::text AS number, name, _deleted_at IS NOT NULL AS "isDeleted",
      ${notesOf} AS notes
       FROM warehouse.${stream.table.name} AS held`,
  );
  return rows;
}
