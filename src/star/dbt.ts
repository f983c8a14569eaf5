// The star as a package of dbt: sources with their tests, semantic models and metrics, and an
// exposure for each question. In the warehouse its models refer to the existing tables of the star
// and create nothing, so the SQL of each figure is in one place. On DuckDB they are views on the
// files of the newest delivered snapshot.
// The package also has the same metrics as Open Semantic Interchange, for tools that do not read
// dbt.

import {getTableConfig} from 'drizzle-orm/pg-core';
import {stringify} from 'yaml';
import {capitalise} from '../core/text.ts';
import {toQuestionWord} from './answer.ts';
import {type MeasureName, measures, ratios, virtualDates, withAlias} from './measures.ts';
import {type Member, type Question, resolveRowKey} from './member.ts';
import {listRelations, members, questions, sharedTables} from './star.ts';
import {martTables} from './tables.ts';

type Yaml = Readonly<Record<string, unknown>>;
type Table = Pick<Member, 'name' | 'comment' | 'columns' | 'key' | 'isOfVersions'>;

const sharedTableDefinitions = sharedTables.flatMap(({name, key}): Table[] => {
  const definition = martTables.find(({drizzle}) => getTableConfig(drizzle).name === name);
  if (definition === undefined) return [];
  const {comment, columns} = definition;
  const columnTuples = Object.entries(columns).map(
    ([column, text]) => [column, column, text] as const,
  );
  return [{name: name as Table['name'], comment, columns: columnTuples, key}];
});
const tables: readonly Table[] = [...sharedTableDefinitions, ...members];
const listColumnNames = ({columns}: Table) => columns.map(([column]) => column);

/** The few values that a column may have. */
const acceptedValues: Readonly<Record<string, readonly string[]>> = {
  'dim_customer.kind': ['company', 'person', 'unknown'],
  'fct_payment.dated_by': ['stated', 'observed', 'unknown'],
  'fct_open_job_day.state_then': ['unscheduled', 'scheduled', 'in_progress'],
};

/** The name of an entity of the semantic models, by the column that is its key. */
const toEntityName = (column: string) => column.replace(/_key$/, '');
const toRowEntityName = ({name}: Table) => name.replace(/^(dim|fct)_/, '');
const stateRelation = {
  column: 'job_state',
  target: 'dim_job_state',
  key: 'job_state',
  mayBeNone: false,
};

/**
 * The relations of `listRelations`, and that to the states of the jobs, whose key is not a number.
 */
function listAllRelations(table: Table) {
  const isOfState =
    table.name !== 'dim_job_state' && listColumnNames(table).includes(stateRelation.column);
  return [...listRelations(table), ...(isOfState ? [stateRelation] : [])];
}

function buildColumn(table: Table, [column, , comment]: Member['columns'][number]): Yaml {
  const key = resolveRowKey(table);
  const accepted = acceptedValues[`${table.name}.${column}`];
  const relation = listAllRelations(table).find((candidate) => candidate.column === column);
  const source = relation && `source('fieldmirror', '${relation.target}')`;
  const isKey = key.length === 1 && key[0] === column;
  const tests = [
    ...(isKey ? [buildTest(table, 'unique'), buildTest(table, 'not_null')] : []),
    ...(accepted === undefined ? [] : [buildTest(table, 'accepted_values', {values: accepted})]),
    ...(relation === undefined
      ? []
      : [
          buildTest(
            table,
            'relationships',
            {to: source, field: relation.key},
            relation.mayBeNone ? {where: `${column} <> -1`} : {},
          ),
        ]),
  ];
  return {name: column, description: comment, ...(tests.length === 0 ? {} : {data_tests: tests})};
}

/**
 * A test of an answer has a separate condition, because dbt warns about a test of a table that is
 * left out.
 */
function buildTest(
  table: Table,
  name: string,
  testArguments: Yaml = {},
  config: Yaml = {},
): Yaml | string {
  const fullConfig = {...config, ...(isAnswer(table) ? {enabled: isWarehouse} : {})};
  if (Object.keys({...testArguments, ...fullConfig}).length === 0) return name;
  return {
    [name]: {
      ...(Object.keys(testArguments).length === 0 ? {} : {arguments: testArguments}),
      ...(Object.keys(fullConfig).length === 0 ? {} : {config: fullConfig}),
    },
  };
}

const isAnswer = ({name}: Table) => name.startsWith('ask_');

