// Addresses that are requested by a method that they do not have. If such a request were answered
// as not found, a program that sends DELETE to the address of a row would take the row for deleted.

import type {FastifyInstance} from 'fastify';
import {HttpProblem} from './problem.ts';

/** Refuses such requests before their body is read. Counts the addresses that are added later. */
export function refuseOtherMethods(app: FastifyInstance): void {
  const routes: {readonly path: RegExp; readonly methods: readonly string[]}[] = [];
  app.addHook('onRoute', ({method, url}) => {
    const path = new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`);
    routes.push({path, methods: [method].flat()});
  });
  app.addHook('onRequest', async ({is404, method, url}, reply) => {
    if (!is404) return;
    const [path = ''] = url.split('?');
    const methods = routes.filter((route) => route.path.test(path)).flatMap((r) => r.methods);
    if (methods.length === 0) return;
    reply.header('allow', methods.join(', '));
    throw new HttpProblem(405, 'method', {
      detail: `${method}: expected ${methods.join(' or ')} at this address`,
      hint: 'POST /v1/changes creates, updates and deletes records.',
    });
  });
}
