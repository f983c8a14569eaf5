// One HTTP server with many accounts, each under a path of its own and with small lists, all in memory.

import type {IncomingMessage, ServerResponse} from 'node:http';
import {list, scriptService} from '../support/scripted-service.ts';

/** The behaviour of an account, by its path, where it does not just answer at once. */
export interface Manner {
  /** Answers 401 to everything. */
  readonly isRefusing?: boolean;
  /** The valid token, where it is no longer the first one. */
  readonly token?: string;
  /** Called before each answer; the answer waits for it. */
  readonly before?: (request: {readonly path: string; readonly page: number}) => Promise<void>;
}

export interface AccountServer {
  readonly tokenOf: (slug: string) => string;
  readonly urlOf: (slug: string) => string;
  /** May be changed at any time. */
  readonly manners: Map<string, Manner>;
  /** Requests so far, by account. */
  readonly asked: Map<string, number>;
  close(): Promise<void>;
}

const perPage = 3;
const elements: Readonly<Record<string, (number: number) => string>> = {
  customers: (number) =>
    `<customer><id type="integer">${number}</id><customer-number type="integer">${number}</customer-number><name>C ${number}</name></customer>`,
  jobs: (number) =>
    `<job><id type="integer">${number}</id><job-number type="integer">${number}</job-number><name>J ${number}</name></job>`,
  employees: (number) =>
    `<employee><id type="integer">${number}</id><employee-number type="integer">${number}</employee-number></employee>`,
  tasks: (number) => `<task><id type="integer">${number}</id><name>T ${number}</name></task>`,
};

/** @param pages - of every list that is paged */
export async function serveAccounts(pages = 2): Promise<AccountServer> {
  const manners = new Map<string, Manner>();
  const asked = new Map<string, number>();
  const tokenOf = (slug: string) => `token-of-${slug}`;
  const server = await scriptService((request, response) => {
    void answer({request, response, pages, manners, asked, tokenOf});
    return true;
  });
  return {tokenOf, urlOf: (slug) => `${server.url}/${slug}`, manners, asked, close: server.close};
}

interface Exchange extends Pick<AccountServer, 'manners' | 'asked' | 'tokenOf'> {
  readonly request: IncomingMessage & {readonly page: number};
  readonly response: ServerResponse;
  readonly pages: number;
}

async function answer(exchange: Exchange): Promise<void> {
  const {request, response, pages, manners, asked, tokenOf} = exchange;
  const path = new URL(request.url ?? '/', 'http://localhost').pathname;
  const [, slug = '', file = '', record] = path.split('/');
  asked.set(slug, (asked.get(slug) ?? 0) + 1);
  const manner = manners.get(slug) ?? {};
  await manner.before?.({path, page: request.page});
  const {token = tokenOf(slug)} = manners.get(slug) ?? {};
  const pair = `${token}:${token}`;
  const isRight = request.headers.authorization === `Basic ${Buffer.from(pair).toString('base64')}`;
  if (manner.isRefusing === true || !isRight) {
    response.statusCode = 401;
    response.end('<errors><error>Invalid Username, Account or password.</error></errors>');
    return;
  }
  const name = file.replace(/\.xml$/, '');
  const element = elements[name];
  // A record that no list holds is unknown.
  if (element === undefined || record !== undefined) {
    response.statusCode = 400;
    response.end('<errors><error>Invalid job.</error></errors>');
    return;
  }
  const isPast = request.page > (name === 'employees' ? 1 : pages);
  const numbers = Array.from(
    {length: isPast ? 0 : perPage},
    (_, at) => (request.page - 1) * perPage + at + 1,
  );
  response.end(list(name, numbers.map(element)));
}
