// What the metrics of the dbt package are compared with: the answers of `ask` about two untidy
// businesses, over the same days.

import type pg from 'pg';
import {parse} from 'yaml';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {
  answerQuestion,
  beginReading,
  findQuestion,
  prepareQuestion,
} from '../../src/star/answer.ts';
import {buildDbtPackage} from '../../src/star/dbt.ts';
import {refreshStar} from '../../src/star/mart.ts';
import {measures, ratios} from '../../src/star/measures.ts';
import type {SetUp} from '../support/set-up.ts';
import {openUntidyWarehouse, untidyAccounts} from './untidy-warehouse.ts';

interface SemanticModel {
  readonly name: string;
  readonly model: string;
  readonly primary_entity?: string;
  readonly entities: readonly {name: string; type: string; expr: string}[];
  readonly dimensions: readonly {name: string; type: string; expr?: string}[];
  readonly measures?: readonly {
    readonly name: string;
    readonly agg: string;
    readonly expr: string;
    readonly agg_time_dimension: string;
  }[];
}

/** The file of the metrics, as dbt reads it. */
export const semantic: {
  readonly semantic_models: readonly SemanticModel[];
  readonly metrics: readonly {
    readonly name: string;
    readonly type: string;
    readonly type_params: Readonly<Record<string, string>>;
  }[];
} = parse(buildDbtPackage().get('models/metrics.yml') ?? '');

/** A question that tells metrics: the metric of each column, and the key of its rows. */
export interface ToldMetrics {
  readonly word: string;
  readonly metrics: readonly {readonly metric: string; readonly column: string}[];
  readonly key: readonly string[];
  readonly hasPeriod: boolean;
}

const told = Object.entries({...measures, ...ratios}).flatMap(([metric, {answer}]) => {
  const [word = '', column = ''] = answer?.split('.') ?? [];
  return answer === undefined ? [] : [{metric, word, column}];
});

/** Every question that tells a metric. */
export const questionsWithMetrics: readonly ToldMetrics[] = [
  ...new Set(told.map(({word}) => word)),
].map((word) => {
  const {key = [], period} = findQuestion(word);
  return {
    word,
    metrics: told.filter((each) => each.word === word),
    key: key.filter((column) => column !== 'account_key'),
    hasPeriod: period !== undefined,
  };
});

/** The days that are asked about; answers of a moment have none. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

export interface MetricsPlace {
  readonly pool: pg.Pool;
  readonly url: string;
  readonly accounts: ReturnType<typeof untidyAccounts>;
  readonly days: Days;
}

/** Two untidy businesses in which also money is collected, jobs are on hold and tasks are open. */
export async function openMetricsPlace(setUp: SetUp): Promise<MetricsPlace> {
  const accounts = untidyAccounts();
  const {pool, url} = await openUntidyWarehouse(setUp, accounts);
  await inSweepTransaction(pool, async (client) => {
    await client.query(
      `UPDATE warehouse.jobs SET balance_remaining = 0, invoice_paid_on = invoice_date + '9 days'
        WHERE invoice_date IS NOT NULL AND job_number % 3 = 0`,
    );
    await client.query(
      `UPDATE warehouse.jobs SET balance_remaining = total / 2
        WHERE invoice_date IS NOT NULL AND job_number % 5 = 0`,
    );
    await client.query('UPDATE warehouse.jobs SET on_hold = now() WHERE job_number % 4 = 0');
    await client.query(
      `INSERT INTO warehouse.tasks (account_id, id, name, completed, employee_id)
       SELECT account_id, number, 'x', number % 3 = 0, 700 + number % 6 + 1
         FROM sync.accounts, generate_series(1, 40) AS number`,
    );
  });
  await pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at)
     SELECT account_id, stream, 'full', 'schedule', 'certified', now(), now()
       FROM sync.accounts, unnest(ARRAY['jobs', 'customers', 'employees']) AS stream`,
  );
  await refreshStar(pool);
  const {rows} = await pool.query<Days>(
    `SELECT (current_date - 400)::text AS from, (current_date + 13)::text AS to`,
  );
  const [days = {from: '', to: ''}] = rows;
  return {pool, url, accounts, days};
}

/** A row by its key, as text, and its values. */
export type Figures = ReadonlyMap<string, Readonly<Record<string, number | null>>>;

/** Numbers as numbers, and what has none as null. */
export function toNumber(value: unknown): number | null {
  return value === null || value === undefined || value === '' ? null : Number(value);
}

/** What `ask` answers, row by row, by metric. */
export async function askFigures(
  {pool, days}: MetricsPlace,
  {word, key, metrics, hasPeriod}: ToldMetrics,
  accountKey: string,
): Promise<Figures> {
  const client = await pool.connect();
  try {
    await beginReading(client);
    const asked = await prepareQuestion(client, findQuestion(word), {
      accountKey,
      asOf: undefined,
      ...(hasPeriod ? days : {}),
    });
    const {answer} = await answerQuestion(client, asked, 100_000);
    return new Map(
      answer.json.rows.map((row, at) => {
        const held = {...row, ...answer.keys[at]};
        const id = key.map((column) => String(held[column])).join(' ');
        return [
          id,
          Object.fromEntries(metrics.map(({metric, column}) => [metric, toNumber(row[column])])),
        ];
      }),
    );
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

/**
 * The metrics that differ from the answer by a cent or more, or by what the answer rounds away of a
 * percentage or of hours.
 */
export function listDifferences(
  {metrics, key}: ToldMetrics,
  {asked, measured}: {readonly asked: Figures; readonly measured: Figures},
): string[] {
  const differs = (id: string) =>
    metrics.flatMap(({metric, column}) => {
      const isPercent = column.startsWith('percent');
      const want = asked.get(id)?.[metric] ?? 0;
      const got = (measured.get(id)?.[metric] ?? 0) * (isPercent ? 100 : 1);
      const most = isPercent ? 0.0500001 : 0.0050001;
      return Math.abs(want - got) <= most
        ? []
        : [`${metric} ${id}: ${want} asked, ${got} measured`];
    });
  // An answer about technicians leaves out what nobody did.
  const ofNobody = (id: string) => key[0] === 'employee_key' && id.startsWith('-1 ');
  const ids = new Set([...asked.keys(), ...[...measured.keys()].filter((id) => !ofNobody(id))]);
  return [...ids].flatMap(differs);
}
