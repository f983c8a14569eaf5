// A request that is done batch by batch, and the turns of its key.

import {describe, expect, test} from 'vitest';
import {Turns} from '../../src/http/keys.ts';
import {runInBatches, splitBySize} from '../../src/http/lines.ts';
import {HttpProblem} from '../../src/http/problem.ts';

/** The lines of a request's batches, by a key of which no request may wait for its turn. */
async function runAll(isPart: boolean): Promise<number[]> {
  const deps = {
    turns: new Turns('writes', {atOnce: 1, waiting: 0}),
    stop: new AbortController().signal,
    explain: () => new HttpProblem(500, 'bug'),
  };
  const work = async (batch: readonly number[]) => [...batch];
  const given: number[] = [];
  const steps = splitBySize([1, 2, 3], 2).map((batch) => [batch]);
  const batches = runInBatches(deps, 'key', {steps, work, isPart});
  for await (const lines of batches) given.push(...lines);
  return given;
}

test('a request that already had a turn is not rejected at its first batch', async () => {
  expect(await runAll(true)).toEqual([1, 2, 3]);
});

test('a request without a turn is rejected if too many requests are waiting', async () => {
  await expect(runAll(false)).rejects.toMatchObject({body: {status: 429}});
});

describe('parallel batches', () => {
  const deps = {
    turns: new Turns('writes', {atOnce: 4, waiting: 1}),
    stop: new AbortController().signal,
    explain: (error: unknown) => new HttpProblem(503, 'unavailable', {detail: String(error)}),
  };

  test('run at the same time', async () => {
    const begun = Promise.withResolvers<void>();
    const work = async (batch: readonly number[]) => {
      if (batch[0] === 2) await begun.promise;
      if (batch[0] === 3) begun.resolve();
      return [...batch];
    };
    const batches = runInBatches(deps, 'key', {steps: [[[1]], [[2], [3]]], work});
    expect(await Array.fromAsync(batches)).toEqual([[1], [2, 3]]);
  });

  test.each([
    [2, [3]],
    [3, [2]],
  ])('return the lines of the other batch and then end if one fails (%i)', async (bad, lines) => {
    const work = async (batch: readonly number[]) => {
      if (batch[0] === bad) throw new Error('locked');
      return [...batch];
    };
    const batches = runInBatches(deps, 'key', {steps: [[[1]], [[2], [3]], [[4]]], work});
    expect(await batches.next()).toEqual({done: false, value: [1]});
    expect(await batches.next()).toEqual({done: false, value: lines});
    expect(await batches.next()).toMatchObject({
      done: true,
      value: {status: 503, detail: 'Error: locked', hint: expect.stringContaining('the rest')},
    });
  });
});
