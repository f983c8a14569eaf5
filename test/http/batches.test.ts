// A request that is done batch by batch, and the turns of its key.

import {expect, test} from 'vitest';
import {Turns} from '../../src/http/keys.ts';
import {inBatches} from '../../src/http/lines.ts';
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
  const batches = inBatches(deps, 'key', {items: [1, 2, 3], size: 2, work, isPart});
  for await (const lines of batches) given.push(...lines);
  return given;
}

test('a request that has had a turn is not refused at its first batch', async () => {
  expect(await runAll(true)).toEqual([1, 2, 3]);
});

test('a request that has had none is refused where too many wait', async () => {
  await expect(runAll(false)).rejects.toMatchObject({body: {status: 429}});
});
