// Another address for an account, and whether the business at that address is the one that the
// warehouse holds: judged by what records keep for as long as they live.

import type {Client} from '../api/client.ts';
import {parseTime} from '../api/times.ts';
import {isGone} from '../api/verdict.ts';
import type {FieldRecord} from '../api/xml-document.ts';
import type {Queryable} from '../postgres/database.ts';
import type {Account} from './accounts.ts';

/**
 * The streams whose records have a number of their own and the moment in which they were created.
 */
type NumberedStream = 'customers' | 'jobs' | 'employees';

/** What a record keeps for as long as it lives. */
interface Identity {
  readonly number: string;
  readonly id: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** Live rows of a stream, spread over all of its numbers: the same ones each time. */
async function sampleIdentities(
  db: Queryable,
  accountId: string,
  {stream, most}: {readonly stream: NumberedStream; readonly most: number},
): Promise<readonly Identity[]> {
  const number = `${stream.slice(0, -1)}_number`;
  const {rows} = await db.query<Identity>(
    `SELECT ${number}::text AS number, id::text AS id, created_at AS "createdAt"
       FROM warehouse.${stream}
      WHERE account_id = $1 AND _deleted_at IS NULL AND num_nulls(${number}, id, created_at) = 0
      ORDER BY md5(${number}::text) LIMIT $2`,
    [accountId, most],
  );
  return rows;
}

/** How many changes of an account are not over. */
export async function countOpenChanges(db: Queryable, accountId: string): Promise<number> {
  const {rows} = await db.query<{count: number}>(
    'SELECT count(*)::integer AS count FROM sync.changes WHERE account_id = $1 AND is_open',
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

/**
 * Gives an account another address; workers ask there from their next request on.
 * @returns false where it has another address by now than the one that was read: then nothing is
 *   written
 */
export async function moveAccount(
  db: Queryable,
  {accountId, apiUrl}: Pick<Account, 'accountId' | 'apiUrl'>,
  next: string,
): Promise<boolean> {
  const {rowCount} = await db.query(
    'UPDATE sync.accounts SET api_url = $3 WHERE account_id = $1 AND api_url = $2',
    [accountId, apiUrl, next],
  );
  return rowCount === 1;
}

const streams = ['customers', 'jobs', 'employees'] as const satisfies readonly NumberedStream[];
/** Three dozen requests: two businesses that agree in so many moments to the second are one. */
const perStream = 12;
/** A record may have been deleted there since the last sweep: up to one in so many. */
const oneGoneIn = 10;

/** Rows of a stream, compared with the records of their numbers. */
interface ComparedStream {
  readonly stream: NumberedStream;
  readonly equal: number;
  /** Numbers of which there is no record. */
  readonly gone: readonly string[];
  /** Sentences about the records that differ. */
  readonly differing: readonly string[];
}

export interface ComparedBusiness {
  readonly streams: readonly ComparedStream[];
  readonly isSame: boolean;
}

/**
 * Compares number, id and moment of creation of a sample of live rows. It reads, and writes nothing
 * on either side.
 */
export async function compareBusiness(
  db: Queryable,
  api: Client,
  account: Pick<Account, 'accountId' | 'timeZone'>,
): Promise<ComparedBusiness> {
  const compared: ComparedStream[] = [];
  for (const stream of streams) {
    const rows = await sampleIdentities(db, account.accountId, {stream, most: perStream});
    const comparisons = await Promise.all(
      rows.map((row) => compareOne(api, stream, row, account.timeZone)),
    );
    compared.push({
      stream,
      equal: comparisons.filter(({verdict}) => verdict === 'equal').length,
      gone: comparisons.flatMap(({verdict, number}) => (verdict === 'gone' ? [number] : [])),
      differing: comparisons.flatMap(({verdict, words}) => (verdict === 'differs' ? [words] : [])),
    });
  }
  const sum = (count: (each: ComparedStream) => number) =>
    compared.reduce((total, each) => total + count(each), 0);
  const [equal, gone, differing] = [
    sum((each) => each.equal),
    sum((each) => each.gone.length),
    sum((each) => each.differing.length),
  ];
  return {
    streams: compared,
    isSame: equal > 0 && differing === 0 && gone * oneGoneIn <= equal + gone,
  };
}

interface Comparison {
  readonly number: string;
  readonly verdict: 'equal' | 'gone' | 'differs';
  readonly words: string;
}

async function compareOne(
  api: Client,
  stream: NumberedStream,
  {number, id, createdAt}: Identity,
  timeZone: string,
): Promise<Comparison> {
  const record = await api[stream].show(number);
  if (isGone(record)) return {number, verdict: 'gone', words: ''};
  const there = {id: textOf(record, 'id'), createdAt: textOf(record, 'created_at')};
  const isSame = there.id === id && isSameMoment(createdAt, there.createdAt, timeZone);
  const words =
    `${stream} ${number}: expected id ${id}, created ${createdAt}, ` +
    `got id ${there.id}, created ${there.createdAt}`;
  return {number, verdict: isSame ? 'equal' : 'differs', words};
}

function isSameMoment(held: string, sent: string, timeZone: string): boolean {
  const parsed = sent === '' ? null : parseTime(sent, timeZone);
  return parsed !== null && Date.parse(parsed.instant) === Date.parse(held);
}

function textOf({names, values}: FieldRecord, name: string): string {
  const value = values[names.indexOf(name)];
  return typeof value === 'string' ? value : '';
}
