// A service on a database of its own, and a caller that does not use src/api: it reads by other
// means.

import {XMLParser, XMLValidator} from 'fast-xml-parser';
import {Agent, request} from 'undici';
import {inject} from 'vitest';
import {type RunningService, type ServiceOptions, startService} from '../../src/service/server.ts';
import {createDatabase} from '../support/postgres.ts';
import {openPlainPool} from '../support/with-client.ts';

/**
 * The day of the shared business, a Monday, the day after the clocks went back: 10 in the morning
 * in New York.
 */
export const NOW = Date.parse('2026-11-02T15:00:00Z');

/** An element of an answer; its name with underscores whatever the dialect. */
export interface Seen {
  readonly tag: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly text: string;
  readonly elements: readonly Seen[];
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The root element; throws when the body is no XML document. */
  readonly root: Seen;
}

export interface Call {
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
}

export interface Sandbox {
  readonly service: RunningService;
  readonly databaseUrl: string;
  call(method: string, path: string, call?: Call): Promise<Answer>;
  get(path: string): Promise<Answer>;
  /** Sends a payload and returns the record of the answer. */
  send(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: string): Promise<Seen>;
  sql(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Stops the service and starts it on the same database. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

type Options = Partial<ServiceOptions> & {readonly isEmpty?: boolean};

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  trimValues: false,
  htmlEntities: true,
  ignoreDeclaration: true,
});

/** Starts a service on a copy of the shared business, or on an empty database. */
export async function openSandbox({isEmpty = false, ...options}: Options = {}): Promise<Sandbox> {
  const database = await createDatabase(isEmpty ? 'template0' : inject('businessTemplate'));
  const start = () =>
    startService({databaseUrl: database.url, now: () => NOW, compress: false, ...options});
  const pool = openPlainPool(database.url, {max: 2});
  const agent = new Agent();
  let service = await start();
  const call: Sandbox['call'] = async (
    method,
    path,
    {body, headers = {}, token = service.token} = {},
  ) => {
    const authorization = `Basic ${Buffer.from(`${token}:${token}`).toString('base64')}`;
    const type = body === undefined ? {} : {'content-type': 'application/xml'};
    const sent = {authorization, ...type, ...headers};
    const answer = await request(service.url + path, {
      method,
      headers: sent,
      body: body ?? null,
      dispatcher: agent,
    });
    return read(answer.statusCode, answer.headers, await answer.body.text());
  };
  return {
    get service() {
      return service;
    },
    databaseUrl: database.url,
    call,
    get: (path) => call('GET', path),
    send: async (method, path, body) => {
      const answer = await call(method, path, body === undefined ? {} : {body});
      if (answer.status !== 200)
        throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
      return answer.root;
    },
    sql: async (text, values = []) => (await pool.query(text, [...values])).rows,
    restart: async () => {
      await service.close();
      service = await start();
    },
    close: async () => {
      await agent.close();
      await service.close();
      await pool.end();
      await database.drop();
    },
  };
}

/** The text of a field: null when it is nil, undefined when it is not there. */
export function field(record: Seen, name: string): string | null | undefined {
  const element = record.elements.find((one) => one.name === name);
  if (element === undefined) return undefined;
  return element.attributes.nil === 'true' ? null : element.text;
}

/** The elements of a list by one of their fields. */
export function column(list: Seen, name: string): (string | null | undefined)[] {
  return list.elements.map((record) => field(record, name));
}

/** The element of that name within another. */
export function within(element: Seen, name: string): Seen {
  const found = element.elements.find((one) => one.name === name);
  if (found === undefined) throw new Error(`${element.name} holds no ${name}`);
  return found;
}

function read(status: number, headers: Answer['headers'], text: string): Answer {
  return {
    status,
    headers,
    text,
    get root() {
      const verdict = XMLValidator.validate(text);
      if (verdict !== true) throw new Error(`not XML: ${verdict.err.msg}: ${text.slice(0, 200)}`);
      const [root] = toElements(parser.parse(text));
      if (root === undefined) throw new Error('no root element');
      return root;
    },
  };
}

interface RawNode {
  readonly [name: string]: unknown;
}

function toElements(nodes: readonly RawNode[]): Seen[] {
  return nodes.flatMap((node) => {
    const tag = Object.keys(node).find((name) => name !== ':@' && name !== '#text');
    if (tag === undefined) return [];
    const inner = node[tag];
    const own: readonly RawNode[] = Array.isArray(inner) ? inner : [];
    const text = own
      .map((child) => (typeof child['#text'] === 'string' ? child['#text'] : ''))
      .join('');
    const attributes = Object.fromEntries(
      Object.entries(node[':@'] ?? {}).map(([name, value]) => [name, String(value)]),
    );
    return [{tag, name: tag.replaceAll('-', '_'), attributes, text, elements: toElements(own)}];
  });
}
