// Stands between us and a service: requests go on as they came, and so do the answers, but for what
// a test wants.

import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import {buffer} from 'node:stream/consumers';
import {type LocalServer, listenLocally} from './local-server.ts';

/** A request that has come in whole. */
export interface CameIn {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Wishes {
  /**
   * Sees each request before it goes on. @returns true where it has answered: then the request does
   * not
   */
  readonly receive?: (cameIn: CameIn, response: ServerResponse) => boolean;
  /** Gives the service's answer back in its own way. */
  readonly giveBack?: (answer: IncomingMessage, response: ServerResponse, cameIn: CameIn) => void;
}

export async function openProxy(
  target: string,
  {receive = () => false, giveBack = giveBackAsItCame}: Wishes,
): Promise<LocalServer> {
  return await listenLocally(async (incoming, response) => {
    const {method = '', url: path = '', headers} = incoming;
    const cameIn = {method, path, headers, body: await buffer(incoming)};
    if (receive(cameIn, response)) return;
    const onward = request(new URL(path, target), {method, headers, agent: false}, (answer) =>
      giveBack(answer, response, cameIn),
    );
    onward.on('error', () => response.destroy());
    onward.end(cameIn.body);
  });
}

export function giveBackAsItCame(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  answer.pipe(response);
}
