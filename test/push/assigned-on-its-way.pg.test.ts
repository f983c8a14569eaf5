// An employee is taken off a job while the change that assigns the employee is on its way: it still
// assigns.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {employeeResource, jobResource} from '../../src/service/resource.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

let place: ScriptedPlace;
let jobRow = '';
let employeeId = '';

const takeOff = async () =>
  await place.author('DELETE FROM warehouse.job_employees WHERE _deleted_at IS NULL');
const assign = async () =>
  await place.author(
    `INSERT INTO warehouse.job_employees (job_number, parent_row_id, employee_id)
     SELECT job_number, CASE WHEN job_number IS NULL THEN row_id END, $2 FROM warehouse.jobs
     WHERE row_id = $1`,
    [jobRow, employeeId],
  );
const assigned = async () =>
  (
    await place.author(
      'SELECT employee_id::text AS id FROM warehouse.job_employees WHERE _deleted_at IS NULL',
    )
  ).map(({id}) => id);
const assignedThere = () =>
  place.service.store.list(jobResource, null).map(({employeeIds}) => employeeIds);

beforeEach(async () => {
  place = await openScriptedPlace();
  const by = {method: 'POST', path: '/employees.xml', isOurs: false};
  const wanted = {changes: {name: 'Bo', active: 'true'}, employeeIds: [], owner: null};
  employeeId = String(place.service.store.create(employeeResource, wanted, by).fields.id);
  await place.author("INSERT INTO warehouse.customers (name) VALUES ('Ada')");
  await place.rest();
  const [job] = await place.author(
    `INSERT INTO warehouse.jobs (parent_row_id, name)
     SELECT row_id, 'Roof' FROM warehouse.customers RETURNING row_id`,
  );
  jobRow = String(job?.row_id);
});
afterEach(async () => await place.close());

/** Sends the change to its end; the changes that waited for it are not carried. */
async function endWhile(happens: () => Promise<unknown>): Promise<void> {
  await assign();
  await place.push({
    onStep: async (step) => {
      if (step === 'turn') await happens();
      if (step === 'end-written')
        await place.pool.query(`UPDATE sync.accounts SET state = 'paused'`);
    },
  });
  await place.pool.query(`UPDATE sync.accounts SET state = 'active'`);
}

describe.each([
  ['the create of the job', async () => {}],
  ['an update of the job', async () => void (await place.rest())],
])('an employee who is assigned by %s, and removed meanwhile', (_, prepare) => {
  beforeEach(prepare);

  test('is removed here when the change ends, and at the service later', async () => {
    await endWhile(takeOff);
    expect([await assigned(), assignedThere()]).toEqual([[], [[employeeId]]]);
    await place.rest();
    expect([await assigned(), assignedThere()]).toEqual([[], [[]]]);
  });

  test('can be assigned again before and after the change ends', async () => {
    await endWhile(async () => {
      await takeOff();
      await assign();
      await takeOff();
    });
    await assign();
    await place.rest();
    expect([await assigned(), assignedThere()]).toEqual([[employeeId], [[employeeId]]]);
  });
});
