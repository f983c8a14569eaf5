import {backlog} from './backlog-questions.ts';
import {customers} from './customer-questions.ts';
import {money} from './money-questions.ts';
import {people} from './people-questions.ts';
import {planning} from './planning-questions.ts';
import type {Question} from './question.ts';
import {revenue} from './revenue-questions.ts';

/** Every question that has an answer, in the order in which they are listed. */
export const questions: readonly Question[] = [
  ...revenue,
  ...customers,
  ...backlog,
  ...money,
  ...people,
  ...planning,
];
