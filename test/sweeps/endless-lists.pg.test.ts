// A list without an end brings new numbers on every page, and nothing in it says so.

import {afterEach, expect, test} from 'vitest';
import {exitCodeOf} from '../../src/cli/process.ts';
import {runSweep} from '../../src/sweeps/run-sweep.ts';
import {requestSweep} from '../../src/sweeps/sweeps.ts';
import {openScript, range, type ScriptPlace} from '../labs/adversary-place.ts';
import {refuse} from '../labs/adversary-script.ts';
import {job, list} from '../support/scripted-service.ts';

let place: ScriptPlace;

afterEach(async () => await place.close());

const listBounds = {multiple: 3, least: 10, unknown: 200, beyond: 20};

async function sweep(requestedBy: 'schedule' | 'command') {
  const {world} = place;
  const {accountId} = world.account;
  const {sweepId} = await requestSweep(world.pool, {
    accountId,
    stream: 'jobs',
    mode: 'full',
    requestedBy,
  });
  const deps = {...world, batchRecords: 30, listBounds};
  return await runSweep(deps, sweepId, new AbortController().signal);
}

/** Every page of a kind brings thirty new numbers. */
function endless(kind: 'page' | 'keys'): void {
  place.script.twist = (question, response) => {
    if (question.kind !== kind) return false;
    const first = (question.number - 1) * 30 + 1;
    return refuse(response, 200, {
      body: list(
        'jobs',
        range(first, first + 29).map((number) => job(number)),
      ),
    });
  };
}

function expectStopped(result: Awaited<ReturnType<typeof sweep>>, most: number): void {
  if (result.outcome !== 'failed') throw new Error(`expected a failure, got ${result.outcome}`);
  expect(result.error.message).toContain(`expected the end of the list, at most ${most} records`);
  expect(result.error.message).toContain('fieldmirror sync jobs --account test');
  expect(exitCodeOf(result.error)).toBe(3);
}

test('an endless list of unknown length fails the sweep at the general limit', async () => {
  place = await openScript([]);
  endless('page');
  expectStopped(await sweep('schedule'), 200);
  expect((await place.live()).length).toBeLessThan(300);
});

test('a known list fails at three times its earlier length; sync by hand reads on', async () => {
  place = await openScript([range(1, 30)]);
  expect(await sweep('schedule')).toMatchObject({state: 'certified'});
  endless('page');
  for (let night = 0; night < 2; night++) {
    expectStopped(await sweep('schedule'), 90);
    expect((await place.live()).length).toBeLessThan(200);
  }
  const held = (await place.live()).length;
  expectStopped(await sweep('command'), held * 3);
  expect((await place.live()).length).toBeGreaterThan(held);
});

test('an endless second pass fails the sweep as well', async () => {
  place = await openScript([range(1, 30)]);
  endless('keys');
  expectStopped(await sweep('schedule'), 90);
});

test('if every number returns a record, the sweep stops requesting, uncertified', async () => {
  place = await openScript([range(1, 30)]);
  place.script.known = range(1, 1_000);
  expect(await sweep('schedule')).toMatchObject({
    state: 'uncertified',
    reasons: expect.arrayContaining([
      expect.stringMatching(/^the numbers above 50 are still to be requested/),
    ]),
  });
  expect(await place.live()).toEqual(range(1, 50));
});
