// Answers for an owner. The verb `ask` answers questions; `check` checks whether the figures tie
// out with the warehouse. The verb `report` makes the report of the last whole week. `start` makes
// it, too, as one file for each account and week, from Monday 06:00 of the account.

import {join} from 'node:path';
import {Writable} from 'node:stream';
import type pg from 'pg';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {formatAgo, formatNumber, showSecond} from '../core/format.ts';
import {printOut, printStep, widthOf} from '../core/text.ts';
import type {DueReport, MakingDeps} from '../delivery/report-mails.ts';
import {inTransaction} from '../postgres/database.ts';
import {
  type AnsweredQuestion,
  answerQuestion,
  beginReading,
  buildAnswerSql,
  describeAnswered,
  describeScope,
  findQuestion,
  prepareQuestion,
  type QuestionAnswer,
  toQuestionWord,
} from '../star/answer.ts';
import {writeCsv} from '../star/format-answer.ts';
import {describeAge, type Report, readReport, saveReported} from '../star/report.ts';
import {formatReport} from '../star/report-mail.ts';
import {questions} from '../star/star.ts';
import {beginUpToDate, type ClaimCheck, checkClaims, findings, tieOuts} from '../star/tie-outs.ts';
import {chooseAccount} from './accounts.ts';
import {checkPath, writeFile, writeText} from './export.ts';
import {fitTable, type OutputOptions, print, wrap} from './terminal.ts';
import {requireMigrated, withWarehouse} from './warehouse.ts';

interface AskOptions {
  readonly account?: string;
  /** A day or an instant, as it was typed. */
  readonly asOf?: string;
  /** Days, as they were typed. */
  readonly from?: string;
  readonly to?: string;
  /** The name of another grouping. */
  readonly by?: string;
  readonly limit: number;
  readonly csv?: boolean;
  /** CSV for a spreadsheet. */
  readonly excel?: boolean;
  /** The file that all rows are written to. */
  readonly parquet?: string;
  readonly sql?: boolean;
  readonly json: boolean;
}

/** Lists the questions that have an answer. */
export function listQuestions(options: OutputOptions): number {
  const entries = questions.map((question) => ({
    name: toQuestionWord(question),
    question: question.question,
    definition: question.definition,
    view: `mart.${question.name}`,
    hasPeriod: question.period !== undefined,
    by: Object.keys(question.by ?? {}),
  }));
  const text = fitTable(
    ['name', 'question', '--from --to', '--by'],
    entries.map(({name, question, hasPeriod, by}) => [
      name,
      question,
      hasPeriod ? 'yes' : '',
      by.join(', '),
    ]),
  );
  print(options.json, {
    json: entries,
    text:
      `${text}\nfieldmirror ask NAME [--from 2026-10-01] [--to 2026-10-31] [--by town] ` +
      '[--as-of 2026-10-31]\n' +
      '                     [--csv | --json | --parquet FILE | --sql]',
  });
  return 0;
}

/**
 * Answers a question by its name. The answer includes its definition, the age of its data, and
 * whether the figures it depends on tie out.
 * @returns the exit code: 1 if a claim that the answer depends on does not hold
 * @throws {UsageError} no such question, or a moment for which the mirror has no data
 * @throws {FatalError} the warehouse is not of this version
 */
