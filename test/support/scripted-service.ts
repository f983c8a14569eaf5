// A service that answers exactly as a test wants: for answers that the reference service never
// gives.

import type {IncomingMessage, ServerResponse} from 'node:http';
import {listenLocally} from './local-server.ts';

export interface ScriptedService {
  readonly url: string;
  readonly token: string;
  close(): Promise<void>;
}

/**
 * @param answer - called for every request; where it does not answer, a list is empty and a record
 *   unknown
 * @param address - of this machine
 */
export async function scriptService(
  answer: (
    request: IncomingMessage & {readonly page: number},
    response: ServerResponse,
  ) => boolean | undefined,
  address?: string,
): Promise<ScriptedService> {
  const {url, close} = await listenLocally((request, response) => {
    const {pathname, searchParams} = new URL(request.url ?? '/', 'http://localhost');
    response.setHeader('content-type', 'application/xml; charset=utf-8');
    const page = Number(searchParams.get('page') ?? 1);
    if (answer(Object.assign(request, {page}), response) === true) return;
    const record = /\/(\w+)s\/\d+\.xml$/.exec(pathname)?.[1];
    if (record !== undefined) {
      response.statusCode = 400;
      response.end(`<errors><error>Invalid ${record}.</error></errors>`);
      return;
    }
    response.end(list(pathname.slice(1).replace(/\.xml$/, ''), []));
  }, address);
  return {url, token: 'scripted', close};
}

/** A list in the observed dialect. */
export function list(name: string, records: readonly string[]): string {
  const head = '<?xml version="1.0" encoding="UTF-8"?>\n';
  if (records.length === 0) return `${head}<${name} type="array"/>\n`;
  const lines = records.map((record) => `  ${record}\n`).join('');
  return `${head}<${name} type="array">\n${lines}</${name}>\n`;
}

/** A job with its required fields, and more. */
export function job(number: number | string, more = ''): string {
  const keys =
    `<id type="integer">${Number(number) + 1_000_000}</id>` +
    `<job-number type="integer">${number}</job-number>`;
  return `<job>${keys}<name>Job ${number}</name>${more}</job>`;
}