function buildSource(table: Table): Yaml {
  const key = resolveRowKey(table);
  const freshness = {
    loaded_at_field: 'jobs_fresh_as_of',
    freshness: {
      warn_after: {count: 26, period: 'hour'},
      error_after: {count: 50, period: 'hour'},
    },
  };
  const config = {
    ...(table.name === 'dim_account' ? freshness : {}),
    ...(isAnswer(table) ? {enabled: isWarehouse} : {}),
  };
  return {
    name: table.name,
    description: table.comment,
    ...(Object.keys(config).length === 0 ? {} : {config}),
    ...(key.length > 1 ? {data_tests: [buildTest(table, 'unique_together', {columns: key})]} : {}),
    columns: table.columns.map((column) => buildColumn(table, column)),
  };
}

const schema = `{{ var('fieldmirror_schema', 'mart') }}`;
/** Answers are in the warehouse alone: a snapshot has dimensions and facts. */
const isWarehouse =
  `{{ target.type == 'postgres' ` + `and var('fieldmirror_schema', 'mart') == 'mart' }}`;

const sources = {
  version: 2,
  sources: [
    {
      name: 'fieldmirror',
      description:
        'A field-service business as a star: dimensions, facts, and the answers to the ' +
        'questions of an owner.',
      schema,
      tables: [...tables, ...questions].map(buildSource),
    },
  ],
};

/** The facts that have measures, and the dimensions that they refer to. */
const measuredFacts = new Set<string>(Object.values(measures).map(({fact}) => fact));
const modelledTables = tables.filter(
  ({name}) => measuredFacts.has(name) || /^dim_(?!.*_version$)/.test(name),
);

const models = {
  version: 2,
  models: modelledTables.map(({name, comment}) => ({
    name,
    description: comment,
    ...(name === 'dim_date'
      ? {
          time_spine: {standard_granularity_column: 'date'},
          columns: [{name: 'date', granularity: 'day'}],
        }
      : {}),
  })),
};

/** Columns of facts by which metrics can be grouped; all columns of dimensions can be used. */
const groupingPattern =
  /^(is|was)_|^(status|estimate_type|dated_by|net_days|technicians|job_number)$/;
const datePattern = /(^|_)date$/;
/** Keys, instants and lists are not dimensions of the semantic models. */
const excludedPattern = /_key$|_at$|_as_of$|_since$|^working_hours$|^today$/;

function buildDimensions(table: Table): Yaml[] {
  const isDimension = table.name.startsWith('dim_');
  const columnDimensions = table.columns.flatMap(([name, , description]): Yaml[] => {
    if (datePattern.test(name))
      return [{name, description, type: 'time', type_params: {time_granularity: 'day'}}];
    if (excludedPattern.test(name) || name === stateRelation.column) return [];
    return isDimension || groupingPattern.test(name)
      ? [{name, description, type: 'categorical'}]
      : [];
  });
  const dateDimensions = Object.entries(virtualDates[table.name] ?? {}).map(([name, sql]) => ({
    name,
    type: 'time',
    type_params: {time_granularity: 'day'},
    expr: withAlias(sql, null),
  }));
  return [...columnDimensions, ...dateDimensions];
}

/** An employee by another name: who booked a job. */
const bookerColumn = 'booked_by_employee_key';

function buildEntities(table: Table): Yaml[] {
  const [key = '', ...otherKeys] = resolveRowKey(table);
  const primaryEntity = {name: toRowEntityName(table), type: 'primary', expr: key};
  const bookerEntity = {name: toEntityName(bookerColumn), type: 'unique', expr: key};
  const foreign = listAllRelations(table)
    .filter(({column, key: targetKey}) => column === targetKey || column === bookerColumn)
    .map(({column}) => ({name: toEntityName(column), type: 'foreign', expr: column}));
  return [
    ...(otherKeys.length === 0 ? [primaryEntity] : []),
    ...(table.name === 'dim_employee' ? [bookerEntity] : []),
    ...foreign,
  ];
}

function buildMeasure(name: MeasureName): Yaml {
  const {kind, value, where, on, comment} = measures[name];
  const expression = withAlias(value, null);
  return {
    name,
    description: comment,
    agg: kind === 'last' ? 'sum' : kind,
    expr:
      where === undefined
        ? expression
        : `CASE WHEN ${withAlias(where, null)} THEN ${expression} END`,
    agg_time_dimension: on,
    ...(kind === 'last'
      ? {non_additive_dimension: {name: on, window_choice: 'max', window_groupings: ['account']}}
      : {}),
  };
}

const measureNames = Object.keys(measures) as MeasureName[];

