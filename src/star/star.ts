// All that the star consists of, and the same as sources of dbt.

import {customerQuestions} from './customer-questions.ts';
import {backlogDay, employeeDay, openJobDay, repeatVisit} from './day-facts.ts';
import {
  account,
  customer,
  customerVersion,
  employee,
  employeeVersion,
  item,
  jobStatus,
  jobType,
  taxEntity,
} from './dimensions.ts';
import {assignment, job, jobCharge, task, timeEntry} from './job-facts.ts';
import type {Member, Question} from './member.ts';
import {money} from './money-questions.ts';
import {payment, reschedule, statusChange} from './observed-facts.ts';
import {people} from './people-questions.ts';
import {planning} from './planning-questions.ts';
import {revenue} from './revenue-questions.ts';
import {backlog} from './work-questions.ts';

/** Every member, each after those that it stands on. */
export const members: readonly Member[] = [
  account,
  ...[customer, customerVersion, employee, employeeVersion, jobType, jobStatus, taxEntity, item],
  ...[job, jobCharge, timeEntry, assignment, task],
  ...[statusChange, reschedule, payment],
  ...[openJobDay, backlogDay, employeeDay, repeatVisit],
];

/** A table that an export may hold. */
export interface ExportedTable {
  readonly name: string;
  /** The columns that tell one row from another. */
  readonly key: readonly string[];
}

/** Tables of the star that have no account. */
export const sharedTables: readonly ExportedTable[] = [
  {name: 'dim_date', key: ['date']},
  {name: 'dim_job_state', key: ['job_state']},
];

/** Every dimension and fact. */
export const exportedTables: readonly ExportedTable[] = [
  ...sharedTables,
  ...members.map(({name, columns, key}) => ({name, key: key ?? [columns[0]?.[0] ?? '']})),
];

/** Every question that has an answer, in the order in which they are listed. */
export const questions: readonly Question[] = [
  ...revenue,
  ...customerQuestions,
  ...backlog,
  ...money,
  ...people,
  ...planning,
];

// The star as sources of dbt: names, descriptions, keys, relations and freshness. No models: the
// SQL lives in one place.

/** YAML takes a text in double quotes as JSON writes it. */
const quote = (text: string) => JSON.stringify(text);

/** The dimension that a column is the key of; null for any other column. */
function targetOf(column: string, own: string): string | null {
  const target = members.find(
    ({name, columns: [first]}) =>
      /^dim_(?!.*_version$)|^fct_job$/.test(name) && first?.[0] === column,
  );
  return target === undefined || target.name === own ? null : target.name;
}

function drawColumn(
  {name, key, columns}: Member,
  [column, , comment]: Member['columns'][number],
): string[] {
  const isKey = (key ?? [columns[0]?.[0]]).length === 1 && (key?.[0] ?? columns[0]?.[0]) === column;
  const target = targetOf(column, name);
  const tests = [
    ...(isKey ? ['              - unique', '              - not_null'] : []),
    ...(target === null || target === 'fct_job'
      ? []
      : [
          '              - relationships: ' +
            `{to: "source('fieldmirror', '${target}')", field: ${column}}`,
        ]),
  ];
  return [
    `          - name: ${column}`,
    `            description: ${quote(comment)}`,
    ...(tests.length === 0 ? [] : ['            data_tests:', ...tests]),
  ];
}

function drawTable(member: Member): string[] {
  const isAccount = member.name === 'dim_account';
  return [
    `      - name: ${member.name}`,
    `        description: ${quote(member.comment)}`,
    ...(isAccount
      ? [
          '        loaded_at_field: jobs_fresh_as_of',
          '        freshness: {warn_after: {count: 26, period: hour}, ' +
            'error_after: {count: 50, period: hour}}',
        ]
      : []),
    '        columns:',
    ...member.columns.flatMap((column) => drawColumn(member, column)),
  ];
}

/** The file `sources.yml` of a dbt project. */
export function drawDbtSources(): string {
  return [
    'version: 2',
    'sources:',
    '  - name: fieldmirror',
    '    description: "A field-service business as a star: dimensions, facts, ' +
      'and the answers to an owner\'s questions."',
    '    schema: mart',
    '    tables:',
    ...[...members, ...questions].flatMap(drawTable),
    '',
  ].join('\n');
}
