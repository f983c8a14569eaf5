// One snapshot of the star as files in a folder: each table as Parquet, and a manifest. By the
// manifest, a reader checks that it has loaded all of them. The same rows give the same bytes.

import {createHash} from 'node:crypto';
import {open, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type pg from 'pg';
import {RetryableError} from '../core/errors.ts';
import {readVersion} from '../core/package.ts';
import {type WrittenColumn, writeParquet} from '../star/parquet.ts';
import {type ExportedTable, exportedTables} from '../star/star.ts';
import {beginUpToDate, type ClaimCheck, checkClaims} from '../star/tie-outs.ts';

/** A file of a snapshot. */
export interface SnapshotFile {
  readonly file: string;
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
}

/** A table as its manifest describes it. */
interface SnapshotTable extends SnapshotFile {
  readonly table: string;
  readonly rows: number;
  /** The columns that identify a row; the rows are in their order. */
  readonly key: readonly string[];
  /** Sums of the columns of exact numbers, as texts, so that no digit is lost. */
  readonly sums: Readonly<Record<string, string>>;
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly comment: string | null;
  }[];
}

/** The last certified sweep of a stream. */
interface Certificate {
  readonly account: string;
  readonly stream: string;
  readonly sweep: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly records: number;
  /** The basis of the proof, as stored in sync.sweeps. */
  readonly evidence: unknown;
}

/** The file `manifest.json`. Instants are ISO 8601 in UTC. */
interface Manifest {
  readonly format: 1;
  readonly snapshot: string;
  readonly knownAsOf: string;
  readonly fieldmirror: string;
  readonly accounts: readonly {
    readonly accountKey: string;
    readonly name: string;
    readonly timeZone: string;
    readonly currency: string | null;
    readonly jobsFreshAsOf: string | null;
  }[];
  readonly sweeps: readonly Certificate[];
  readonly tieOuts: readonly (Pick<ClaimCheck, 'name' | 'claim'> & {readonly brokenRows: number})[];
  readonly tables: readonly SnapshotTable[];
}

/** A snapshot whose files are written. */
export interface Snapshot {
  /** `2026-10-31T031245.123Z`: sorts by time, and is a valid file name everywhere. */
  readonly name: string;
  readonly knownAsOf: string;
  readonly sweepIds: readonly string[];
  readonly files: readonly SnapshotFile[];
  readonly manifest: SnapshotFile;
  readonly rows: number;
  /** The size of all files, the manifest included. */
  readonly bytes: number;
  /** Names of the tie-outs that do not hold. */
  readonly brokenTies: readonly string[];
}

export const manifestFile = 'manifest.json';

/** The signal that ends a delivery, and the callback that follows its progress. */
export interface DeliveryCourse {
  readonly signal: AbortSignal;
  /** Called with the name of each next step. */
  readonly onStep: (step: string) => void;
}

/**
 * Writes a snapshot into an empty folder, from one state of the warehouse.
 * @throws {RetryableError} the star lacks changes, although it was refreshed
 * @throws the reason of the signal
 */
export async function takeSnapshot(
  pool: pg.Pool,
  folder: string,
  {signal, onStep}: DeliveryCourse,
): Promise<Snapshot> {
  const client = await pool.connect();
  try {
    onStep('refreshing the star');
    const missing = await beginUpToDate(pool, client);
    if (missing > 0)
      throw new RetryableError(
        `expected a star that has all changes, got one that lacks ${missing}; it is tried again`,
      );
    const tables: SnapshotTable[] = [];
    for (const table of exportedTables) {
      signal.throwIfAborted();
      onStep(`writing ${table.name}, ${tables.length + 1} of ${exportedTables.length} tables`);
      tables.push(await writeTable(client, table, folder));
    }
    signal.throwIfAborted();
    onStep('checking the tie-outs');
    return await writeManifest(client, tables, folder);
  } finally {
    await client.query('ROLLBACK').catch(() => {});
    client.release();
  }
}

