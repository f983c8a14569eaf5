// One HTTP server with many accounts, each under a path of its own and with small lists, all in
// memory.

import type {IncomingMessage, ServerResponse} from 'node:http';
import {list, scriptService} from '../support/scripted-service.ts';

/** The behaviour of an account, by its path, where it does not just answer at once. */
export interface Manner {
  /** Answers 401 to everything. */
  readonly isRefusing?: boolean;
  /** Answers 500 to everything. */
  readonly isBroken?: boolean;
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

/** Records by list, of a number. Those of two accounts differ. */
const keysOf = (item: string, number: number) =>
  `<id type="integer">${number}</id><${item}-number type="integer">${number}</${item}-number>`;

const elements: Readonly<Record<string, (number: number, slug: string) => string>> = {
  customers: (number, slug) =>
    `<customer>${keysOf('customer', number)}<name>C ${number} of ${slug}</name></customer>`,
  jobs: (number, slug) => `<job>${keysOf('job', number)}<name>J ${number} of ${slug}</name></job>`,
  employees: (number, slug) =>
    `<employee>${keysOf('employee', number)}<name>E ${number} of ${slug}</name></employee>`,
  tasks: (number, slug) =>
    `<task><id type="integer">${number}</id><name>T ${number} of ${slug}</name></task>`,
};

/** The size of each list, in pages and records a page; employees come in one page. */
interface Size {
  readonly pages: number;
  readonly perPage: number;
}

/** @param options.address - of this machine */
export async function serveAccounts({
  address,
  pages = 2,
  perPage = 3,
}: Partial<Size> & {readonly address?: string} = {}): Promise<AccountServer> {
  const manners = new Map<string, Manner>();
  const asked = new Map<string, number>();
  const tokenOf = (slug: string) => `token-of-${slug}`;
  const server = await scriptService((request, response) => {
    void answer({request, response, pages, perPage, manners, asked, tokenOf});
    return true;
  }, address);
  return {tokenOf, urlOf: (slug) => `${server.url}/${slug}`, manners, asked, close: server.close};
}

interface Exchange extends Size, Pick<AccountServer, 'manners' | 'asked' | 'tokenOf'> {
  readonly request: IncomingMessage & {readonly page: number};
  readonly response: ServerResponse;
}

async function answer(exchange: Exchange): Promise<void> {
  const {request, response, pages, perPage, manners, asked, tokenOf} = exchange;
  const path = new URL(request.url ?? '/', 'http://localhost').pathname;
  const [, slug = '', file = '', record] = path.split('/');
  asked.set(slug, (asked.get(slug) ?? 0) + 1);
  const manner = manners.get(slug) ?? {};
  await manner.before?.({path, page: request.page});
  if (manner.isBroken === true) {
    response.statusCode = 500;
    response.end();
    return;
  }
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
  // A record that no list holds is unknown, and a path that is none is taken for one of a job.
  if (element === undefined || record !== undefined) {
    response.statusCode = 400;
    const item = element === undefined ? 'job' : name.replace(/s$/, '');
    response.end(`<errors><error>Invalid ${item}.</error></errors>`);
    return;
  }
  const isPast = request.page > (name === 'employees' ? 1 : pages);
  const numbers = Array.from(
    {length: isPast ? 0 : perPage},
    (_, at) => (request.page - 1) * perPage + at + 1,
  );
  response.end(
    list(
      name,
      numbers.map((number) => element(number, slug)),
    ),
  );
}
