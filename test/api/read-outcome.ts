import {inspect} from 'node:util';
import {expect} from 'vitest';
import {type Answer, isMissingRecord, type MissingRecord} from '../../src/api/verdict.ts';
import {CANARY, openTransport} from './open-transport.ts';
import {startServer} from './scripted-server.ts';

export const ENCODED = Buffer.from(`${CANARY}:${CANARY}`).toString('base64');
export const EMPTY_LIST = '<jobs type="array"/>';

/** The error of a read that fails; no way of printing it shows the token. */
export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const inspected = inspect(error, {depth: 10, showHidden: true});
    const shown = `${inspected} ${JSON.stringify(error)} ${error.stack}`;
    expect(shown).not.toContain(CANARY);
    expect(shown).not.toContain(ENCODED);
    return error;
  }
  throw new Error('it succeeded');
}

/** The answer of a read that succeeds. */
export async function answerOf(read: Promise<Answer | MissingRecord>): Promise<Answer> {
  const answer = await read;
  if (isMissingRecord(answer)) throw new Error('expected an answer, got gone');
  return answer;
}

/** A transport to a server that gives every request the same answer. */
export async function always(
  status: number,
  body: string | Buffer = '',
  headers: Record<string, string> = {},
) {
  const server = await startServer((response) => {
    response.writeHead(status, {'content-type': 'application/xml; charset=utf-8', ...headers});
    response.end(body);
  });
  return {server, transport: openTransport(server.url)};
}
