import {account} from './dimensions/account.ts';
import {customer, customerVersion} from './dimensions/customer.ts';
import {employee, employeeVersion} from './dimensions/employee.ts';
import {item} from './dimensions/item.ts';
import {jobStatus, jobType, taxEntity} from './dimensions/job-attributes.ts';
import {backlogDay, employeeDay, openJobDay, repeatVisit} from './facts/days.ts';
import {job} from './facts/job.ts';
import {payment, reschedule, statusChange} from './facts/observed.ts';
import {assignment, jobCharge, timeEntry} from './facts/parts.ts';
import {task} from './facts/task.ts';
import type {Member} from './member.ts';

/** Every member, each after those that it stands on. */
export const members: readonly Member[] = [
  account,
  ...[customer, customerVersion, employee, employeeVersion, jobType, jobStatus, taxEntity, item],
  ...[job, jobCharge, timeEntry, assignment, task],
  ...[statusChange, reschedule, payment],
  ...[openJobDay, backlogDay, employeeDay, repeatVisit],
];