async function writeTable(
  client: pg.ClientBase,
  {name: table, key}: ExportedTable,
  folder: string,
): Promise<SnapshotTable> {
  const file = `${table}.parquet`;
  const hash = createHash('sha256');
  const handle = await open(join(folder, file), 'wx');
  let bytes = 0;
  try {
    const writePart = async (part: Uint8Array) => {
      hash.update(part);
      bytes += part.length;
      await handle.writeFile(part);
    };
    const sql = `SELECT * FROM mart.${table} ORDER BY ${key.join(', ')}`;
    const {rows, columns} = await writeParquet(client, sql, writePart);
    await handle.sync();
    const comments = await readComments(client, table);
    return {
      table,
      file,
      rows,
      bytes,
      sha256: hash.digest('hex'),
      key,
      sums: collectSums(columns),
      columns: columns.map(({name, type}) => ({
        name,
        type,
        comment: comments.get(name) ?? null,
      })),
    };
  } finally {
    await handle.close();
  }
}

function collectSums(columns: readonly WrittenColumn[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    columns.flatMap(({name, sum}) => (sum === null ? [] : [[name, sum] as const])),
  );
}

async function readComments(
  client: pg.ClientBase,
  table: string,
): Promise<ReadonlyMap<string, string | null>> {
  const {rows} = await client.query<{name: string; comment: string | null}>(
    `SELECT attname AS name, col_description(attrelid, attnum) AS comment FROM pg_attribute
      WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
    [`mart.${table}`],
  );
  return new Map(rows.map(({name, comment}) => [name, comment]));
}

async function writeManifest(
  client: pg.ClientBase,
  tables: readonly SnapshotTable[],
  folder: string,
): Promise<Snapshot> {
  const ties = await checkClaims(client);
  const {sweeps, ...facts} = await readFacts(client);
  const name = nameSnapshot(facts.knownAsOf);
  const manifest: Manifest = {
    format: 1,
    snapshot: name,
    knownAsOf: facts.knownAsOf,
    fieldmirror: readVersion(),
    accounts: facts.accounts,
    sweeps,
    tieOuts: ties.map(({broken, ...tie}) => ({...tie, brokenRows: broken})),
    tables,
  };
  const writtenFile = await writeJson(folder, manifestFile, manifest);
  const files = tables.map(({file, bytes, sha256}) => ({file, bytes, sha256}));
  return {
    name,
    knownAsOf: facts.knownAsOf,
    files,
    manifest: writtenFile,
    sweepIds: sweeps.map(({sweep}) => sweep),
    rows: tables.reduce((total, {rows}) => total + rows, 0),
    bytes: [...files, writtenFile].reduce((total, {bytes}) => total + bytes, 0),
    brokenTies: ties.filter(({broken}) => broken > 0).map(({name: tie}) => tie),
  };
}

async function writeJson(folder: string, file: string, value: unknown): Promise<SnapshotFile> {
  const text = `${JSON.stringify(value, null, 2)}\n`;
  await writeFile(join(folder, file), text, {flag: 'wx', flush: true});
  return {file, ...measure(text)};
}

/** The size and the hash of a text, by which a receiver checks it. */
export function measure(text: string): Pick<SnapshotFile, 'bytes' | 'sha256'> {
  return {
    bytes: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
  };
}

/** The moment of the transaction, the accounts, and their certificates. */
async function readFacts(client: pg.ClientBase) {
  const {rows: accounts} = await client.query<Manifest['accounts'][number]>(
    `SELECT account_key::text AS "accountKey", name, time_zone AS "timeZone", currency,
            jobs_fresh_as_of AS "jobsFreshAsOf"
       FROM mart.dim_account ORDER BY account_key`,
  );
  const {rows: sweeps} = await client.query<Certificate>(
    `SELECT account.name AS account, stream, sweep_id AS sweep, started_at AS "startedAt",
            ended_at AS "endedAt", records::double precision AS records, evidence
       FROM (SELECT DISTINCT ON (account_id, stream) * FROM sync.sweeps
              WHERE mode = 'full' AND state = 'certified'
              ORDER BY account_id, stream, sweep_id DESC) AS latest
       JOIN sync.accounts AS account USING (account_id)
      ORDER BY account.account_id, stream`,
  );
  const {rows} = await client.query<{knownAsOf: string}>('SELECT now() AS "knownAsOf"');
  return {accounts, sweeps, knownAsOf: rows[0]?.knownAsOf ?? ''};
}

/** `2026-10-31T03:12:45.123456Z` becomes `2026-10-31T031245.123Z`. */
function nameSnapshot(instant: string): string {
  const [day, time = ''] = new Date(instant).toISOString().split('T');
  return `${day}T${time.replaceAll(':', '')}`;
}

/** Whether a folder of a target is a snapshot: a delivery never removes anything else there. */
export function isSnapshotName(name: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z$/.test(name);
}
