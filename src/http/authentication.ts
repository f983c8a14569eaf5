import type {FastifyInstance, FastifyRequest} from 'fastify';
import type pg from 'pg';
import {type ApiKey, useApiKey} from '../accounts/access.ts';
import {Problem} from './problem.ts';

const keys = new WeakMap<FastifyRequest, ApiKey>();

/**
 * Refuses a request without a key before anything of it is looked at: no answer tells whether its
 * address exists or its body is right.
 */
export function requireKey(app: FastifyInstance, pool: pg.Pool): void {
  app.addHook('onRequest', async (request) => {
    const [, text] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    const key = text === undefined ? null : await useApiKey(pool, text);
    if (key === null) throw new Problem(401, 'unauthorized');
    keys.set(request, key);
  });
}

/** A key of one account: the addresses under /v1 need one. */
export interface AccountKey extends ApiKey {
  readonly accountId: string;
  readonly timeZone: string;
}

/**
 * The key that a request came with. @throws {Problem} it is of no one account, or may only read,
 * and a writer is asked for
 */
export function keyOf(
  request: FastifyRequest,
  options: {readonly mustWrite?: boolean} = {},
): AccountKey {
  const key = keys.get(request);
  if (key === undefined) throw new Problem(401, 'unauthorized');
  if (options.mustWrite === true && key.role === 'viewer') {
    throw new Problem(403, 'read-only', {
      detail: 'this key may only read',
      hint: 'fieldmirror keys add NAME makes one that may write.',
    });
  }
  const {accountId, timeZone} = key;
  if (accountId === null || timeZone === null) {
    throw new Problem(403, 'no-account', {
      detail: 'this key opens the console for all accounts; the API needs a key of one',
      hint: 'fieldmirror keys add NAME --account ACCOUNT makes one.',
    });
  }
  return {...key, accountId, timeZone};
}

/** The name of a request's key, for the log. */
export function nameOfKey(request: FastifyRequest): string | null {
  return keys.get(request)?.name ?? null;
}