export async function ask(config: Config, name: string, options: AskOptions): Promise<number> {
  const question = findQuestion(name, options.by);
  if (options.parquet !== undefined) checkPath('ask: --parquet', options.parquet);
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    await requireMigrated(pool, place);
    const account = await chooseAccount({pool}, options.account);
    const client = await pool.connect();
    try {
      await beginReading(client);
      const prepared = await prepareQuestion(client, question, {
        accountKey: account.accountId,
        asOf: options.asOf,
        from: options.from,
        to: options.to,
      });
      if (options.sql === true)
        print(false, {json: null, text: `${buildAnswerSql(prepared)};`, isDocument: true});
      else if (options.parquet !== undefined) {
        const rows = await writeFile(client, buildAnswerSql(prepared), {
          file: options.parquet,
          format: 'parquet',
        });
        const {parquet: file} = options;
        print(options.json, {
          json: {file, rows},
          text: `${file}: ${formatNumber(rows)} ${rows === 1 ? 'row' : 'rows'}`,
        });
      } else if (options.csv === true || options.excel === true)
        await writeCsv(client, buildAnswerSql(prepared), {
          out: openTerminalOutput(),
          isForSpreadsheet: options.excel === true,
        });
      else {
        const answered = await answerQuestion(client, prepared, options.limit);
        print(options.json, {
          json: describeAnswered(answered, account.name),
          text: formatAnswered(answered),
        });
        return answered.broken.length > 0 ? 1 : 0;
      }
      return 0;
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
}

/** Standard output; for a terminal, without the characters that a terminal must not get. */
function openTerminalOutput(): Writable {
  if (!process.stdout.isTTY) return process.stdout;
  return new Writable({
    decodeStrings: false,
    write: (part, _encoding, done) => {
      printOut(String(part));
      done();
    },
  });
}

function formatAnswered(answered: AnsweredQuestion): string {
  const {
    asked: {question, moment},
    answer,
    broken,
    fresh,
  } = answered;
  const age =
    moment !== null
      ? `as of ${showSecond(moment)}, by what was known then`
      : fresh.freshAsOf === null
        ? 'the jobs were never proven complete: run fieldmirror sync'
        : `proven complete ${formatAgo(fresh.freshAsOf)}`;
  const behind =
    fresh.waitingSince === null
      ? ''
      : `without what changed since ${showSecond(fresh.waitingSince)}`;
  const ties =
    question.tieOuts.length === 0 || fresh.waitingSince !== null
      ? ''
      : broken.length > 0
        ? broken.join('\n')
        : `ties out: ${question.tieOuts.join(', ')}`;
  return [
    question.question,
    '',
    formatAnswer(answer),
    question.definition,
    question.caveats,
    ...describeScope(answered),
    age,
    behind,
    ties,
  ]
    .filter((line, index) => index === 1 || line !== '')
    .join('\n');
}

/** The rows of an answer for a person at a terminal. */
export function formatAnswer({
  json: {rows, isCutOff},
  drawn: {head, cells, numbers, foot},
}: QuestionAnswer): string {
  const more = isCutOff ? `\nthe first ${rows.length}: --limit shows more` : '';
  return `${
    rows.length === 0
      ? 'nothing'
      : fitTable(
          [...head],
          [...cells, ...foot].map((row) => [...row]),
          [...numbers],
        )
  }${more}`;
}

/** At most this many examples of each finding are named. */
const mostExamples = 3;

/**
 * Checks that the star ties out with the warehouse, and counts findings that a person may want to
 * check.
 * @returns the exit code: 1 if a tie-out does not hold; 3 if one does not hold while changes wait
 *   to be written into the star, which may be the reason; a finding is no failure
 */
export async function askCheck(config: Config, options: OutputOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    await requireMigrated(pool, place);
    if (!options.json)
      printStep(`checking ${tieOuts.length} tie-outs and ${findings.length} findings`);
    const client = await pool.connect();
    try {
      const waiting = await beginUpToDate(pool, client);
      const ties = await checkClaims(client);
      const countedFindings = await readFindings(client);
      const note =
        waiting === 0
          ? ''
          : `\nBeware: ${formatNumber(waiting)} changes wait to be written into the star, ` +
            'as during a sweep; until then a tie-out may not hold.';
      print(options.json, {
        json: {waiting, tieOuts: ties, findings: countedFindings},
        text: `${formatChecked(ties, countedFindings)}${note}`,
      });
      if (ties.every(({broken}) => broken === 0)) return 0;
      return waiting > 0 ? 3 : 1;
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
}

async function readFindings(client: pg.ClientBase): Promise<CountedFinding[]> {
  const countedFindings: CountedFinding[] = [];
  for (const {name, description, sql} of findings) {
    const {rows} = await client.query<{count: number; first: string[]}>(
      `SELECT count(*)::integer AS count,
        coalesce((array_agg(about ORDER BY about))[1:${mostExamples}], '{}') AS first
       FROM (${sql}) AS found`,
    );
    countedFindings.push({
      name,
      description,
      count: rows[0]?.count ?? 0,
      first: rows[0]?.first ?? [],
    });
  }
  return countedFindings;
}

// Claims are sentences, so they are printed as wrapped lines: a table of them is wider than a
// terminal.

/** A thing that a person may want to look at. */
interface CountedFinding {
  readonly name: string;
  readonly description: string;
  readonly count: number;
  readonly first: readonly string[];
}

function formatChecked(
  ties: readonly ClaimCheck[],
  countedFindings: readonly CountedFinding[],
): string {
  const holding = ties.filter(({broken}) => broken === 0).length;
  const all = holding === ties.length ? `all ${holding}` : `${holding} of ${ties.length}`;
  return [
    `Tie-outs: ${all} hold`,
    ...formatLines(ties.map(({name, broken, claim}) => [name, describeTie(broken), claim])),
    '',
    'Findings, which are about the business and no failure:',
    ...formatLines(
      countedFindings.map(({name, count, description, first}) => [
        name,
        describeCount(count, 'once', 'times'),
        first.length === 0 ? description : `${description} As in ${first.join('; ')}`,
      ]),
    ),
  ].join('\n');
}

function describeTie(broken: number): string {
  return broken === 0 ? 'holds' : `broken by ${describeCount(broken, '1 row', 'rows')}`;
}

function describeCount(count: number, singular: string, plural: string): string {
  if (count === 0) return 'none';
  return count === 1 ? singular : `${formatNumber(count)} ${plural}`;
}

type Line = readonly [name: string, state: string, text: string];

/** Names and states are aligned in columns, and further lines of a text below its first line. */
function formatLines(lines: readonly Line[]): string[] {
  const names = Math.max(...lines.map(([name]) => name.length));
  const states = Math.max(...lines.map(([, state]) => state.length));
  return lines.map(([name, state, text]) =>
    wrap(`  ${name.padEnd(names)}  ${state.padEnd(states)}  ${text}`, names + states + 4),
  );
}

interface ReportOptions {
  readonly account?: string;
  readonly html?: boolean;
  /** A file, in place of standard output. */
  readonly to?: string;
  /** Makes the report even if its data is too old; the report then begins with a warning. */
  readonly force?: boolean;
  readonly json: boolean;
}

/**
 * Makes the report of the last whole week. If it goes into a file, its figures are stored, so that
 * the next report shows which of them are restated.
 * @returns the exit code
 * @throws {UsageError} the data is too old for a report and `force` is not set; the file cannot be
 *   written
 * @throws {FatalError} the warehouse is not of this version
 */
export async function report(config: Config, options: ReportOptions): Promise<number> {
  if (options.to !== undefined) checkPath('report: --to', options.to);
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    await requireMigrated(pool, place);
    const {accountId} = await chooseAccount({pool}, options.account);
    const client = await pool.connect();
    try {
      const access = options.to === undefined ? 'READ ONLY' : 'READ WRITE';
      await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ ${access}; SET LOCAL jit = off`);
      const weeklyReport = await readReport(client, accountId);
      const warning = describeAge(weeklyReport);
      if (warning !== null && options.force !== true)
        throw new UsageError(
          `report: ${warning}; run fieldmirror sync jobs, or ask for it all the same with --force`,
        );
      await outputReport(options, weeklyReport, warning);
      // Only a file counts as delivered: figures shown on the screen are still news in the next
      // report.
      if (options.to !== undefined) await saveReported(client, accountId, weeklyReport);
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

async function outputReport(
  options: ReportOptions,
  weeklyReport: Report,
  warning: string | null,
): Promise<void> {
  const text = await formatAs(options, weeklyReport, warning);
  if (options.to === undefined) {
    print(options.json && options.html !== true, {
      json: {...weeklyReport, warning},
      text,
      isDocument: options.html === true,
    });
    return;
  }
  await writeText(options.to, text).catch((error: Error) => {
    throw new UsageError(`report: --to ${options.to}: ${error.message}`, {cause: error});
  });
  print(options.json, {json: {file: options.to}, text: options.to});
}

/** A file is HTML, unless its name ends in `.txt` or JSON is requested. */
async function formatAs(
  {html, to, json}: ReportOptions,
  weeklyReport: Report,
  warning: string | null,
): Promise<string> {
  if (html === true || (to !== undefined && !json && !to.endsWith('.txt'))) {
    const {renderPage} = await import('../star/report-page.ts');
    return renderPage(weeklyReport, warning);
  }
  return json
    ? `${JSON.stringify({...weeklyReport, warning}, null, 2)}\n`
    : formatReport(weeklyReport, warning, to === undefined ? widthOf(process.stdout) : null);
}

/** Reports that go into a folder are due on Mondays at 06:00 of each account. */
const folderReports = {
  lists: `(SELECT '' AS name, NULL::bigint AS account_id, 1 AS weekday, time '06:00' AS at)`,
  made: `(SELECT '' AS list, account_id, week FROM sync.weekly_reports)`,
};

/**
 * Writes the reports that are due, also those of missed weeks. A report waits until the jobs of its
 * account are proven complete within a day; `status` shows accounts without that proof.
 * @param folder - of the files: `acme-2026-11-16.html`
 * @throws the error of the first report that could not be made, after the others were made
 */
export async function writeDueReports({
  folder,
  accountIds,
  ...deps
}: MakingDeps & {
  readonly folder: string;
  readonly accountIds: readonly string[];
}): Promise<void> {
  const {makeDueReports} = await import('../delivery/report-mails.ts');
  const errors = await makeDueReports(deps, {...folderReports, accountIds}, async (due) => {
    const {account, week} = due;
    const file = await writeReport(deps.pool, due, folder);
    if (file !== null)
      deps.log.info({event: 'report.written', account, week, file}, 'the weekly report is there');
  });
  if (errors.length > 0) throw errors[0];
}

/** @returns null if another worker has made the report */
async function writeReport(
  pool: pg.Pool,
  {accountId, account, week}: DueReport,
  folder: string,
): Promise<string | null> {
  const file = join(folder, `${account.replaceAll(/[^\w.-]+/g, '_')}-${week}.html`);
  return await inTransaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET LOCAL jit = off');
    const {rowCount} = await client.query(
      `INSERT INTO sync.weekly_reports (account_id, week, file) VALUES ($1, $2, $3)
       ON CONFLICT DO NOTHING`,
      [accountId, week, file],
    );
    if (rowCount === 0) return null;
    const report = await readReport(client, accountId, {week});
    const {renderPage} = await import('../star/report-page.ts');
    await writeText(file, renderPage(report, null));
    await saveReported(client, accountId, report);
    return file;
  });
}
