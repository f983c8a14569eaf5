import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {checkMigrations} from '../schema/migration-check.ts';
import {
  keepReported,
  type List,
  type Report,
  readReport,
  tellAge,
  tellFindings,
  tellFreshness,
  tellRestated,
} from '../star/report.ts';
import {showMoney, showNumber} from '../star/report-figures.ts';
import {chooseAccount} from './choose-account.ts';
import {checkPath, writeText} from './export-files.ts';
import {drawTable, print} from './report.ts';
import {withWarehouse} from './with-warehouse.ts';

export interface ReportOptions {
  readonly account?: string;
  readonly html?: boolean;
  /** A file, in place of standard output. */
  readonly to?: string;
  /** Made from data that is too old as well; it says so on top. */
  readonly force?: boolean;
  readonly json: boolean;
}

/**
 * Makes the report of the last whole week. The figures of one that goes into a file are kept, so
 * that the next says what is restated.
 * @returns the exit code
 * @throws {UsageError} the data is too old for a report, and it was not asked for all the same; the
 *   file cannot be written
 * @throws {FatalError} the warehouse is not of this version
 */
export async function report(config: Config, options: ReportOptions): Promise<number> {
  if (options.to !== undefined) checkPath('report: --to', options.to);
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
    const {accountId} = await chooseAccount({pool}, options.account);
    const client = await pool.connect();
    try {
      const access = options.to === undefined ? 'READ ONLY' : 'READ WRITE';
      await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ ${access}; SET LOCAL jit = off`);
      const made = await readReport(client, accountId);
      const warning = tellAge(made);
      if (warning !== null && options.force !== true)
        throw new UsageError(
          `report: ${warning}; run fieldmirror sync jobs, or ask for it all the same with --force`,
        );
      await give(options, made, warning);
      // Only a file is delivered: what was looked at on the screen is still news in the next
      // report.
      if (options.to !== undefined) await keepReported(client, accountId, made.figures);
      await client.query('COMMIT');
      return 0;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  });
}

async function give(options: ReportOptions, made: Report, warning: string | null): Promise<void> {
  const text = await draw(options, made, warning);
  if (options.to === undefined) {
    print(options.json && options.html !== true, {json: {...made, warning}, text});
    return;
  }
  await writeText(options.to, text).catch((error: Error) => {
    throw new UsageError(`report: --to ${options.to}: ${error.message}`, {cause: error});
  });
  print(options.json, {json: {file: options.to}, text: options.to});
}

/** A file is HTML, unless its name says otherwise. */
async function draw(
  {html, to, json}: ReportOptions,
  made: Report,
  warning: string | null,
): Promise<string> {
  if (html === true || (to !== undefined && !json && !to.endsWith('.txt'))) {
    const {drawPage} = await import('../star/report-page.ts');
    return drawPage(made, warning);
  }
  return json ? `${JSON.stringify({...made, warning}, null, 2)}\n` : drawText(made, warning);
}

function drawText(made: Report, warning: string | null): string {
  const {account, from, to, figures, moves, lists, unseen} = made;
  const numbers = drawTable(
    ['', 'this week', 'the week before', 'a year ago'],
    figures.map(({label, now, before, yearAgo}) => [
      label,
      showNumber(now),
      showNumber(before),
      showNumber(yearAgo),
    ]),
    [1, 2, 3],
  );
  const section = (title: string, sentences: readonly string[], none: string) =>
    [`\n${title}`, ...(sentences.length === 0 ? [none] : sentences)].join('\n');
  return [
    `${account}, ${from} to ${to}`,
    tellFreshness(made),
    ...(warning === null ? [] : [`Beware: ${warning}.`]),
    numbers,
    section('What moved more than usual', moves, 'Nothing did.'),
    ...lists.map(drawList),
    section(
      'What changed since the last report',
      tellRestated(made),
      'Nothing of what earlier reports told.',
    ),
    section('What cannot be seen', unseen, ''),
    section('What a person may want to look at', tellFindings(made), 'Nothing.'),
  ].join('\n');
}

function drawList({title, columns, rows, amounts}: List): string {
  const cells = rows.map((row) =>
    row.map((cell, at) => (amounts.includes(at) ? showMoney(cell) : (cell ?? ''))),
  );
  return `\n${title}\n${rows.length === 0 ? 'None.' : drawTable(columns, cells, amounts)}`;
}
