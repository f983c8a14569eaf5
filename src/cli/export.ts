// Exports of the star. The verb `export` writes files and a dbt package; other verbs write their
// rows with its functions, too. The verb `deliver` sends a snapshot to its targets now.

import {mkdir, mkdtemp, open, rm, rmdir, writeFile as writeWhole} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import type {Writable} from 'node:stream';
import {finished} from 'node:stream/promises';
import {setTimeout as wait} from 'node:timers/promises';
import pg from 'pg';
import {endDeadLeases} from '../accounts/workers.ts';
import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {nearest} from '../core/names.ts';
import {printStep} from '../core/text.ts';
import type {Delivered, DeliveryDeps} from '../delivery/deliver-star.ts';
import {listTargetSettings} from '../delivery/targets.ts';
import {namePlace, refuseCopy} from '../health/installation.ts';
import {beginReading} from '../star/answer.ts';
import {buildDbtPackage} from '../star/dbt.ts';
import {writeCsv, writePart} from '../star/format-answer.ts';
import {findAsOf} from '../star/period.ts';
import {exportedTables, members, questions, sharedTables} from '../star/star.ts';
import {chooseAccount} from './accounts.ts';
import {fitTable, print} from './terminal.ts';
import {requireMigrated, withWarehouse} from './warehouse.ts';
import {refuseFolderAt, writeAllAside, writeAside} from './write-file.ts';

/**
 * Writes the star as a package of dbt.
 * @throws {UsageError} the folder cannot be written
 */
export async function exportDbt(options: {
  readonly folder: string;
  readonly json: boolean;
}): Promise<number> {
  checkPath('export', options.folder);
  const written: string[] = [];
  for (const [path, text] of buildDbtPackage()) {
    const file = join(options.folder, path);
    await writeText(file, text).catch(refuseFolder(options.folder));
    written.push(file);
  }
  print(options.json, {json: written.map((file) => ({file})), text: written.join('\n')});
  return 0;
}

interface ExportOptions {
  readonly format: 'csv' | 'parquet';
  /** The folder of the files, one for each table. */
  readonly folder: string;
  /** An empty list means every dimension and every fact. */
  readonly tables: readonly string[];
  /** One account; all accounts if left out. */
  readonly account?: string;
  /** A day or an instant, as it was typed; the present if left out. */
  readonly asOf?: string;
  /** Writes CSV for a spreadsheet. */
  readonly excel?: boolean;
  readonly json: boolean;
}

const exportedNames = exportedTables.map(({name}) => name);

/**
 * Writes tables of the star as files, all from one state of the warehouse.
 * @returns the exit code
 * @throws {UsageError} no such table or account, a folder that cannot be written, an amount that
 *   the format cannot hold
 * @throws {FatalError} the warehouse is not of this version
 */
