// Finds what is to be explained, for the terminal, an assistant and the console alike.

import type {Account} from '../accounts/accounts.ts';
import {listOpenWishes} from '../changes/change-log.ts';
import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';
import type {Stream} from '../streams/stream.ts';
import {listSchedules} from '../sweeps/schedules.ts';
import {type FieldStory, findSaid, tellField} from './explain-field.ts';
import {listFieldNames, readAbsence, readLastProof} from './record-proofs.ts';
import {fieldColumns, readVersions, type Version} from './record-versions.ts';

/** A record that is or was here. */
export interface FoundRecord {
  readonly stream: Stream;
  readonly account: Account;
  /** Null for a row that the service has given no number yet. */
  readonly number: string | null;
  /** The newest first. */
  readonly versions: readonly [Version, ...Version[]];
}

/** The record of a number, or the row of a number of ours; null where there never was one. */
export async function findRecord(
  db: Queryable,
  stream: Stream,
  {
    account,
    ...record
  }: {readonly account: Account} & ({readonly number: string} | {readonly rowId: string}),
): Promise<FoundRecord | null> {
  const place = {accountId: account.accountId, ...record};
  const [newest, ...older] = await readVersions(db, stream.table, place);
  if (newest === undefined) return null;
  const number = newest.fields.get(stream.key);
  return {
    stream,
    account,
    number: typeof number === 'string' ? number : null,
    versions: [newest, ...older],
  };
}

/** The words for a record that is not here: what the service said of it, and how to ask. */
export async function tellAbsence(
  db: Queryable,
  {
    stream,
    account,
    number,
  }: {readonly stream: Stream; readonly account: Account; readonly number: string},
): Promise<string> {
  const place = {accountId: account.accountId, stream: stream.name, number};
  const absence = await readAbsence(db, place);
  const said =
    absence === null
      ? ''
      : `; asked for it at ${absence.askedAt}, the service said ${absence.status}: ${absence.words}`;
  return `no row ${stream.name} ${number} in account ${account.name}${said}; to ask the service for it: fieldmirror sync ${stream.name} --record ${number}`;
}

/**
 * The whole story of one field of a record.
 * @param typed - its name, with hyphens or underscores
 * @throws {UsageError} no such field was ever seen
 */
export async function readFieldStory(
  db: Queryable,
  found: FoundRecord,
  typed: string,
): Promise<FieldStory> {
  const {versions, stream, account, number} = found;
  const {accountId} = account;
  const field = await findField(db, found, typed);
  const schedules = await listSchedules(db, {accountId});
  const said = findSaid(versions, field);
  const place = number === null ? null : {accountId, stream: stream.name, number};
  return tellField(versions, field, {
    said,
    proof: said === null || place === null ? null : await readLastProof(db, place, said.validFrom),
    wishes: await listOpenWishes(db, {table: stream.table.name, rowId: versions[0].rowId}),
    schedules: schedules.filter((schedule) => schedule.stream === stream.name),
  });
}

/** The field of that name; the service writes hyphens where we write underscores. */
async function findField(
  db: Queryable,
  {account: {accountId}, versions, stream}: FoundRecord,
  typed: string,
): Promise<string> {
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
