// Whatever stops a request, as a problem: its status, and words that quote nothing of the request.

import type {FastifyRequest} from 'fastify';
import {FatalError, RetryableError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {type ProblemKind, pageOfProblem} from './answer-pages.ts';
import {Problem} from './problem.ts';

/** A body may be this long. */
export const maxBodyBytes = 1_000_000;

/** Turns an error into the problem that its caller is told. */
export type Explain = (error: unknown, request: FastifyRequest) => Problem;

interface Context {
  readonly databaseUrl: string;
  readonly request: FastifyRequest;
  readonly log: Logger;
}

/** Words for the refusals of the framework. */
const refusals: Readonly<Record<number, readonly [kind: ProblemKind, detail: string]>> = {
  400: ['invalid', 'the body is no JSON'],
  413: ['too-large', `expected a body of at most ${maxBodyBytes} bytes`],
  415: ['unsupported', 'expected Content-Type: application/json'],
};

/**
 * Turns what went wrong with a request into a problem in the words of the HTTP API.
 * @param context.databaseUrl - of the warehouse, for the words of a failed connection
 */
export function toProblem(thrown: unknown, {databaseUrl, request, log}: Context): Problem {
  if (thrown instanceof Problem) return thrown;
  const error = explainDatabaseError(thrown, databaseUrl);
  const status =
    'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  if (status < 500) {
    const [kind, detail] = refusals[status] ?? ['invalid', 'the request cannot be read'];
    return new Problem(status, kind, {detail});
  }
  // A message may quote the request: an error that is not ours is logged by its place alone.
  const isOurs = error instanceof RetryableError || error instanceof FatalError;
  const where = isOurs
    ? error.message
    : `${error.name} ${error.stack?.replace(/^.*?(?=\n\s+at )/s, '') ?? ''}`;
  log.error(
    {
      ...{method: request.method, route: request.routeOptions.url, reason: where},
      docs: pageOfProblem(isOurs ? 'unavailable' : 'bug'),
    },
    'http: a request failed',
  );
  if (isLocked(error)) {
    return new Problem(503, 'locked', {
      detail: 'another transaction is changing a row that this change needs, and has not ended',
      hint: 'Nothing was done: send the same again later.',
    });
  }
  if (!isOurs) return new Problem(500, 'bug', {hint: 'The log of the HTTP API has more.'});
  return new Problem(503, 'unavailable', {
    detail: 'the warehouse cannot be reached, or is too busy',
    hint: 'Send the same again later; with an Idempotency-Key nothing happens twice.',
  });
}

/** lock_not_available: another transaction holds the row for longer than a write waits. */
function isLocked({cause}: Error): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === '55P03';
}
