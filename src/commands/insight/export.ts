import {mkdir} from 'node:fs/promises';
import {join} from 'node:path';
import type {Config} from '../../base/config.ts';
import {FatalError, UsageError} from '../../base/errors.ts';
import {nearest} from '../../base/spelling/nearest.ts';
import {drawDbtSources} from '../../insight/dbt.ts';
import {questions} from '../../insight/questions/questions.ts';
import {members} from '../../insight/star/star.ts';
import {beginReading} from '../../views/answers/answer-question.ts';
import {formatNumber} from '../../views/format.ts';
import {checkMigrations} from '../../warehouse/schema/migration-check.ts';
import {chooseAccount} from '../accounts/choose-account.ts';
import {drawTable, print} from '../terminal/report.ts';
import {withWarehouse} from '../warehouse.ts';
import {writeFile} from './files.ts';
import {drawMetabase} from './metabase/draw-metabase.ts';

/** Prints the star as sources of a dbt project. */
export function exportDbt(options: {readonly json: boolean}): number {
  const sources = drawDbtSources();
  print(options.json, {json: {'sources.yml': sources}, text: sources});
  return 0;
}

/** Prints the script that sets up Metabase. */
export function exportMetabase(options: {readonly json: boolean}): number {
  const script = drawMetabase();
  print(options.json, {json: {'metabase.mjs': script}, text: script.trimEnd()});
  return 0;
}

export interface ExportOptions {
  readonly format: 'csv' | 'parquet';
  /** The folder of the files, one for each table. */
  readonly folder: string;
  /** None means: every dimension and every fact. */
  readonly tables: readonly string[];
  /** One account; else all. */
  readonly account?: string;
  /** Of CSV: for a spreadsheet. */
  readonly excel?: boolean;
  readonly json: boolean;
}

/** Tables of the star that have no account. */
const shared = ['dim_date', 'dim_job_state'];
const exported = [...shared, ...members.map(({name}) => name)];

/**
 * Writes tables of the star as files, all from one state of the warehouse.
 * @returns the exit code
 * @throws {UsageError} no such table or account, a folder that cannot be written, an amount that the format cannot hold
 * @throws {FatalError} the warehouse is not of this version
 */
export async function exportTables(config: Config, options: ExportOptions): Promise<number> {
  const tables = options.tables.length === 0 ? exported : options.tables.map(findTable);
  await mkdir(options.folder, {recursive: true}).catch((error: Error) => {
    throw new UsageError(`export: ${options.folder}: ${error.message}`, {cause: error});
  });
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
    const account = options.account === undefined ? null : await chooseAccount({pool}, options.account);
    const client = await pool.connect();
    try {
      await beginReading(client);
      await client.query('SET LOCAL statement_timeout = 0');
      const files: {table: string; file: string; rows: number}[] = [];
      for (const table of tables) {
        const where =
          account === null || shared.includes(table) ? '' : ` WHERE account_key = ${account.accountId}`;
        const file = join(options.folder, `${table}.${options.format}`);
        const rows = await writeFile(client, `SELECT * FROM mart.${table}${where}`, {...options, file});
        files.push({table, file, rows});
      }
      const drawn = drawTable(
        ['file', 'rows'],
        files.map(({file, rows}) => [file, formatNumber(rows)]),
        [1],
      );
      print(options.json, {json: files, text: drawn});
      return 0;
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
}

function findTable(name: string): string {
  const known = [...exported, ...questions.map((question) => question.name)];
  if (known.includes(name)) return name;
  throw new UsageError(`export: no table "${name}"${nearest(name, known)}; docs/insight.md lists them`);
}