export async function exportTables(config: Config, options: ExportOptions): Promise<number> {
  const tables = chooseTables(options);
  checkPath('export', options.folder);
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    await requireMigrated(pool, place);
    // A past moment needs one account: a day ends at another moment in each zone.
    const isOneAccount = options.account !== undefined || options.asOf !== undefined;
    const account = isOneAccount ? await chooseAccount({pool}, options.account) : null;
    const client = await pool.connect();
    try {
      await beginReading(client);
      await client.query('SET LOCAL statement_timeout = 0');
      const accountId = account?.accountId ?? null;
      const moment = accountId === null ? null : await findAsOf(client, accountId, options.asOf);
      // As for an answer about the past: see prepareQuestion.
      if (moment !== null) await client.query('SET LOCAL enable_nestloop = off');
      const files = tables.map((table) => ({table, name: `${table}.${options.format}`, rows: 0}));
      const names = files.map(({name}) => name);
      await writeFiles(options.folder, names, async (paths) => {
        for (const [index, file] of files.entries()) {
          const sql = sqlOfTable(file.table, {accountId, moment});
          file.rows = await writeFile(client, sql, {...options, file: paths[index] ?? file.name});
        }
      });
      const written = files.map(({table, name, rows}) => ({
        table,
        file: join(options.folder, name),
        rows,
      }));
      const summary = fitTable(
        ['file', 'rows'],
        written.map(({file, rows}) => [file, formatNumber(rows)]),
        [1],
      );
      print(options.json, {json: written, text: summary});
      return 0;
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
}

/** @throws {UsageError} no such table, or a table that cannot be read as of a moment */
function chooseTables({tables, asOf}: Pick<ExportOptions, 'tables' | 'asOf'>): readonly string[] {
  const versionTables: readonly string[] = members
    .filter(({isOfVersions}) => isOfVersions)
    .map(({name}) => name);
  const chosen = [...new Set(tables.map(findTable))];
  if (asOf === undefined) return chosen.length === 0 ? exportedNames : chosen;
  const refusedTable = chosen.find((name) => versionTables.includes(name));
  if (refusedTable !== undefined)
    throw new UsageError(
      `export: --as-of: ${refusedTable} holds history itself, as one row for each event; ` +
        'export it without --as-of',
    );
  return chosen.length === 0
    ? exportedNames.filter((name) => !versionTables.includes(name))
    : chosen;
}

interface ExportSource {
  /** Null means every account. */
  readonly accountId: string | null;
  /** Null means the present. */
  readonly moment: string | null;
}

function sqlOfTable(table: string, {accountId, moment}: ExportSource): string {
  const isShared = sharedTables.some(({name}) => name === table);
  const asOfCall = moment === null || isShared ? '' : `_as_of(${pg.escapeLiteral(moment)})`;
  const where = accountId === null ? '' : whereOf(table, accountId);
  return `SELECT * FROM mart.${table}${asOfCall}${where}`;
}

/**
 * Selects the rows of an account. The row for a missing member belongs to every account: without it
 * an inner join would lose facts.
 */
function whereOf(table: string, accountId: string): string {
  if (sharedTables.some(({name}) => name === table)) return '';
  const missing = members.find(({name}) => name === table)?.missing;
  const orMissing = missing === undefined ? '' : ' OR account_key IS NULL';
  return ` WHERE account_key = ${accountId}${orMissing}`;
}

function findTable(name: string): string {
  const known = [...exportedNames, ...questions.map((question) => question.name)];
  if (known.includes(name)) return name;
  throw new UsageError(
    `export: no table "${name}"${nearest(name, known)}; docs/insight.md lists them`,
  );
}

interface FileOptions {
  readonly file: string;
  readonly format: 'csv' | 'parquet';
  /** Writes CSV for a spreadsheet. */
  readonly excel?: boolean | undefined;
}

/**
 * Writes the rows of a statement into a file, under another name until the file is complete. The
 * caller has begun a transaction.
 * @returns the number of rows
 * @throws {UsageError} the file cannot be written, or the format cannot hold an amount
 */
export async function writeFile(
  client: pg.ClientBase,
  sql: string,
  {file, format, excel}: FileOptions,
): Promise<number> {
  const refuse = (cause: Error) => {
    const problem = `expected a file that can be written, got ${cause.message}`;
    throw new UsageError(`${file}: ${problem}`, {cause});
  };
  await refuseFolderAt(file);
  return await writeAside(file, async (partFile) => {
    const handle = await open(partFile, 'w').catch(refuse);
    const out = handle.createWriteStream();
    const written = finished(out).catch(refuse);
    // A full disk ends the stream while rows are read; `written` is awaited after the last one.
    written.catch(() => undefined);
    try {
      return await (format === 'csv'
        ? writeCsv(client, sql, {out, isForSpreadsheet: excel === true})
        : writeParquetRows(client, sql, out));
    } finally {
      out.end();
      await written;
    }
  });
}

/** Writes a text into a file, all of it or nothing; creates its folder if there is none. */
export async function writeText(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), {recursive: true});
  await writeAside(file, (partFile) => writeWhole(partFile, text));
}

/**
 * Writes files into a folder, all of them or none: they are written to a temporary folder, and
 * moved when the last one is complete.
 * @param names - of the files
 * @param write - writes the files to the paths that it is given, in the order of their names
 * @throws {UsageError} the folder cannot be written
 */
async function writeFiles(
  folder: string,
  names: readonly string[],
  write: (paths: readonly string[]) => Promise<void>,
): Promise<void> {
  const refuse = refuseFolder(folder);
  const created = await mkdir(folder, {recursive: true}).catch(refuse);
  const temporaryFolder = await mkdtemp(join(folder, '.part-')).catch(refuse);
  try {
    const files = names.map((name) => join(folder, name));
    await writeAllAside(files, temporaryFolder, write);
  } finally {
    await rm(temporaryFolder, {recursive: true, force: true});
    if (created !== undefined) await removeEmpty(folder, created);
  }
}

