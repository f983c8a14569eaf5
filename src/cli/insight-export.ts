import {join} from 'node:path';
import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {nearest} from '../core/names.ts';
import {checkMigrations} from '../schema/migration-check.ts';
import {beginReading} from '../star/answer.ts';
import {drawDbtSources, members, questions} from '../star/star.ts';
import {chooseAccount} from './choose-account.ts';
import {drawMetabase} from './draw-metabase.ts';
import {checkPath, writeAll, writeFile} from './export-files.ts';
import {drawTable, print} from './report.ts';
import {withWarehouse} from './with-warehouse.ts';

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
 * @throws {UsageError} no such table or account, a folder that cannot be written, an amount that
 *   the format cannot hold
 * @throws {FatalError} the warehouse is not of this version
 */
export async function exportTables(config: Config, options: ExportOptions): Promise<number> {
  const tables =
    options.tables.length === 0 ? exported : [...new Set(options.tables.map(findTable))];
  checkPath('export', options.folder);
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
    const account =
      options.account === undefined ? null : await chooseAccount({pool}, options.account);
    const client = await pool.connect();
    try {
      await beginReading(client);
      await client.query('SET LOCAL statement_timeout = 0');
      const files = tables.map((table) => ({table, name: `${table}.${options.format}`, rows: 0}));
      await writeAll(
        options.folder,
        files.map(({name}) => name),
        async (aside) => {
          for (const file of files) {
            const sql = `SELECT * FROM mart.${file.table}${account === null ? '' : whereOf(file.table, account.accountId)}`;
            file.rows = await writeFile(client, sql, {...options, file: join(aside, file.name)});
          }
        },
      );
      const written = files.map(({table, name, rows}) => ({
        table,
        file: join(options.folder, name),
        rows,
      }));
      const drawn = drawTable(
        ['file', 'rows'],
        written.map(({file, rows}) => [file, formatNumber(rows)]),
        [1],
      );
      print(options.json, {json: written, text: drawn});
      return 0;
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
}

/**
 * The rows of an account. The row for what is missing belongs to each: without it an inner join
 * would lose facts.
 */
function whereOf(table: string, accountId: string): string {
  if (shared.includes(table)) return '';
  const missing = members.find(({name}) => name === table)?.missing;
  return ` WHERE account_key = ${accountId}${missing === undefined ? '' : ' OR account_key IS NULL'}`;
}

function findTable(name: string): string {
  const known = [...exported, ...questions.map((question) => question.name)];
  if (known.includes(name)) return name;
  throw new UsageError(
    `export: no table "${name}"${nearest(name, known)}; docs/insight.md lists them`,
  );
}
