// The metrics of the dbt package, and those of Open Semantic Interchange beside it, tell what `ask`
// tells: their files name tables and columns that there are, and their expressions, as SQL over the
// star, give the answers to the cent.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {parse} from 'yaml';
import {z} from 'zod';
import {buildDbtPackage} from '../../src/star/dbt.ts';
import {SetUp} from '../support/set-up.ts';
import {
  askFigures,
  type Figures,
  listDifferences,
  type MetricsPlace,
  openMetricsPlace,
  questionsWithMetrics,
  semantic,
  type ToldMetrics,
  toNumber,
} from './metrics-place.ts';

const setUp = new SetUp();
let place: MetricsPlace;
beforeAll(async () => {
  place = await openMetricsPlace(setUp);
});
afterAll(() => setUp.end());

const files = buildDbtPackage();
const read = (path: string) => parse(files.get(path) ?? '');
const columnsOf = async (table: string): Promise<readonly string[]> =>
  (
    await place.pool.query(
      `SELECT attname AS name FROM pg_attribute
        WHERE attrelid = to_regclass('mart.' || $1) AND attnum > 0 AND NOT attisdropped`,
      [table],
    )
  ).rows.map(({name}) => name);

test('every dbt source is a table of the star with all its columns', async () => {
  for (const {name, columns} of read('models/sources.yml').sources[0].tables)
    expect(
      columns.map((column: {name: string}) => column.name),
      name,
    ).toEqual(await columnsOf(name));
});

test('every expression of a semantic model can be selected from its table', async () => {
  expect(semantic.semantic_models.length).toBeGreaterThan(10);
  for (const {name, model, entities, dimensions, measures = []} of semantic.semantic_models) {
    expect(model).toBe(`ref('${name}')`);
    expect(files.get(`models/${name}.sql`)).toBe(
      `SELECT * FROM {{ source('fieldmirror', '${name}') }}\n`,
    );
    const parts = [...entities, ...dimensions, ...measures];
    expect(new Set(parts.map((part) => part.name)).size, name).toBe(parts.length);
    const list = parts.map((part) => part.expr ?? part.name).join(', ');
    await place.pool.query(`SELECT ${list} FROM mart.${name} LIMIT 0`);
  }
});

test('every metric uses existing measures, and every foreign key an existing entity', () => {
  const {semantic_models: all, metrics} = semantic;
  const measures = all.flatMap((model) => model.measures ?? []).map(({name}) => name);
  expect(new Set(measures).size).toBe(measures.length);
  for (const {name, type, type_params: given} of metrics) {
    const on = type === 'ratio' ? [given.numerator, given.denominator] : [given.measure];
    for (const measure of on) expect(measures, name).toContain(measure);
  }
  expect(metrics.length).toBeGreaterThan(45);
  const entities = all.flatMap((model) => model.entities);
  const own = entities.filter(({type}) => type !== 'foreign').map(({name}) => name);
  for (const {name, type} of entities) if (type === 'foreign') expect(own).toContain(name);
});

test('a dbt exposure lists the sources that its question reads', () => {
  const {exposures} = read('models/exposures.yml');
  const debtors = exposures.find(({name}: {name: string}) => name === 'ask_debtors');
  expect(debtors.depends_on).toEqual([
    `source('fieldmirror', 'dim_account')`,
    `source('fieldmirror', 'dim_customer')`,
    `source('fieldmirror', 'fct_job')`,
  ]);
});

/** What is reckoned of the rows of a fact, and the date that it counts on, as SQL. */
interface Reckoned {
  readonly table: string;
  readonly on: string;
  readonly aggregate: string;
}

/** A figure over the rows of the star, by the key of the question. */
async function reckon(
  {key, hasPeriod}: ToldMetrics,
  accountKey: string,
  {table, on, aggregate}: Reckoned,
): Promise<ReadonlyMap<string, number | null>> {
  const {pool, days} = place;
  const columns = await columnsOf(table);
  const expression = (column: string) => {
    if (column === 'date') return on;
    if (['week', 'month', 'quarter'].includes(column))
      return `date_trunc('${column}', ${on})::date`;
    if (columns.includes(column)) return column;
    if (column === 'place')
      return `(SELECT place FROM mart.dim_job_state AS state
                WHERE state.job_state = ${table}.job_state)`;
    return `(SELECT ${column} FROM mart.fct_job AS job WHERE job.job_key = ${table}.job_key)`;
  };
  const within = hasPeriod ? `AND ${on} BETWEEN '${days.from}' AND '${days.to}'` : '';
  const ids = key.map((column) => `(${expression(column)})::text`);
  const {rows} = await pool.query(
    `SELECT concat_ws(' ', ${[...ids, 'NULL'].join(', ')}) AS id, ${aggregate} AS value
       FROM mart.${table} WHERE account_key = ${accountKey} ${within} GROUP BY 1`,
  );
  return new Map(rows.map(({id, value}) => [id as string, toNumber(value)]));
}

