import {Writable} from 'node:stream';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {formatAgo, formatNumber, showSecond} from '../core/format.ts';
import {tell} from '../core/text.ts';
import {checkMigrations} from '../schema/migration-check.ts';
import {
  type Answered,
  answerQuestion,
  beginReading,
  findQuestion,
  prepareQuestion,
  sqlOf,
  tellAnswered,
  wordOf,
} from '../star/answer.ts';
import {writeCsv} from '../star/answer-csv.ts';
import {questions} from '../star/star.ts';
import {chooseAccount} from './choose-account.ts';
import {drawAnswer} from './draw-answer.ts';
import {checkPath, writeFile} from './export-files.ts';
import {drawTable, print} from './report.ts';
import {withWarehouse} from './with-warehouse.ts';

export interface AskOptions {
  readonly account?: string;
  /** A day or an instant, as it was typed. */
  readonly asOf?: string;
  readonly limit: number;
  readonly csv?: boolean;
  /** CSV for a spreadsheet. */
  readonly excel?: boolean;
  /** The file that gets all rows. */
  readonly parquet?: string;
  readonly sql?: boolean;
  readonly json: boolean;
}

/** Lists the questions that have an answer. */
export function listQuestions(options: {readonly json: boolean}): number {
  const listed = questions.map((question) => ({
    name: wordOf(question),
    question: question.question,
    definition: question.definition,
    view: `mart.${question.name}`,
  }));
  const text = drawTable(
    ['name', 'question'],
    listed.map(({name, question}) => [name, question]),
  );
  print(options.json, {
    json: listed,
    text: `${text}\nfieldmirror ask NAME [--as-of 2026-10-31] [--csv | --json | --parquet FILE | --sql]`,
  });
  return 0;
}

/**
 * Answers a question by its name: with its definition, how fresh it is, and whether what it rests
 * on ties out.
 * @returns the exit code: 1 where a claim that the answer rests on does not hold
 * @throws {UsageError} no such question, or a moment that the mirror does not know
 * @throws {FatalError} the warehouse is not of this version
 */
export async function ask(config: Config, name: string, options: AskOptions): Promise<number> {
  const question = findQuestion(name);
  if (options.parquet !== undefined) checkPath('ask: --parquet', options.parquet);
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
    const account = await chooseAccount({pool}, options.account);
    const client = await pool.connect();
    try {
      await beginReading(client);
      const asked = await prepareQuestion(client, question, {
        accountKey: account.accountId,
        asOf: options.asOf,
      });
      if (options.sql === true) print(false, {json: null, text: `${sqlOf(asked)};`});
      else if (options.parquet !== undefined) {
        const rows = await writeFile(client, sqlOf(asked), {
          file: options.parquet,
          format: 'parquet',
        });
        const {parquet: file} = options;
        print(options.json, {
          json: {file, rows},
          text: `${file}: ${formatNumber(rows)} ${rows === 1 ? 'row' : 'rows'}`,
        });
      } else if (options.csv === true || options.excel === true)
        await writeCsv(client, sqlOf(asked), {
          out: toTerminal(),
          isForSpreadsheet: options.excel === true,
        });
      else {
        const answered = await answerQuestion(client, asked, options.limit);
        print(options.json, {json: tellAnswered(answered, account.name), text: draw(answered)});
        return answered.broken.length > 0 ? 1 : 0;
      }
      return 0;
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
}

/** Standard output; to a terminal without what a terminal must not get. */
function toTerminal(): Writable {
  if (!process.stdout.isTTY) return process.stdout;
  return new Writable({
    decodeStrings: false,
    write: (part, _encoding, done) => {
      tell(String(part));
      done();
    },
  });
}

function draw({asked: {question, moment}, answer, broken, fresh}: Answered): string {
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
    drawAnswer(answer),
    question.definition,
    question.caveats,
    age,
    behind,
    ties,
  ]
    .filter((line, at) => at === 1 || line !== '')
    .join('\n');
}
