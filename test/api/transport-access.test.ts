import {describe, expect, test} from 'vitest';
import {AccessError, FatalError} from '../../src/core/errors.ts';
import {createWritingClient} from '../support/writing-client.ts';
import {gateSleep, startGatedServer, turnOfLoop} from './gates.ts';
import {CANARY, openTransport} from './open-transport.ts';
import {always, EMPTY_LIST, failureOf} from './read-outcome.ts';
import {startServer} from './scripted-server.ts';

const DENIED = '<errors>\n  <error>Invalid Username, Account or password.</error>\n</errors>\n';
const WRITE = {method: 'PUT', path: '/jobs/7.xml', body: '<job/>'} as const;

describe('a refused token', () => {
  test('stops the account: waiting requests fail unsent, running ones may finish', async () => {
    const server = await startGatedServer();
    const transport = openTransport(server.url, {concurrency: {max: 2}});
    const first = failureOf(transport.read({path: '/jobs.xml'}));
    const second = transport.read({path: '/tasks.xml'});
    const waiting = [1, 2, 3].map((page) =>
      failureOf(transport.read({path: '/customers.xml', query: {page: `${page}`}})),
    );
    const write = transport.write(WRITE);
    const [one, two] = [await server.next(), await server.next()];
    one.answer(401, DENIED);
    const {message} = await first;
    for (const failure of await Promise.all(waiting)) {
      expect(failure).toBeInstanceOf(AccessError);
      expect(failure.message).toBe(message);
    }
    expect(await write).toMatchObject({
      outcome: 'refused',
      status: 401,
      isGone: false,
      error: {message},
    });
    two.answer();
    expect(await second).toMatchObject({status: 200});
    expect(server.seen).toHaveLength(2);
  });

  test('fails every later read and write with the same error, and sends none', async () => {
    const {server, transport} = await always(401, DENIED);
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    let attempts = 0;
    const later = await failureOf(
      transport.read({path: '/tasks.xml', onAttempt: () => attempts++}),
    );
    expect(later.message).toBe(error.message);
    expect(await createWritingClient(transport).tasks.remove('7')).toMatchObject({
      outcome: 'refused',
      message: 'Invalid Username, Account or password.',
      error: {name: 'AccessError', message: error.message},
    });
    expect(server.seen).toHaveLength(1);
    expect(attempts).toBe(0);
  });

  test('is reported with the host and what to check, but without the token', async () => {
    const {transport} = await always(401, `no access for ${CANARY}`);
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(FatalError);
    expect(error.name).toBe('AccessError');
    expect(error.message).toContain(transport.place);
    expect(error.message).toContain('check the token and the base address');
    expect(error.message).not.toContain(CANARY);
  });

  test('on several running requests gives one message', async () => {
    const server = await startGatedServer();
    const transport = openTransport(server.url);
    const reads = ['/jobs.xml', '/tasks.xml', '/customers.xml'].map((path) =>
      failureOf(transport.read({path})),
    );
    const write = transport.write(WRITE);
    for (let n = 0; n < 4; n++) (await server.next()).answer(401, DENIED);
    const messages = (await Promise.all(reads)).map(({message}) => message);
    expect(new Set(messages).size).toBe(1);
    expect(await write).toMatchObject({outcome: 'refused', error: {message: messages[0]}});
  });

  test('on a write also stops the reads', async () => {
    const {server, transport} = await always(401, DENIED);
    const outcome = await transport.write(WRITE);
    expect(outcome).toMatchObject({
      outcome: 'refused',
      status: 401,
      error: expect.any(AccessError),
    });
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBe(outcome.outcome === 'refused' ? outcome.error : null);
    expect(server.seen).toHaveLength(1);
  });

  test('ends the pause of a read that waits for its retry', async () => {
    const server = await startServer((response, {url}) => {
      response.statusCode = url === '/jobs.xml' ? 500 : 401;
      response.end();
    });
    const {sleep, slept} = gateSleep();
    const transport = openTransport(server.url, {retry: {sleep}});
    const {signal} = new AbortController();
    const pausing = [{}, {signal}].map((call) =>
      failureOf(transport.read({path: '/jobs.xml', ...call})),
    );
    while (slept.length < 2) await turnOfLoop();
    const error = await failureOf(transport.read({path: '/tasks.xml'}));
    expect(await Promise.all(pausing)).toEqual([error, error]);
    expect(server.seen).toHaveLength(3);
  });

  test('fails a request that a hold delays, with the same error', async () => {
    const server = await startGatedServer();
    const {sleep} = gateSleep();
    const transport = openTransport(server.url, {retry: {sleep}});
    const first = failureOf(transport.read({path: '/jobs.xml'}));
    const held = await server.next();
    transport.limiter.hold(60_000);
    const waits = failureOf(transport.read({path: '/tasks.xml'}));
    held.answer(401, DENIED);
    expect(await waits).toBe(await first);
  });

  test('does not affect a new transport', async () => {
    const server = await startServer((response, _, count) => {
      response.statusCode = count === 1 ? 401 : 200;
      response.end(EMPTY_LIST);
    });
    await failureOf(openTransport(server.url).read({path: '/jobs.xml'}));
    expect(await openTransport(server.url).read({path: '/jobs.xml'})).toMatchObject({status: 200});
  });
});

describe('a status other than 401 does not stop the account', () => {
  test.each([403, 400, 404, 500])('%i', async (status) => {
    const server = await startServer((response, _, count) => {
      response.statusCode = count === 1 ? status : 200;
      response.end(EMPTY_LIST);
    });
    const transport = openTransport(server.url, {retry: {attempts: 1}});
    await transport.read({path: '/jobs.xml'}).catch(() => {});
    expect(await transport.read({path: '/jobs.xml'})).toMatchObject({status: 200});
  });
});

describe('a closed transport', () => {
  test('fails waiting requests, and reports a waiting write as not sent', async () => {
    const server = await startGatedServer();
    const transport = openTransport(server.url, {concurrency: {max: 1}});
    const running = failureOf(transport.read({path: '/jobs.xml'}));
    await server.next();
    const read = failureOf(transport.read({path: '/tasks.xml'}));
    const write = transport.write(WRITE);
    await transport.close();
    await running;
    expect((await read).message).toContain('closed by us');
    expect(await write).toMatchObject({outcome: 'not-sent'});
    expect(server.seen).toHaveLength(1);
  });
});