/** The measures of dbt over the rows of the star, by the key of the question. */
async function measure(question: ToldMetrics, accountKey: string): Promise<Figures> {
  const found = new Map<string, Record<string, number | null>>();
  const sumOf = async (name: string) => {
    const model = semantic.semantic_models.find(({measures = []}) =>
      measures.some((each) => each.name === name),
    );
    const told = model?.measures?.find((each) => each.name === name);
    const date = model?.dimensions.find((each) => each.name === told?.agg_time_dimension);
    const aggregate =
      told?.agg === 'median'
        ? `percentile_cont(0.5) WITHIN GROUP (ORDER BY ${told.expr})`
        : `${told?.agg}(${told?.expr})`;
    const on = date?.expr ?? date?.name ?? '';
    return await reckon(question, accountKey, {table: model?.name ?? '', on, aggregate});
  };
  for (const {metric} of question.metrics) {
    const given = semantic.metrics.find(({name}) => name === metric)?.type_params ?? {};
    const of = await sumOf(given.measure ?? given.numerator ?? '');
    const by = given.denominator === undefined ? null : await sumOf(given.denominator);
    for (const [id, value] of of) {
      const part = by === null ? 1 : by.get(id);
      const told = part == null || part === 0 || value === null ? null : value / part;
      found.set(id, {...found.get(id), [metric]: told});
    }
  }
  return found;
}

/** The one expression of a field or a metric of Open Semantic Interchange. */
const expressed = z.strictObject({
  dialects: z.tuple([z.strictObject({dialect: z.literal('ANSI_SQL'), expression: z.string()})]),
});
/** What version 0.1.1 allows, as far as the file has it. */
const interchangeShape = z.strictObject({
  version: z.literal('0.1.1'),
  semantic_model: z.tuple([
    z.strictObject({
      name: z.string(),
      description: z.string(),
      ai_context: z.strictObject({instructions: z.string()}),
      datasets: z.array(
        z.strictObject({
          name: z.string(),
          source: z.string(),
          primary_key: z.array(z.string()).min(1),
          description: z.string(),
          fields: z.array(
            z.strictObject({
              name: z.string(),
              expression: expressed,
              dimension: z.strictObject({is_time: z.boolean()}),
              description: z.string().optional(),
            }),
          ),
        }),
      ),
      relationships: z.array(
        z.strictObject({
          name: z.string(),
          from: z.string(),
          to: z.string(),
          from_columns: z.tuple([z.string()]),
          to_columns: z.tuple([z.string()]),
        }),
      ),
      metrics: z.array(
        z.strictObject({
          name: z.string(),
          expression: expressed,
          description: z.string(),
          ai_context: z.strictObject({
            instructions: z.string(),
            synonyms: z.array(z.string()),
          }),
        }),
      ),
    }),
  ]),
});
const {
  datasets,
  relationships,
  metrics: interchanged,
} = interchangeShape.parse(read('osi.yaml')).semantic_model[0];
const sqlOf = ({expression}: {expression: z.infer<typeof expressed>}) =>
  expression.dialects[0].expression;

describe('the file of Open Semantic Interchange', () => {
  test('has unique names, and relates existing datasets by their keys', () => {
    for (const named of [datasets, relationships, interchanged])
      expect(new Set<string>(named.map(({name}) => name)).size).toBe(named.length);
    for (const {name, from, to, from_columns: held, to_columns: key} of relationships) {
      const fields = datasets.find((each) => each.name === from)?.fields ?? [];
      expect(
        fields.map((field) => field.name),
        name,
      ).toContain(held[0]);
      expect(datasets.find((each) => each.name === to)?.primary_key, name).toEqual(key);
    }
    expect(relationships.length).toBeGreaterThan(30);
  });

  test('has fields that can be selected from their tables', async () => {
    for (const {name, source, fields} of datasets) {
      expect(source).toBe(`mart.${name}`);
      await place.pool.query(`SELECT ${fields.map(sqlOf).join(', ')} FROM ${source} LIMIT 0`);
    }
  });

  test('has every dbt metric except three that it cannot express', () => {
    const names = interchanged.map(({name}) => name);
    const left = semantic.metrics.map(({name}) => name).filter((name) => !names.includes(name));
    expect(left).toEqual(['backlog_jobs', 'backlog_amount', 'revenue_an_hour']);
  });
});

/** The metrics of Open Semantic Interchange over the rows of the star. */
async function measureInterchanged(question: ToldMetrics, accountKey: string): Promise<Figures> {
  const found = new Map<string, Record<string, number | null>>();
  for (const {metric} of question.metrics) {
    const told = interchanged.find(({name}) => name === metric);
    const days = /^Its days are those of (\w+)\.(\w+)\./;
    const [, table = '', date] = days.exec(told?.ai_context.instructions ?? '') ?? [];
    const field = datasets.find(({name}) => name === table)?.fields.find(({name}) => name === date);
    if (told === undefined || field === undefined) throw new Error(`${metric} has no days`);
    const reckoned = {table, on: sqlOf(field), aggregate: sqlOf(told)};
    for (const [id, value] of await reckon(question, accountKey, reckoned))
      found.set(id, {...found.get(id), [metric]: value});
  }
  return found;
}

describe.each(questionsWithMetrics)('the answer to $word', (question) => {
  test('equals the metrics of both files for two businesses in two time zones', async () => {
    const differences: string[] = [];
    const names = interchanged.map(({name}) => name);
    const shared = question.metrics.filter(({metric}) => names.includes(metric));
    const other = {...question, metrics: shared};
    let rows = 0;
    for (const {accountId} of place.accounts) {
      const asked = await askFigures(place, question, accountId);
      rows += asked.size;
      differences.push(
        ...listDifferences(question, {asked, measured: await measure(question, accountId)}),
        ...listDifferences(other, {asked, measured: await measureInterchanged(other, accountId)}),
      );
    }
    expect(differences).toEqual([]);
    expect(rows).toBeGreaterThan(1);
  });
});
