import {account} from './account-dimension.ts';
import {customer, customerVersion} from './customer-dimension.ts';
import {backlogDay, employeeDay, openJobDay, repeatVisit} from './day-facts.ts';
import {employee, employeeVersion} from './employee-dimension.ts';
import {item} from './item-dimension.ts';
import {jobStatus, jobType, taxEntity} from './job-attributes-dimension.ts';
import {job} from './job-facts.ts';
import type {Member} from './member.ts';
import {payment, reschedule, statusChange} from './observed-facts.ts';
import {assignment, jobCharge, timeEntry} from './part-facts.ts';
import {task} from './task-facts.ts';

/** Every member, each after those that it stands on. */
export const members: readonly Member[] = [
  account,
  ...[customer, customerVersion, employee, employeeVersion, jobType, jobStatus, taxEntity, item],
  ...[job, jobCharge, timeEntry, assignment, task],
  ...[statusChange, reschedule, payment],
  ...[openJobDay, backlogDay, employeeDay, repeatVisit],
];
