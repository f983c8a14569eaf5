import {describe, expect, test} from 'vitest';
import {fetchPages} from '../../src/sweeps/pages.ts';
import {createWritingClient, type WritingClient} from '../support/writing-client.ts';
import {startGatedServer} from './gates.ts';
import {openTransport} from './open-transport.ts';
import {EMPTY_LIST, failureOf} from './read-outcome.ts';
import {startRawServer, startServer} from './scripted-server.ts';

/**
 * Makes so many reads from a server that answers only when as many requests are open as are allowed
 * at once.
 * @param statusOf - of the answer with this number, from 1
 * @returns the open requests as each one came; for each refusal, how many had come, and were
 *   allowed
 */
async function observe(reads: number, statusOf: (count: number) => number) {
  const open: (() => void)[] = [];
  const atOnce: number[] = [];
  const refusals: {arrivals: number; allowed: number}[] = [];
  let answered = 0;
  let unsettled = reads;
  const server = await startServer((response) => {
    atOnce.push(
      open.push(() => {
        response.statusCode = statusOf(++answered);
        if (response.statusCode !== 200)
          refusals.push({arrivals: atOnce.length, allowed: allowed()});
        response.end(EMPTY_LIST);
      }),
    );
    pump();
  });
  const transport = openTransport(server.url, {clock: () => 0});
  const allowed = () => transport.limiter.concurrency;
  const pump = () => {
    if (open.length >= Math.min(allowed(), unsettled)) open.shift()?.();
  };
  const read = async () => {
    await transport.read({path: '/jobs.xml', onAttempt: pump});
    unsettled--;
    pump();
  };
  await Promise.all(Array.from({length: reads}, read));
  return {atOnce, refusals};
}

describe('the concurrency of an account', () => {
  test('grows to sixteen open requests while the server answers in time', async () => {
    const {atOnce} = await observe(200, () => 200);
    expect(atOnce.slice(0, 4)).toEqual([1, 2, 3, 4]);
    expect(Math.max(...atOnce)).toBe(16);
  });

  test.each([503, 429, 504])('halves at the server after a %i, and grows again', async (status) => {
    const {atOnce, refusals} = await observe(120, (count) => (count === 10 ? status : 200));
    const [refusal] = refusals;
    if (refusal === undefined) throw new Error('nothing was refused');
    const after = atOnce.slice(refusal.arrivals);
    expect(Math.max(...atOnce.slice(0, refusal.arrivals))).toBe(refusal.allowed);
    expect(refusal.allowed).toBeGreaterThan(5);
    const half = Math.floor(refusal.allowed / 2);
    expect(after.slice(0, half)).toEqual(Array.from({length: half}, () => half));
    expect(Math.max(...after)).toBeGreaterThan(refusal.allowed);
  });

  test('falls when answers become slow according to the transport clock', async () => {
    const clock = {ms: 0};
    const server = await startServer((response) => {
      clock.ms += 10_000;
      response.end(EMPTY_LIST);
    });
    const transport = openTransport(server.url, {clock: () => clock.ms, concurrency: {max: 4}});
    const read = (count: number) =>
      Promise.all(Array.from({length: count}, () => transport.read({path: '/jobs.xml'})));
    for (let n = 0; n < 8; n++) await read(1);
    expect(transport.limiter.concurrency).toBe(4);
    await read(20);
    expect(transport.limiter.concurrency).toBeLessThan(4);
  });

  test('halves when a request times out, connected or not', async () => {
    const server = await startRawServer(() => {});
    const limits = {timeoutMs: 50};
    const retry = {attempts: 1};
    for (const [url, options] of [
      [server.url, {}],
      ['https://nowhere.example', {lookup: () => {}}],
    ] as const) {
      const transport = openTransport(url, {limits, retry, ...options});
      await failureOf(transport.read({path: '/jobs.xml'}));
      expect(transport.limiter.concurrency).toBe(2);
    }
  });

  test('halves when a write is refused with 429', async () => {
    const server = await startServer((response) => {
      response.statusCode = 429;
      response.end();
    });
    const transport = openTransport(server.url);
    await transport.write({method: 'DELETE', path: '/tasks/7.xml'});
    expect(transport.limiter.concurrency).toBe(2);
  });

  test.each([400, 404, 422, 500, 502])('does not change on %i', async (status) => {
    const server = await startServer((response) => {
      response.statusCode = status;
      response.end();
    });
    const transport = openTransport(server.url, {retry: {attempts: 1}});
    const reads = Array.from({length: 40}, () => transport.read({path: '/jobs.xml'}));
    await Promise.allSettled(reads);
    expect(transport.limiter.concurrency).toBe(4);
  });
});

