// A service behind the mischief, which answers requests in this process or over HTTP.

import {request as send} from 'undici';

export interface Asked {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path with its query. */
  readonly path: string;
  readonly authorization: string;
  readonly body: Buffer;
  /** False: another client of the service sent it. */
  readonly isOurs?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type Backend = (asked: Asked) => Promise<Answer>;

/** Forwards every request to a running service. */
export function forwardTo(url: string): Backend {
  return async ({method, path, authorization, body}) => {
    const answer = await send(url + path, {
      method,
      headers: {
        authorization,
        'content-type': 'application/xml; charset=utf-8',
        connection: 'close',
      },
      body: body.length === 0 ? null : body,
    });
    const {location, date} = answer.headers;
    return {
      status: answer.statusCode,
      headers: {
        'content-type': String(answer.headers['content-type'] ?? ''),
        ...(typeof location === 'string' ? {location} : {}),
        ...(typeof date === 'string' ? {date} : {}),
      },
      body: Buffer.from(await answer.body.arrayBuffer()),
    };
  };
}
