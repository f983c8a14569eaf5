// The weekly report of an owner, as data: the page, the text and the JSON are drawn from it.

import type pg from 'pg';
import type {Chart} from './chart.ts';
import {findings} from './check-findings.ts';
import {knowsHours} from './question.ts';
import {compare, type Figure, readFigures, tellMoves} from './report-figures.ts';
import {readPictures} from './report-pictures.ts';
import {type Restated, readRestated} from './report-restated.ts';

export interface List {
  readonly title: string;
  readonly columns: readonly string[];
  /** Which of them are amounts, by their places. */
  readonly amounts: readonly number[];
  readonly rows: readonly (readonly (string | null)[])[];
}

export interface Report {
  readonly account: string;
  readonly currency: string | null;
  /** The Monday and the Sunday of the week. */
  readonly from: string;
  readonly to: string;
  /** When the last sweep of the jobs began that proved them complete. */
  readonly freshAsOf: string | null;
  /** How long ago that was, by the clock of the database. */
  readonly ageMs: number | null;
  readonly knownSince: string | null;
  readonly figures: readonly (Figure & ReturnType<typeof compare>)[];
  /** What is unlike the weeks before, in words. */
  readonly moves: readonly string[];
  readonly pictures: readonly Chart[];
  readonly lists: readonly List[];
  readonly restated: readonly Restated[];
  /** What the service does not tell, in words. */
  readonly unseen: readonly string[];
  readonly findings: readonly {
    readonly name: string;
    readonly words: string;
    readonly count: number;
  }[];
}

type Head = Pick<
  Report,
  'account' | 'currency' | 'from' | 'to' | 'freshAsOf' | 'ageMs' | 'knownSince'
> & {
  readonly hasHours: boolean;
};

const unseen: readonly string[] = [
  'Dates of part payments before the mirror began, payment methods, and refunds as such.',
  'What work cost: wages and purchase prices. So there is no margin.',
  'Travel, absence and holidays: hours are those on jobs.',
  'Why a job was cancelled, and what happened to it between two sweeps.',
];
const unseenWithoutHours =
  'How busy each technician was: the service does not know their working hours, and mart.settings has none.';

const listQueries: readonly (Omit<List, 'rows'> & {readonly text: string})[] = [
  {
    title: 'The ten largest debtors',
    columns: ['customer', 'owed', 'of it for more than 90 days'],
    amounts: [1, 2],
    text: 'SELECT name, owed::text, older::text FROM mart.ask_debtors AS debtor WHERE account_key = $1 ORDER BY debtor.owed DESC, customer_key LIMIT 10',
  },
  {
    title: 'Done and not invoiced',
    columns: ['jobs', 'amount', 'days since the oldest'],
    amounts: [1],
    text: 'SELECT jobs::text, amount::text, oldest_days::text FROM mart.ask_unbilled WHERE account_key = $1 AND jobs > 0',
  },
  {
    title: 'What should have been done: the ten oldest',
    columns: ['job', 'customer', 'what', 'days late'],
    amounts: [],
    text: 'SELECT job_number::text, customer, job, days_late::text FROM mart.ask_overdue AS late WHERE account_key = $1 ORDER BY late.days_late DESC, late.job_number LIMIT 10',
  },
];

/** @returns the report of the last whole week of an account, by what is known now */
export async function readReport(client: pg.ClientBase, accountKey: string): Promise<Report> {
  const {hasHours, ...head} = await readHead(client, accountKey);
  const figures = await readFigures(client, accountKey);
  return {
    ...head,
    figures: figures.map((figure) => ({...figure, ...compare(figure)})),
    moves: tellMoves(figures),
    pictures: await readPictures(client, accountKey, figures),
    lists: await readLists(client, accountKey),
    restated: await readRestated(client, accountKey, figures),
    unseen: hasHours ? unseen : [...unseen, unseenWithoutHours],
    findings: await countFindings(client, accountKey),
  };
}

async function readHead(client: pg.ClientBase, accountKey: string): Promise<Head> {
  const {rows} = await client.query<Head>(
    `SELECT name AS account, currency, (date_trunc('week', today)::date - 7)::text AS "from", (date_trunc('week', today)::date - 1)::text AS "to",
            jobs_fresh_as_of AS "freshAsOf", (extract(epoch FROM now() - jobs_fresh_as_of) * 1000)::float AS "ageMs", known_since AS "knownSince",
            ${knowsHours} AS "hasHours"
       FROM mart.dim_account AS account WHERE account_key = $1`,
    [accountKey],
  );
  const [head] = rows;
  if (head === undefined)
    throw new TypeError(`account ${accountKey}: expected a row of mart.dim_account, found none`);
  return head;
}

async function readLists(client: pg.ClientBase, accountKey: string): Promise<List[]> {
  const lists: List[] = [];
  for (const {text, ...list} of listQueries) {
    const {rows} = await client.query<(string | null)[]>({
      text,
      values: [accountKey],
      rowMode: 'array',
    });
    lists.push({...list, rows});
  }
  return lists;
}

async function countFindings(
  client: pg.ClientBase,
  accountKey: string,
): Promise<Report['findings']> {
  const counted: {name: string; words: string; count: number}[] = [];
  for (const {name, words, sql} of findings) {
    const {rows} = await client.query<{count: number}>(
      `SELECT count(*)::integer AS count FROM (${sql}) AS found WHERE found.account_key = $1`,
      [accountKey],
    );
    counted.push({name, words, count: rows[0]?.count ?? 0});
  }
  return counted.filter(({count}) => count > 0);
}
