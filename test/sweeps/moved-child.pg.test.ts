// Children that change their parent between two sweeps: they never were gone.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {job, list, type ScriptedService, scriptService} from '../support/scripted-service.ts';
import {openWorld, type TestWorld} from '../support/world.ts';

let service: ScriptedService;
let world: TestWorld;
/** The only page of jobs that is not empty. */
let page = '';

beforeAll(async () => {
  service = await scriptService((request, response) => {
    if (!request.url?.startsWith('/jobs.xml') || request.page !== 1) return false;
    response.end(page);
    return true;
  });
  world = await openWorld(service);
});

afterAll(async () => {
  await world.close();
  await service.close();
});

/** Sweeps jobs with these notes, by their ids. */
async function sweep(...notes: readonly (readonly number[])[]) {
  page = list(
    'jobs',
    notes.map((ids, at) => {
      const items = ids.map(
        (id) => `<note><id type="integer">${id}</id><text>note ${id}</text></note>`,
      );
      return job(at + 1, `<notes type="array">${items.join('')}</notes>`);
    }),
  );
  return await world.sweep('jobs');
}

const readNotes = async () =>
  (
    await world.pool.query<{line: string}>(
      `SELECT concat_ws(' ', id, job_number, CASE WHEN _deleted_at IS NOT NULL THEN 'gone' END)
        AS line
         FROM warehouse.job_notes ORDER BY id`,
    )
  ).rows.map(({line}) => line);

test('a note that moved to a job without notes gets one new version', async () => {
  await sweep([7, 8, 9], []);
  expect(await readNotes()).toEqual(['7 1', '8 1', '9 1']);
  expect(await sweep([7], [9])).toMatchObject({state: 'certified', counts: {vanished: 1}});
  expect(await readNotes()).toEqual(['7 1', '8 1 gone', '9 2']);
  const {rows} = await world.pool.query(
    `SELECT job_number::int, valid_to IS NULL AS "isPresent" FROM history.job_notes
      WHERE id = 9 ORDER BY valid_from`,
  );
  expect(rows).toEqual([
    {job_number: 1, isPresent: false},
    {job_number: 2, isPresent: true},
  ]);
});