function buildSemanticModel(table: Table): Yaml {
  const ownMeasures = measureNames.filter((name) => measures[name].fact === table.name);
  const [firstMeasure] = ownMeasures;
  return {
    name: table.name,
    description: table.comment,
    model: `ref('${table.name}')`,
    ...(firstMeasure === undefined
      ? {}
      : {defaults: {agg_time_dimension: measures[firstMeasure].on}}),
    ...(resolveRowKey(table).length > 1 ? {primary_entity: toRowEntityName(table)} : {}),
    entities: buildEntities(table),
    dimensions: buildDimensions(table),
    ...(firstMeasure === undefined ? {} : {measures: ownMeasures.map(buildMeasure)}),
  };
}

/** `Revenue of new customers` for `revenue_of_new_customers`. */
function toLabel(name: string): string {
  return capitalise(name.replaceAll('_', ' '));
}

function buildMetric(
  name: string,
  {comment, answer}: {readonly comment: string; readonly answer?: string},
  type: Yaml,
): Yaml {
  const [word] = answer?.split('.') ?? [];
  return {
    name,
    label: toLabel(name),
    description: comment,
    ...type,
    ...(word === undefined ? {} : {config: {meta: {answer: `fieldmirror ask ${word}`}}}),
  };
}

const metrics = {
  version: 2,
  semantic_models: modelledTables.filter(({name}) => name !== 'dim_date').map(buildSemanticModel),
  metrics: [
    ...measureNames.map((name) =>
      buildMetric(name, measures[name], {type: 'simple', type_params: {measure: name}}),
    ),
    ...Object.entries(ratios).map(([name, ratio]) =>
      buildMetric(name, ratio, {
        type: 'ratio',
        type_params: {numerator: ratio.of, denominator: ratio.by},
      }),
    ),
  ],
};

/** The members that a question reads. */
function listReadMembers({from}: Pick<Question, 'from'>): string[] {
  const names = [...from.matchAll(/\bmart\.((?:dim|fct)_\w+)/g)].map(([, name = '']) => name);
  return [...new Set(names)].sort();
}

const exposures = {
  version: 2,
  exposures: questions.map((question) => ({
    name: question.name,
    label: question.question,
    type: 'analysis',
    maturity: 'high',
    description: `${question.definition} ${question.caveats}`,
    owner: {name: 'Fieldmirror'},
    depends_on: listReadMembers(question).map((name) => `source('fieldmirror', '${name}')`),
    config: {meta: {answer: `fieldmirror ask ${toQuestionWord(question)}`}},
  })),
};

const project = {
  name: 'fieldmirror',
  version: '1.0.0',
  'config-version': 2,
  profile: 'fieldmirror',
  'require-dbt-version': ['>=1.11.0'],
  'model-paths': ['models'],
  'macro-paths': ['macros'],
  'on-run-start': [`{{ fieldmirror.read_snapshot() }}`],
  models: {fieldmirror: {'+materialized': 'in_place', '+schema': schema}},
};

const inPlace = `{#- The table is there: nothing is made. -#}
{% materialization in_place, default %}
  {%- call noop_statement('main', 'IN PLACE') -%}{%- endcall -%}
  {{ return({'relations': [this.incorporate(type='view')]}) }}
{% endmaterialization %}
`;

const readSnapshot = `{#- On DuckDB: each table is a view on its file in the
    newest snapshot of the target whose place is the variable fieldmirror_delivery. -#}
{% macro read_snapshot() %}
  {%- set place = var('fieldmirror_delivery', none) -%}
  {%- if execute and place is not none -%}
    {%- set latest = run_query("SELECT snapshot FROM read_json('" ~ place ~ "/latest.json')") -%}
    {%- set folder = place ~ '/' ~ latest.columns[0].values()[0] -%}
    {%- for node in graph.sources.values() if node.source_name == 'fieldmirror' -%}
      {%- if loop.first %}CREATE SCHEMA IF NOT EXISTS {{ node.schema }};{% endif %}
      CREATE OR REPLACE VIEW {{ node.schema }}.{{ node.identifier }} AS
        FROM read_parquet('{{ folder }}/{{ node.identifier }}.parquet');
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
`;

const schemaName = `{#- The schema of the star, without that of the target before it. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
  {{ custom_schema_name or target.schema }}
{%- endmacro %}
`;

const uniqueTogether = `{#- No two rows have the same values of these columns. -#}
{% test unique_together(model, columns) %}
SELECT {{ columns | join(', ') }} FROM {{ model }}
 GROUP BY {{ columns | join(', ') }} HAVING count(*) > 1
{% endtest %}
`;

/** The version of Open Semantic Interchange, now Apache Ossie, of its file. */
const osiVersion = '0.1.1';

const buildExpression = (sql: string) => ({
  expression: {dialects: [{dialect: 'ANSI_SQL', expression: sql}]},
});

