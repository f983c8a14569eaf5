import {backlog} from './backlog.ts';
import {customers} from './customers.ts';
import {money} from './money.ts';
import {people} from './people.ts';
import {planning} from './planning.ts';
import type {Question} from './question.ts';
import {revenue} from './revenue.ts';

/** Every question that has an answer, in the order in which they are listed. */
export const questions: readonly Question[] = [
  ...revenue,
  ...customers,
  ...backlog,
  ...money,
  ...people,
  ...planning,
];
