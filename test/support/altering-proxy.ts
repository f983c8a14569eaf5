// Stands between us and a service, and alters its answers.

import {text} from 'node:stream/consumers';
import type {LocalServer} from './local-server.ts';
import {openProxy} from './proxy.ts';

/**
 * @param target - a service that does not compress
 * @param alter - given the request's path and the answer's body
 */
export async function openAlteringProxy(
  target: string,
  alter: (path: string, body: string) => string,
): Promise<LocalServer> {
  return await openProxy(target, {
    giveBack: async (answer, response, {path}) => {
      const {'content-length': _length, 'transfer-encoding': _coding, ...headers} = answer.headers;
      const body = alter(path, await text(answer));
      response.writeHead(answer.statusCode ?? 502, headers);
      response.end(body);
    },
  });
}
