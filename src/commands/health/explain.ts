import type {Config} from '../../base/config.ts';
import {FatalError, UsageError} from '../../base/errors.ts';
import {nearest} from '../../base/spelling/nearest.ts';
import {findStream} from '../../streams/all.ts';
import type {Stream} from '../../streams/stream.ts';
import {drawField, findSaid, tellField} from '../../views/explain/explain-field.ts';
import {drawRow, drawWish, tellRow} from '../../views/explain/explain-row.ts';
import {type Account, listAccounts} from '../../warehouse/accounts/accounts.ts';
import {listOpenWishes} from '../../warehouse/changes/reads/change-log.ts';
import {
  listFieldNames,
  type RecordPlace,
  readAbsence,
  readDeletions,
  readLastProof,
} from '../../warehouse/history/proofs.ts';
import {fieldColumns, readVersions, type Version} from '../../warehouse/history/versions.ts';
import type {Queryable} from '../../warehouse/postgres/database.ts';
import {checkMigrations} from '../../warehouse/schema/migration-check.ts';
import {listSchedules} from '../../warehouse/sweeps/schedules.ts';
import {print} from '../terminal/report.ts';
import {withWarehouse} from '../warehouse.ts';

/** The question, as it was typed. */
export interface Question {
  readonly stream: string;
  readonly number: string;
  /** Without a field the whole row is explained. */
  readonly field?: string;
}

interface Found {
  readonly stream: Stream;
  readonly place: RecordPlace;
  readonly versions: readonly [Version, ...Version[]];
}

/**
 * Says where a value came from, or what happened to a row, from the rows alone.
 * @returns the exit code
 * @throws {UsageError} no such stream, account, row or field
 */
export async function explain(
  config: Config,
  question: Question,
  options: {readonly account?: string; readonly json: boolean},
): Promise<number> {
  const stream = checkQuestion(question);
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`);
    const account = chooseAccount(await listAccounts(pool), options.account ?? null, config);
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
  }: {readonly question: Question; readonly stream: Stream; readonly account: Account},
): Promise<{readonly json: unknown; readonly text: string}> {
  const place = {accountId: account.accountId, stream: stream.name, number: question.number};
  const found = {stream, place, versions: await findVersions(pool, stream, {place, account})};
  const head = {account: account.name, stream: stream.name, number: question.number};
  if (question.field !== undefined) {
    const story = await readFieldStory(pool, found, question.field);
    return {json: {...head, ...story}, text: `${title(head)}, ${story.field}\n${drawField(story)}`};
  }
  const events = tellRow(found.versions, await readDeletions(pool, place));
  const wishes = await listOpenWishes(pool, {table: stream.table.name, rowId: found.versions[0].rowId});
  const drawn = [title(head), drawRow(events), ...wishes.map(drawWish)];
  return {json: {...head, events, wanted: wishes}, text: drawn.join('\n')};
}

/**
 * Explains to an assistant, which has one account.
 * @throws {UsageError} no such stream, row or field
 */
export async function explainTo(pool: Queryable, account: Account, question: Question): Promise<string> {
  return (await readStory(pool, {question, stream: checkQuestion(question), account})).text;
}

function title({account, stream, number}: {account: string; stream: string; number: string}): string {
  return `${stream} ${number} of account ${account}`;
}

function checkQuestion({stream, number}: Question): Stream {
  const found = findStream(stream);
  if (!/^[1-9]\d{0,17}$/.test(number))
    throw new UsageError(`explain: expected the number of one of the ${stream}, got "${number}"`);
  return found;
}

/** The account that is named, else the one of the settings, else the only one. */
function chooseAccount(accounts: readonly Account[], name: string | null, config: Config): Account {
  const names = accounts.map((account) => account.name);
  if (names.length === 0) throw new UsageError('explain: no account yet; fieldmirror start begins with one');
  if (name !== null) {
    const named = accounts.find((account) => account.name === name);
    if (named !== undefined) return named;
    throw new UsageError(
      `explain: no account "${name}"${nearest(name, names)}; there are ${names.join(', ')}`,
    );
  }
  const chosen = accounts.find((account) => account.apiUrl === config.account?.apiUrl) ?? accounts[0];
  if (chosen !== undefined && (accounts.length === 1 || chosen.apiUrl === config.account?.apiUrl))
    return chosen;
  throw new UsageError(
    `explain: there are ${names.length} accounts, so one must be named: --account ${names[0]}`,
  );
}

async function findVersions(
  db: Queryable,
  stream: Stream,
  {place, account}: {readonly place: RecordPlace; readonly account: Account},
): Promise<[Version, ...Version[]]> {
  const [newest, ...older] = await readVersions(db, stream.table, place);
  if (newest !== undefined) return [newest, ...older];
  const absence = await readAbsence(db, place);
  const said =
    absence === null
      ? ''
      : `; asked for it at ${absence.askedAt}, the service said ${absence.status}: ${absence.words}`;
  throw new UsageError(
    `explain: no row ${stream.name} ${place.number} in account ${account.name}${said}; to ask the service for it: fieldmirror sync ${stream.name} --record ${place.number}`,
  );
}

async function readFieldStory(db: Queryable, found: Found, typed: string) {
  const {place, versions, stream} = found;
  const field = await findField(db, found, typed);
  const schedules = await listSchedules(db, {accountId: place.accountId});
  const said = findSaid(versions, field);
  return tellField(versions, field, {
    said,
    proof: said === null ? null : await readLastProof(db, place, said.validFrom),
    wishes: await listOpenWishes(db, {table: stream.table.name, rowId: versions[0].rowId}),
    schedules: schedules.filter((schedule) => schedule.stream === stream.name),
  });
}

/** The field of that name; the service writes hyphens where we write underscores. */
async function findField(db: Queryable, {place, versions, stream}: Found, typed: string): Promise<string> {
  const {accountId} = place;
  const {table} = stream;
  const name = typed.toLowerCase().replaceAll('-', '_');
  const seen = await listFieldNames(db, {accountId, tableName: table.name});
  const borne = versions.flatMap((version) => [...version.fields.keys()]);
  const known = [...new Set([...fieldColumns(table), ...borne, ...seen])];
  const field =
    known.find((candidate) => candidate === typed) ?? known.find((candidate) => candidate === name);
  if (field !== undefined) return field;
  throw new UsageError(
    `explain: ${stream.name} have no field "${typed}"${nearest(name, known)}; sync.fields lists those that were ever seen`,
  );
}
