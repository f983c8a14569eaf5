// The metrics of the dbt package tell what `ask` tells: their file names tables and columns that
// there are, and its expressions, as SQL over the star, give the answers to the cent.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {parse} from 'yaml';
import {drawDbtPackage} from '../../src/star/dbt.ts';
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

const files = drawDbtPackage();
const read = (path: string) => parse(files.get(path) ?? '');
const columnsOf = async (table: string): Promise<readonly string[]> =>
  (
    await place.pool.query(
      `SELECT attname AS name FROM pg_attribute
        WHERE attrelid = to_regclass('mart.' || $1) AND attnum > 0 AND NOT attisdropped`,
      [table],
    )
  ).rows.map(({name}) => name);

test('every source is a table of the star, with all of its columns', async () => {
  for (const {name, columns} of read('models/sources.yml').sources[0].tables)
    expect(
      columns.map((column: {name: string}) => column.name),
      name,
    ).toEqual(await columnsOf(name));
});

test('every expression of a semantic model can be read of its table', async () => {
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

test('every metric stands on measures that there are, and each foreign key on an entity', () => {
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

test('the documents of dbt name the sources that a question reads', () => {
  const {exposures} = read('models/exposures.yml');
  const debtors = exposures.find(({name}: {name: string}) => name === 'ask_debtors');
  expect(debtors.depends_on).toEqual([
    `source('fieldmirror', 'dim_account')`,
    `source('fieldmirror', 'dim_customer')`,
    `source('fieldmirror', 'fct_job')`,
  ]);
});

/** The measures of the file over the rows of the star, by the key of the question. */
async function measure(
  {metrics, key, hasPeriod}: ToldMetrics,
  accountKey: string,
): Promise<Figures> {
  const {pool, days} = place;
  const found = new Map<string, Record<string, number | null>>();
  const sumOf = async (name: string) => {
    const model = semantic.semantic_models.find(({measures = []}) =>
      measures.some((each) => each.name === name),
    );
    const told = model?.measures?.find((each) => each.name === name);
    const date = model?.dimensions.find((each) => each.name === told?.agg_time_dimension);
    const table = model?.name ?? '';
    const on = date?.expr ?? date?.name ?? '';
    const columns = await columnsOf(table);
    const expression = (column: string) => {
      if (column === 'date') return on;
      if (['week', 'month', 'quarter'].includes(column))
        return `date_trunc('${column}', ${on})::date`;
      if (columns.includes(column)) return column;
      if (column === 'place')
        return `(SELECT place FROM mart.dim_job_state AS state
                  WHERE state.job_state = fact.job_state)`;
      return `(SELECT ${column} FROM mart.fct_job AS job WHERE job.job_key = fact.job_key)`;
    };
    const aggregate =
      told?.agg === 'median'
        ? `percentile_cont(0.5) WITHIN GROUP (ORDER BY ${told.expr})`
        : `${told?.agg}(${told?.expr})`;
    const within = hasPeriod ? `AND ${on} BETWEEN '${days.from}' AND '${days.to}'` : '';
    const ids = key.map((column) => `(${expression(column)})::text`);
    const {rows} = await pool.query(
      `SELECT concat_ws(' ', ${[...ids, 'NULL'].join(', ')}) AS id, ${aggregate} AS value
         FROM mart.${table} AS fact WHERE account_key = ${accountKey} ${within} GROUP BY 1`,
    );
    return new Map(rows.map(({id, value}) => [id as string, toNumber(value)]));
  };
  for (const {metric} of metrics) {
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

describe.each(questionsWithMetrics)('$word', (question) => {
  test('tells the metrics of dbt, for two businesses in two zones', async () => {
    const differences: string[] = [];
    let rows = 0;
    for (const {accountId} of place.accounts) {
      const asked = await askFigures(place, question, accountId);
      rows += asked.size;
      differences.push(
        ...listDifferences(question, {asked, measured: await measure(question, accountId)}),
      );
    }
    expect(differences).toEqual([]);
    expect(rows).toBeGreaterThan(1);
  });
});
