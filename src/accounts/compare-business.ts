// Whether the business at an address is the one that the warehouse holds: by what its records keep
// for as long as they live.

import type {Client} from '../api/client.ts';
import {parseTime} from '../api/times.ts';
import {isGone} from '../api/verdict.ts';
import type {FieldRecord} from '../api/xml-record.ts';
import type {Queryable} from '../postgres/database.ts';
import type {Account} from './accounts.ts';
import {type Identity, type NumberedStream, sampleIdentities} from './move-account.ts';

const streams = ['customers', 'jobs', 'employees'] as const satisfies readonly NumberedStream[];
/** Three dozen requests: two businesses that agree in so many moments to the second are one. */
const perStream = 12;
/** A record may have been deleted there since the last sweep: up to one in so many. */
const oneGoneIn = 10;

/** Rows of a stream, compared with the records of their numbers. */
export interface ComparedStream {
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
    const findings = await Promise.all(
      rows.map((row) => compareOne(api, stream, row, account.timeZone)),
    );
    compared.push({
      stream,
      equal: findings.filter(({verdict}) => verdict === 'equal').length,
      gone: findings.flatMap(({verdict, number}) => (verdict === 'gone' ? [number] : [])),
      differing: findings.flatMap(({verdict, words}) => (verdict === 'differs' ? [words] : [])),
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

interface Finding {
  readonly number: string;
  readonly verdict: 'equal' | 'gone' | 'differs';
  readonly words: string;
}

async function compareOne(
  api: Client,
  stream: NumberedStream,
  {number, id, createdAt}: Identity,
  timeZone: string,
): Promise<Finding> {
  const record = await api[stream].show(number);
  if (isGone(record)) return {number, verdict: 'gone', words: ''};
  const there = {id: textOf(record, 'id'), createdAt: textOf(record, 'created_at')};
  const isSame = there.id === id && isSameMoment(createdAt, there.createdAt, timeZone);
  const words = `${stream} ${number}: expected id ${id}, created ${createdAt}, got id ${there.id}, created ${there.createdAt}`;
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
