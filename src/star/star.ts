// All that the star consists of.

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
import {type Member, type Question, rowKeyOf} from './member.ts';
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
  ...members.map((member) => ({name: member.name, key: rowKeyOf(member)})),
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
