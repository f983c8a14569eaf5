// The verb `explain`: the origin of a field's value, and the history of a row.

import {type Account, listAccounts} from '../accounts/accounts.ts';
import {listOpenChanges} from '../changes/change.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {isId} from '../core/text.ts';
import {
  describeAbsence,
  findRecord,
  formatField,
  formatOpenChange,
  formatRow,
  readFieldStory,
  readRowEvents,
} from '../explain/explain-record.ts';
import {readDeletions} from '../explain/record-versions.ts';
import type {Queryable} from '../postgres/database.ts';
import {findStream} from '../streams/all.ts';
import type {Stream} from '../streams/stream.ts';
import {chooseAmong, isFromEnvironment} from './accounts.ts';
import {print} from './terminal.ts';
import {requireMigrated, withWarehouse} from './warehouse.ts';

/** The question, as it was typed. */
export interface ExplainQuestion {
  readonly stream: string;
  readonly number: string;
  /** Without a field the whole row is explained. */
  readonly field?: string;
}

/**
 * Prints the origin of a value, or the history of a row, from the rows alone.
 * @returns the exit code
 * @throws {UsageError} no such stream, account, row or field
 */
export async function explain(
  config: Config,
  question: ExplainQuestion,
  options: {readonly account?: string; readonly json: boolean},
): Promise<number> {
  const stream = checkQuestion(question);
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    await requireMigrated(pool, place);
    const accounts = await listAccounts(pool);
    const environmentAccount = accounts.find((account) => isFromEnvironment(config, account));
    const account = chooseAmong(accounts, options.account ?? environmentAccount?.name);
    print(options.json, await readStory(pool, {question, stream, account}));
    return 0;
  });
}

/**
 * The story of a value or of a row.
 * @throws {UsageError} no such row or field
 */
async function readStory(
  pool: Queryable,
  {
    question,
    stream,
    account,
  }: {readonly question: ExplainQuestion; readonly stream: Stream; readonly account: Account},
): Promise<{readonly json: unknown; readonly text: string}> {
  const {number} = question;
  const record = await findRecord(pool, stream, {account, number});
  if (record === null)
    throw new UsageError(`explain: ${await describeAbsence(pool, {stream, account, number})}`);
  const place = {accountId: account.accountId, stream: stream.name, number};
  const subject = {account: account.name, stream: stream.name, number: question.number};
  if (question.field !== undefined) {
    const story = await readFieldStory(pool, record, question.field);
    return {
      json: {...subject, ...story},
      text: `${formatTitle(subject)}, ${story.field}\n${formatField(story)}`,
    };
  }
  const events = readRowEvents(record.versions, await readDeletions(pool, place));
  const openChanges = await listOpenChanges(pool, {
    table: stream.table.name,
    rowId: record.versions[0].rowId,
  });
  const lines = [formatTitle(subject), formatRow(events), ...openChanges.map(formatOpenChange)];
  return {json: {...subject, events, wanted: openChanges}, text: lines.join('\n')};
}

/**
 * Returns the same text for an assistant, which has one account.
 * @throws {UsageError} no such stream, row or field
 */
export async function explainAsText(
  pool: Queryable,
  account: Account,
  question: ExplainQuestion,
): Promise<string> {
  return (await readStory(pool, {question, stream: checkQuestion(question), account})).text;
}

function formatTitle({
  account,
  stream,
  number,
}: {
  account: string;
  stream: string;
  number: string;
}): string {
  return `${stream} ${number} of account ${account}`;
}

function checkQuestion({stream, number}: ExplainQuestion): Stream {
  const knownStream = findStream(stream);
  if (!isId(number))
    throw new UsageError(`explain: expected the number of one of the ${stream}, got "${number}"`);
  return knownStream;
}