function buildDataset(table: Table): Yaml {
  const dateFields = Object.entries(virtualDates[table.name] ?? {}).map(([name, sql]) => ({
    name,
    ...buildExpression(withAlias(sql, null)),
    dimension: {is_time: true},
  }));
  return {
    name: table.name,
    source: `mart.${table.name}`,
    primary_key: resolveRowKey(table),
    description: table.comment,
    fields: [
      ...table.columns.map(([name, , description]) => ({
        name,
        ...buildExpression(name),
        dimension: {is_time: datePattern.test(name)},
        description,
      })),
      ...dateFields,
    ],
  };
}

function buildRelationships(table: Table): Yaml[] {
  const isInFile = (name: string) => interchangedTables.some((other) => other.name === name);
  return listAllRelations(table)
    .filter(({target}) => isInFile(target))
    .map(({column, target, key}) => ({
      name: `${table.name}_${column}`,
      from: table.name,
      to: target,
      from_columns: [column],
      to_columns: [key],
    }));
}

/** A measure as an aggregate of standard SQL over the table of its fact. */
function buildAggregate(name: MeasureName): string {
  const {fact, kind, value, where} = measures[name];
  const expression = withAlias(value, fact);
  const filtered =
    where === undefined ? expression : `CASE WHEN ${withAlias(where, fact)} THEN ${expression} END`;
  if (kind === 'median') return `PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY ${filtered})`;
  return `${kind === 'count' ? 'COUNT' : 'SUM'}(${filtered})`;
}

function buildInterchangedMetric(name: string, sql: string, metric: InterchangedMetric): Yaml {
  const {comment, answer, of} = metric;
  const {fact, on} = measures[of];
  const [word] = answer?.split('.') ?? [];
  const hint = word === undefined ? '' : ` fieldmirror ask ${word} returns it.`;
  return {
    name,
    ...buildExpression(sql),
    description: comment,
    ai_context: {
      instructions: `Its days are those of ${fact}.${on}. Filter or group by account_key.${hint}`,
      synonyms: [toLabel(name)],
    },
  };
}

interface InterchangedMetric {
  readonly comment: string;
  readonly answer?: string;
  /** The measure whose days it has. */
  readonly of: MeasureName;
}

/** The days are fields of the facts, and need no table. */
const interchangedTables = modelledTables.filter(({name}) => name !== 'dim_date');

const ratiosOfOneFact = Object.entries(ratios).filter(
  ([, {of, by}]) => measures[of].fact === measures[by].fact,
);

/**
 * Open Semantic Interchange cannot express a measure of kind `last`, which does not add up over
 * days. A ratio of two facts would count rows of one for each row of the other. So neither is among
 * its metrics.
 */
const interchange = {
  version: osiVersion,
  semantic_model: [
    {
      name: 'fieldmirror',
      description: 'A field-service business: jobs, money, hours and visits.',
      ai_context: {instructions: 'Never add up accounts: their currencies may differ.'},
      datasets: interchangedTables.map(buildDataset),
      relationships: interchangedTables.flatMap(buildRelationships),
      metrics: [
        ...measureNames
          .filter((name) => measures[name].kind !== 'last')
          .map((measure) =>
            buildInterchangedMetric(measure, buildAggregate(measure), {
              ...measures[measure],
              of: measure,
            }),
          ),
        ...ratiosOfOneFact.map(([name, ratio]) => {
          const sql = `1.0 * ${buildAggregate(ratio.of)} / NULLIF(${buildAggregate(ratio.by)}, 0)`;
          return buildInterchangedMetric(name, sql, ratio);
        }),
      ],
    },
  ],
};

const toYaml = (value: unknown) => stringify(value, {lineWidth: 100, aliasDuplicateObjects: false});

/** The files of the package by their paths. */
export function buildDbtPackage(): ReadonlyMap<string, string> {
  return new Map([
    ['dbt_project.yml', toYaml(project)],
    ['macros/in_place.sql', inPlace],
    ['macros/generate_schema_name.sql', schemaName],
    ['macros/read_snapshot.sql', readSnapshot],
    ['macros/unique_together.sql', uniqueTogether],
    ['models/sources.yml', toYaml(sources)],
    ['models/models.yml', toYaml(models)],
    ['models/metrics.yml', toYaml(metrics)],
    ['models/exposures.yml', toYaml(exposures)],
    ['osi.yaml', toYaml(interchange)],
    ...modelledTables.map(
      ({name}) =>
        [`models/${name}.sql`, `SELECT * FROM {{ source('fieldmirror', '${name}') }}\n`] as const,
    ),
  ]);
}