const refuseFolder = (folder: string) => (cause: Error) => {
  const problem = `expected a folder that can be written, got ${cause.message}`;
  throw new UsageError(`${folder}: ${problem}`, {cause});
};

/** Removes the folders that were created, from the innermost one up, as far as they are empty. */
async function removeEmpty(innermost: string, outermost: string): Promise<void> {
  try {
    for (let folder = innermost; ; folder = dirname(folder)) {
      await rmdir(folder);
      if (folder === outermost) return;
    }
  } catch {
    // The folder contains files.
  }
}

/**
 * Refuses the address of a store, which would otherwise become a folder of that name.
 * @throws {UsageError} it is not a path
 */
export function checkPath(prefix: string, path: string): void {
  if (!/^[a-z][a-z\d+.-]+:\/\//i.test(path)) return;
  throw new UsageError(
    `${prefix}: expected a path on this machine, got ${path}; write the files to a folder, ` +
      'and copy them from there',
  );
}

async function writeParquetRows(
  client: pg.ClientBase,
  sql: string,
  out: Writable,
): Promise<number> {
  const {writeParquet} = await import('../star/parquet.ts');
  return (await writeParquet(client, sql, (bytes) => writePart(out, bytes))).rows;
}

interface DeliverOptions {
  /** The name of the only target; every target if left out. */
  readonly target?: string;
  readonly json: boolean;
}

/**
 * Delivers one snapshot to each target, one after the other.
 * @returns the exit code
 * @throws {UsageError} there is no target, or none has that name
 * @throws {RetryableError} a target does not accept it; the targets before it have received theirs
 * @throws {FatalError} another process delivers to the target for minutes, or the warehouse is a
 *   copy or of another version
 */
export async function deliverStar(
  config: Config,
  {target, json}: DeliverOptions,
  signal: AbortSignal,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    await requireMigrated(pool, place);
    await refuseCopy(pool, await namePlace(config));
    const names = (await listTargetSettings(pool)).map(({name}) => name);
    const onStep = (name: string, step: string) => {
      if (!json) printStep(`${name}: ${step}`);
    };
    const delivered: Delivered[] = [];
    for (const name of chooseTargets(names, target))
      delivered.push(await deliverOne({pool, storage: config, signal, onStep}, name));
    print(json, {
      json: delivered.map(({snapshot, ...each}) => ({...each, ...snapshot})),
      text: formatDelivered(delivered),
    });
    return 0;
  });
}

function chooseTargets(names: readonly string[], wanted: string | undefined): readonly string[] {
  if (names.length === 0)
    throw new UsageError(
      'deliver: expected a target, got none; add one to the section delivery of a file of ' +
        'settings, and run fieldmirror config apply',
    );
  if (wanted === undefined) return names;
  if (names.includes(wanted)) return [wanted];
  throw new UsageError(
    `deliver: no target "${wanted}"${nearest(wanted, names)}; there are ${names.join(', ')}`,
  );
}

/** The verb waits for a delivery of another process: `start` delivers to a new target at once. */
const [retryEveryMs, mostAttempts] = [1_000, 120];

async function deliverOne(deps: DeliveryDeps, name: string): Promise<Delivered> {
  const {deliverTo} = await import('../delivery/deliver-star.ts');
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    await endDeadLeases(deps.pool);
    const outcome = await deliverTo(deps, name);
    if (outcome !== null) {
      if ('error' in outcome) throw outcome.error;
      return outcome;
    }
    if (attempt === 1) deps.onStep?.(name, 'waiting for another process, which delivers to it');
    await wait(retryEveryMs, undefined, {signal: deps.signal});
  }
  throw new FatalError(
    `deliver: another process delivers to ${name} at the moment; fieldmirror status shows it`,
  );
}

function formatDelivered(delivered: readonly Delivered[]): string {
  const table = fitTable(
    ['target', 'snapshot', 'files', 'rows', 'bytes', 'old ones removed'],
    delivered.map(({target, snapshot: {name, files, rows, bytes}, removed}) => [
      ...[target, name, files.length, rows, bytes, removed],
    ]),
  );
  const notes = delivered.flatMap(({target, snapshot: {brokenTies}, trouble}) => [
    ...(brokenTies.length === 0
      ? []
      : [`${target}: these tie-outs do not hold: ${brokenTies.join(', ')}; fieldmirror check`]),
    ...(trouble === null ? [] : [`${target}: old snapshots could not be removed: ${trouble}`]),
  ]);
  return [table, ...notes].join('\n');
}
