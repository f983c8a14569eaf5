// All members and questions of the star, and which of its columns are keys of another member's
// rows.

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
import {type Member, type Question, resolveRowKey} from './member.ts';
import {moneyQuestions} from './money-questions.ts';
import {
  backlogDay,
  employeeDay,
  openJobDay,
  payment,
  repeatVisit,
  reschedule,
  statusChange,
} from './past-facts.ts';
import {customerQuestions, peopleQuestions} from './people-questions.ts';
import {planningQuestions} from './planning-questions.ts';
import {revenueQuestions} from './revenue-questions.ts';
import {workQuestions} from './work-questions.ts';

/** Every member, each after those that it depends on. */
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
  /** The columns that identify a row. */
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
  ...members.map((member) => ({name: member.name, key: resolveRowKey(member)})),
];

/** Every question that has an answer, in the order in which they are listed. */
export const questions: readonly Question[] = [
  ...revenueQuestions,
  ...customerQuestions,
  ...workQuestions,
  ...moneyQuestions,
  ...peopleQuestions,
  ...planningQuestions,
];

/** A column that holds the key of a row of a dimension, or of a job. */
interface Relation {
  readonly column: string;
  /** The member that has the row. */
  readonly target: string;
  /** The key of the target. */
  readonly key: string;
  /** Whether -1 means no row, and is not a key of the target. */
  readonly mayBeNone: boolean;
}

/** The dimensions, and the fact that others refer to, by the name of their key. */
const targetByKey = new Map(
  members
    .filter(({name}) => /^dim_(?!.*_version$)|^fct_job$/.test(name))
    .map((member) => [resolveRowKey(member)[0] ?? '', member.name]),
);
const keyAliases: Readonly<Record<string, string>> = {
  booked_by_employee_key: 'employee_key',
  group_key: 'customer_key',
  repeat_job_key: 'job_key',
};

/**
 * The relations of a member. Facts made from versions include deleted jobs, which have no row in
 * `fct_job`.
 */
export function listRelations({
  name,
  columns,
  isOfVersions,
}: Pick<Member, 'name' | 'columns' | 'isOfVersions'>): readonly Relation[] {
  return columns.flatMap(([column]) => {
    const key = keyAliases[column] ?? column;
    const target = targetByKey.get(key);
    if (target === undefined || (target === name && key === column)) return [];
    if (isOfVersions && target === 'fct_job') return [];
    return [{column, target, key, mayBeNone: target === 'fct_job'}];
  });
}
