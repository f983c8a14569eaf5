// From the address of a record's page to the record and its moment. The account need not be named
// where one alone has it.

import {RecordError} from '../core/errors.ts';
import {type FoundRecord, findRecord, tellAbsence} from '../explain/explain-record.ts';
import {momentOf} from '../explain/record-story.ts';
import {findNeighbours} from '../explain/search-records.ts';
import {readTime, timePattern} from '../http/local-time.ts';
import {allStreams} from '../streams/all.ts';
import type {Stream} from '../streams/stream.ts';
import type {Asked, Elsewhere} from './page.ts';
import {notThere, Refused, type Way} from './refused.ts';

type Address = Pick<Asked, 'params' | 'query'>;

/**
 * The record that an address names.
 * @throws {Refused} no such stream, no such record, or several accounts have one
 */
export async function findAsked(asked: Asked): Promise<FoundRecord> {
  const {db, accounts, params} = asked;
  const {stream, ...place} = readAddress(params);
  const tried = await Promise.all(
    accounts.map((account) => findRecord(db, stream, {account, ...place})),
  );
  const [found, ...others] = tried.filter((one) => one !== null);
  if (found === undefined) throw await explainAbsence(asked, stream);
  if (others.length === 0) return found;
  throw new Refused(300, {
    title: 'Several accounts have one',
    text: `${stream.name} ${params.number} is in each of these accounts.`,
    ways: [found, ...others].map(({account}) => ({
      href: `/records/${stream.name}/${params.number}?account=${encodeURIComponent(account.name)}`,
      label: account.name,
    })),
  });
}

/** @throws {Refused} */
export function readAddress({
  stream: name,
  number = '',
}: Address['params']): {readonly stream: Stream} & (
  | {readonly number: string}
  | {readonly rowId: string}
) {
  const stream = allStreams.find((candidate) => candidate.name === name);
  if (stream === undefined)
    throw notThere(
      `stream ${JSON.stringify(name ?? '')}`,
      allStreams.map((one) => ({
        href: `/records/${one.name}/${encodeURIComponent(number)}`,
        label: `${one.name} ${number}`,
      })),
    );
  const [, row, digits] = /^(row-)?([1-9]\d{0,17})$/.exec(number) ?? [];
  if (digits === undefined)
    throw notThere(`number ${JSON.stringify(number)}: expected digits, or row- and digits`);
  return {stream, ...(row === undefined ? {number: digits} : {rowId: digits})};
}

async function explainAbsence({db, accounts, params}: Asked, stream: Stream): Promise<Refused> {
  const {number = ''} = params;
  if (number.startsWith('row-')) return notThere(`row ${number.slice(4)} of ${stream.name}`);
  const told = await Promise.all(
    accounts.map((account) => tellAbsence(db, {stream, account, number})),
  );
  const accountIds = accounts.map(({accountId}) => accountId);
  const near = await findNeighbours(db, {accountIds, stream: stream.name, number});
  const ways = near.map((one): Way => {
    const account = accounts.find(({accountId}) => accountId === one.accountId)?.name ?? '';
    const choice = accounts.length > 1 ? `?account=${encodeURIComponent(account)}` : '';
    const label = `${stream.item} ${one.number}${accounts.length > 1 ? ` of ${account}` : ''}`;
    return {href: `/records/${stream.name}/${one.number}${choice}`, label};
  });
  const text = `There is ${told.join('. There is ')}.${ways.length === 0 ? '' : ' Nearest to it:'}`;
  return new Refused(404, {title: 'Not found', text, ways});
}

/**
 * The moment that an address asks for: that of a version, or by the clock of the record's account.
 * @returns ISO 8601 in UTC; null: now
 * @throws {Refused} it is none
 */
export function readMoment(
  {at, version}: Address['query'],
  {versions, account}: FoundRecord,
): string | null {
  if (version !== undefined && /^\d{1,9}$/.test(version))
    return momentOf(versions, Number(version));
  if (at === undefined) return null;
  try {
    if (!timePattern.test(at))
      throw new RecordError(`expected a day and a time, got ${JSON.stringify(at)}`);
    const instant = readTime(at, account.timeZone);
    return instant.endsWith('Z') ? instant : new Date(instant).toISOString();
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw new Refused(422, {title: 'This is no moment', text: `${error.message}.`}, {cause: error});
  }
}

/** The same by the terminal and in SQL. */
export function sayElsewhere({params, query, seen}: Omit<Asked, 'db' | 'doings'>): Elsewhere {
  const {stream, ...place} = readAddress(params);
  const table = `history.${stream.table.name}`;
  if ('rowId' in place)
    return {
      command: `fieldmirror changes list --table ${stream.table.name}`,
      sql: `SELECT valid_from, valid_to, written_by, * FROM ${table} WHERE row_id = ${place.rowId} ORDER BY valid_from;`,
    };
  const field = query.field === undefined ? '' : ` ${query.field.replaceAll(/[^\w-]/g, '')}`;
  const account =
    seen.length > 1 && query.account !== undefined ? ` --account ${query.account}` : '';
  return {
    command: `fieldmirror explain ${stream.name} ${place.number}${field}${account}`,
    sql: `SELECT valid_from, valid_to, written_by, * FROM ${table} WHERE ${stream.key} = ${place.number} ORDER BY valid_from;`,
  };
}
