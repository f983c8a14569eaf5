// The parts that decide on requests without a database: the turns of a key, its places for waiting
// requests, and the host names that the server answers under.

import {EventEmitter} from 'node:events';
import type {FastifyReply} from 'fastify';
import {describe, expect, test} from 'vitest';
import {listKnownNames, Turns, WaitingPlaces} from '../../src/http/keys.ts';
import {HttpProblem} from '../../src/http/problem.ts';

/** Work that begins when its turn comes, and ends when the test says so. */
class Work {
  hasBegun = false;
  readonly #ended = Promise.withResolvers<void>();

  readonly begin = async () => {
    this.hasBegun = true;
    await this.#ended.promise;
  };

  end(): void {
    this.#ended.resolve();
  }
}

describe('the turns of a key', () => {
  const limits = {atOnce: 1, waiting: 2};
  const makeWork = (length: number) => Array.from({length}, () => new Work());

  test('carry out one request after another, also after the first has ended', async () => {
    const turns = new Turns('writes', limits);
    const work = makeWork(4);
    const [first, second, third] = work.slice(0, 3).map(({begin}) => turns.take('1', begin));
    work[0]?.end();
    await first;
    const fourth = turns.take('1', work[3]?.begin ?? expect.fail);
    expect(work.map(({hasBegun}) => hasBegun)).toEqual([true, true, false, false]);
    work[1]?.end();
    await second;
    const fifth = new Work();
    const last = turns.take('1', fifth.begin);
    expect([work[2], work[3], fifth].map((one) => one?.hasBegun)).toEqual([true, false, false]);
    for (const one of [...work, fifth]) one.end();
    await Promise.all([third, fourth, last]);
    expect(fifth.hasBegun).toBe(true);
  });

  test('refuse one request too many with 429, but no part of one, and no other key', async () => {
    const turns = new Turns('writes', limits);
    const work = makeWork(5);
    const taken = work.slice(0, 3).map(({begin}) => turns.take('1', begin));
    await expect(turns.take('1', async () => {})).rejects.toMatchObject({
      body: {
        status: 429,
        detail: 'this key has 1 writes in progress and 2 waiting',
        hint: 'Send fewer at once, and this one again later; nothing was done.',
      },
    });
    taken.push(turns.take('1', work[3]?.begin ?? expect.fail, {isPart: true}));
    taken.push(turns.take('2', work[4]?.begin ?? expect.fail));
    expect(work.map(({hasBegun}) => hasBegun)).toEqual([true, false, false, false, true]);
    for (const one of work) one.end();
    await Promise.all(taken);
    expect(work.every(({hasBegun}) => hasBegun)).toBe(true);
  });
});

describe('the places of a key for waiting requests', () => {
  const open = (closed = false) => {
    const raw = Object.assign(new EventEmitter(), {closed});
    return {raw, reply: {raw} as unknown as FastifyReply};
  };
  const fill = (places: WaitingPlaces, work: readonly Work[]) =>
    work.map(({begin}) => places.take('1', open().reply, begin));

  test('are twenty, and one is free again when its request ends', async () => {
    const places = new WaitingPlaces('the feed', 'Wait.');
    const work = Array.from({length: 20}, () => new Work());
    const taken = fill(places, work);
    const detail = 'this key has 20 requests for the feed in progress';
    const refusal = {body: {status: 429, detail, hint: 'Wait.'}};
    const takeOne = (key = '1') => places.take(key, open().reply, async () => 'taken');
    await expect(takeOne()).rejects.toMatchObject(refusal);
    expect(await takeOne('2')).toBe('taken');
    work[0]?.end();
    await taken[0];
    const next = new Work();
    const [nextTaken] = fill(places, [next]);
    await expect(takeOne()).rejects.toMatchObject(refusal);
    for (const one of [...work, next]) one.end();
    await Promise.all([...taken, nextTaken]);
    expect(await takeOne()).toBe('taken');
  });

  test('tell the work when the client has disconnected, before it or meanwhile', async () => {
    const places = new WaitingPlaces('the feed', 'Wait.');
    const isAborted = async (signal: AbortSignal) => signal.aborted;
    expect(await places.take('1', open(true).reply, isAborted)).toBe(true);
    const {raw, reply} = open();
    const meanwhile = places.take('1', reply, async (signal) => {
      expect(signal.aborted).toBe(false);
      raw.emit('close');
      return signal.aborted;
    });
    expect(await meanwhile).toBe(true);
  });

  test('are given back if the work fails', async () => {
    const places = new WaitingPlaces('the feed', 'Wait.');
    for (let at = 0; at < 25; at++) {
      const failing = places.take('1', open().reply, async () => {
        throw new HttpProblem(410, 'cursor-gone');
      });
      await expect(failing).rejects.toMatchObject({body: {status: 410}});
    }
  });
});

describe('a server answers', () => {
  const publicUrl = new URL('https://Mirror.example.com:8443/x');
  const none = {publicUrl: null, hostNames: []};

  test.each([
    ['127.0.0.1', none, ['localhost', 'LocalHost', '127.0.0.1', '[::1]'], ['10.0.0.1', '[::2]']],
    ['localhost', none, ['localhost', '127.0.0.1'], ['10.0.0.1', 'erp.example.com']],
    ['::1', none, ['[::1]', 'localhost'], ['::1', '10.0.0.1', '[fd00::7]']],
    ['0.0.0.0', none, ['0.0.0.0', '10.0.0.1', '[fd00::7]'], ['fd00::7', '[10.0.0.1]', '[x]', 'x']],
    ['::', none, ['[::]', '10.0.0.1', '[fd00::7]', 'localhost'], ['::', 'erp.example.com']],
    [
      '127.0.0.1',
      {publicUrl, hostNames: ['Mirror.svc']},
      ['mirror.example.com', 'mirror.svc', 'MIRROR.SVC', 'localhost'],
      ['example.com', '10.0.0.1', 'mirror.example.com:8443'],
    ],
  ])('on %s under its own names alone', (host, options, known, unknown) => {
    const names = listKnownNames(host, options);
    expect(known.filter((name) => !names.has(name))).toEqual([]);
    expect(unknown.filter((name) => names.has(name))).toEqual([]);
  });

  test.each([
    ['127.0.0.1', none, false],
    ['::1', none, false],
    ['0.0.0.0', none, true],
    ['::', none, true],
    ['127.0.0.1', {publicUrl, hostNames: []}, true],
    ['127.0.0.1', {publicUrl: null, hostNames: ['mirror.svc']}, false],
  ])('on %s probes under any name, if others can reach it (%#)', (host, options, isAnswered) => {
    const names = listKnownNames(host, options);
    expect(names.hasForProbe('pod-7.example')).toBe(isAnswered);
    expect(names.hasForProbe('localhost')).toBe(true);
  });

  test('with the name and port of its public address, if there is one', () => {
    expect(listKnownNames('::', {publicUrl, hostNames: []}).publicHost).toBe(
      'mirror.example.com:8443',
    );
    expect(listKnownNames('::', none).publicHost).toBeNull();
  });
});