describe('urgency', () => {
  test('orders waiting requests: write-back first, then fresh, then full', async () => {
    const server = await startGatedServer();
    const transport = openTransport(server.url, {concurrency: {max: 1}});
    const api = createWritingClient(transport);
    const calls = [
      api.jobs.list({page: 1, urgency: 'full'}),
      api.jobs.list({page: 2, urgency: 'full'}),
      api.customers.list({page: 1}),
      api.fetchPage('/jobs.xml', {page: '3'}, {urgency: 'full'}),
      api.employees.list({urgency: 'fresh'}),
      api.tasks.remove('7'),
    ];
    const seen: string[] = [];
    for (const _ of calls) {
      const held = await server.next();
      seen.push(held.seen.url);
      held.answer(
        200,
        held.seen.method === 'DELETE' ? '' : EMPTY_LIST.replaceAll('jobs', listOf(held.seen.url)),
      );
    }
    await Promise.all(calls);
    expect(seen).toEqual([
      '/jobs.xml?page=1',
      '/tasks/7.xml',
      '/customers.xml?page=1',
      '/employees.xml',
      '/jobs.xml?page=2',
      '/jobs.xml?page=3',
    ]);
  });

  test('lets a window run between the pages of a full sweep', async () => {
    const server = await startGatedServer();
    const api = createWritingClient(openTransport(server.url, {concurrency: {max: 2}}));
    const options = {path: '/jobs.xml', query: {}, fromPage: 1, urgency: 'full'} as const;
    const sweep = fetchPages(api, options);
    const firstPage = sweep.next();
    const [first, second] = [await server.next(), await server.next()];
    const window = api.fetchPage('/tasks.xml', {});
    first.answer();
    await firstPage;
    const third = await server.next();
    expect(third.seen.url).toBe('/tasks.xml');
    third.answer();
    await window;
    second.answer();
    await sweep.return(undefined as never);
  });
});

describe('attempts', () => {
  /** Counts the attempts of an act, and those that the server saw. */
  async function count(
    statuses: readonly number[],
    act: (api: WritingClient, onAttempt: () => void) => Promise<unknown>,
  ) {
    const server = await startServer((response, _, n) => {
      response.writeHead(statuses[n - 1] ?? 200, {'content-type': 'application/xml'});
      response.end(EMPTY_LIST);
    });
    let attempts = 0;
    await act(createWritingClient(openTransport(server.url)), () => attempts++).catch(() => {});
    return {attempts, seen: server.seen.length};
  }

  test('are reported one by one, including failed ones', async () => {
    const list = (api: WritingClient, onAttempt: () => void) => api.jobs.list({onAttempt});
    expect(await count([], list)).toEqual({attempts: 1, seen: 1});
    expect(await count([503, 500], list)).toEqual({attempts: 3, seen: 3});
    expect(await count([503, 503, 503, 503], list)).toEqual({attempts: 4, seen: 4});
  });

  test('are reported by every kind of read', async () => {
    const acts: ((api: WritingClient, onAttempt: () => void) => Promise<unknown>)[] = [
      (api, onAttempt) => api.fetchPage('/jobs.xml', {}, {onAttempt}),
      (api, onAttempt) =>
        api.transport.read({path: '/jobs/7.xml', query: {include: 'notes'}, onAttempt}),
      (api, onAttempt) => api.jobs.show('7', {onAttempt}),
      (api, onAttempt) => api.jobs.listOfCustomer('7', {onAttempt}),
      (api, onAttempt) => api.jobNotes.list('7', {onAttempt}),
      (api, onAttempt) => api.jobNotes.show('7', '8', {onAttempt}),
    ];
    for (const act of acts) expect(await count([404], act)).toEqual({attempts: 1, seen: 1});
  });

  test('on pages requested ahead are reported, even if the pages are not used', async () => {
    const server = await startGatedServer();
    const api = createWritingClient(openTransport(server.url));
    let attempts = 0;
    const options = {path: '/jobs.xml', query: {}, fromPage: 1, onAttempt: () => attempts++};
    const sweep = fetchPages(api, options);
    const first = sweep.next();
    const held = [
      await server.next(),
      await server.next(),
      await server.next(),
      await server.next(),
    ];
    held[0]?.answer();
    await first;
    await sweep.return(undefined as never);
    expect(attempts).toBe(4);
    expect(server.seen).toHaveLength(4);
  });

  test('that never left this machine are not reported', async () => {
    let attempts = 0;
    const onAttempt = () => attempts++;
    const nobody = openTransport('http://127.0.0.1:1');
    await failureOf(nobody.read({path: '/jobs.xml', onAttempt}));
    const signal = AbortSignal.abort(new Error('enough'));
    await failureOf(nobody.read({path: '/jobs.xml', signal, onAttempt}));
    expect(attempts).toBe(0);
  });
});

function listOf(url: string): string {
  return /^\/(\w+)\.xml/.exec(url)?.[1] ?? 'jobs';
}
