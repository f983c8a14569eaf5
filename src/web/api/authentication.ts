import type {FastifyInstance, FastifyRequest} from 'fastify';
import type pg from 'pg';
import {type ApiKey, useApiKey} from '../../warehouse/accounts/api-keys.ts';
import {Problem} from './problems/problem.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered without a key. */
    isOpen?: boolean;
  }
}

const keys = new WeakMap<FastifyRequest, ApiKey>();

/**
 * Refuses a request without a key before anything of it is looked at: no answer tells whether its address
 * exists or its body is right. Only a route that says that it is open needs no key.
 */
export function requireKey(app: FastifyInstance, pool: pg.Pool): void {
  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.isOpen === true) return;
    const [, text] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    const key = text === undefined ? null : await useApiKey(pool, text);
    if (key === null) throw new Problem(401, 'unauthorized');
    keys.set(request, key);
  });
}

/** The key that a request came with. @throws {Problem} the key may only read, and a writer is asked for */
export function keyOf(request: FastifyRequest, options: {readonly mustWrite?: boolean} = {}): ApiKey {
  const key = keys.get(request);
  if (key === undefined) throw new Problem(401, 'unauthorized');
  if (options.mustWrite === true && !key.mayWrite) {
    throw new Problem(403, 'read-only', {
      detail: 'this key may only read',
      hint: 'fieldmirror keys add NAME makes one that may write.',
    });
  }
  return key;
}

/** The name of a request's key, for the log. */
export function nameOfKey(request: FastifyRequest): string | null {
  return keys.get(request)?.name ?? null;
}
