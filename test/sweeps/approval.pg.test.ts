// A stopped sweep, and the effect of a person's approval.

import {afterEach, expect, test} from 'vitest';
import {UsageError} from '../../src/core/errors.ts';
import {readSweep, type Sweep} from '../../src/sweeps/sweeps.ts';
import {approveDeletions, approveSweep} from '../../src/sweeps/tombstones.ts';
import {inPages, openScript, range, type ScriptPlace} from '../labs/adversary-place.ts';

let place: ScriptPlace;

afterEach(async () => await place.close());

/** Half of the held records are gone, and the sweep was stopped over it. @returns its number */
async function openStopped(): Promise<string> {
  place = await openScript(inPages(range(1, 160), 40));
  expect(await place.sweep()).toMatchObject({state: 'certified'});
  place.script.pages = inPages(range(1, 80), 40);
  expect(await place.sweep()).toMatchObject({state: 'stopped'});
  expect(await place.deleted()).toEqual([]);
  const {rows} = await place.world.pool.query<{sweep_id: string}>(
    `SELECT sweep_id FROM sync.sweeps WHERE state = 'stopped'`,
  );
  place.script.questions.length = 0;
  return rows[0]?.sweep_id ?? '';
}

test('a stopped sweep lists every row it would delete, requested already or not', async () => {
  const sweepId = await openStopped();
  const {rows} = await place.world.pool.query(
    `SELECT count(*) FILTER (WHERE status = 400)::integer AS asked,
      count(*) FILTER (WHERE status IS NULL)::integer AS open
       FROM sync.tombstones WHERE sweep_id = $1 AND written_at IS NULL`,
    [sweepId],
  );
  expect(rows[0].asked).toBeGreaterThan(50);
  expect(rows[0].open).toBeGreaterThan(0);
  expect(rows[0].asked + rows[0].open).toBe(80);
});

test('an approved sweep requests each record again, and marks all missing ones', async () => {
  const sweepId = await openStopped();
  await approveSweep(place.world.pool, sweepId);
  expect(await place.sweep()).toMatchObject({state: 'uncertified', counts: {tombstoned: 80}});
  expect(await place.deleted()).toEqual(range(81, 160));
  expect(place.script.questions.map(({kind}) => kind)).toEqual(
    Array.from({length: 80}, () => 'record'),
  );
  expect(await place.sweep()).toMatchObject({state: 'certified', counts: {tombstoned: 0}});
});

test('an approved sweep does not mark records that have come back since it stopped', async () => {
  const sweepId = await openStopped();
  place.script.known = range(1, 100);
  await approveSweep(place.world.pool, sweepId);
  expect(await place.sweep()).toMatchObject({counts: {tombstoned: 60}});
  expect(await place.deleted()).toEqual(range(101, 160));
});

test('the next sweep is stopped as well, and the first can no longer be approved', async () => {
  const sweepId = await openStopped();
  expect(await place.sweep()).toMatchObject({state: 'stopped'});
  expect(await approveSweep(place.world.pool, sweepId)).toBeNull();
});

/** @returns the approved sweep, as approved by a person. @throws the error that the person gets */
async function approve(sweepId: string): Promise<Sweep> {
  const sweep = await readSweep(place.world.pool, sweepId);
  if (sweep === null) throw new Error(`expected a sweep ${sweepId}`);
  return await approveDeletions(place.world.pool, sweep);
}

test('a stopped sweep is approved once, and is due again', async () => {
  const sweepId = await openStopped();
  expect(await approve(sweepId)).toMatchObject({sweepId, state: 'due'});
  expect(await approveSweep(place.world.pool, sweepId)).toBeNull();
  await expect(approve(sweepId)).rejects.toThrow(
    new UsageError(`sweep ${sweepId} is due: only a stopped one waits for approval`),
  );
});

test('the error of an approval that comes too late names the later sweep', async () => {
  const sweepId = await openStopped();
  await place.sweep();
  await expect(approve(sweepId)).rejects.toThrow(
    new UsageError(
      `sweep ${sweepId}: a later full sweep of jobs has come to its end: ` +
        'look at that one (fieldmirror sweeps list jobs)',
    ),
  );
});
