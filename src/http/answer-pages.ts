// The number of the page that an answer over HTTP leads to: in `docs` of a problem of the HTTP API,
// in the last line of a page of the console that refuses.

import {type ErrorKind, errorNumbers} from '../core/errors.ts';

/**
 * The ends of the types of problems, and the page of each. A type stays the same: programs tell
 * problems apart by it.
 */
const problemKinds = {
  invalid: 'request',
  'too-large': 'request',
  unsupported: 'request',
  unauthorized: 'sign-in',
  'read-only': 'role',
  'no-account': 'role',
  misdirected: 'host-name',
  'not-found': 'not-found',
  refused: 'refused',
  'key-reused': 'key-reused',
  'cursor-gone': 'cursor',
  'too-many': 'too-many',
  locked: 'locked',
  unavailable: 'unavailable',
  stopping: 'unavailable',
  bug: 'bug',
} as const satisfies Readonly<Record<string, ErrorKind>>;

export type ProblemKind = keyof typeof problemKinds;

/** Statuses of the console's pages. */
const statusKinds: Readonly<Record<number, ErrorKind>> = {
  401: 'sign-in',
  403: 'role',
  404: 'not-found',
  409: 'outdated',
  421: 'host-name',
  429: 'too-many',
  500: 'bug',
  503: 'unavailable',
};

/** `E24` */
export function pageOfProblem(kind: ProblemKind): string {
  return errorNumbers[problemKinds[kind]];
}

/** `E23`; a status of no page of its own says that the request cannot be read. */
export function pageOfStatus(status: number): string {
  return errorNumbers[statusKinds[status] ?? 'request'];
}
