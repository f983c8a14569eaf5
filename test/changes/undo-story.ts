// Jobs are spoilt by one UPDATE, half of them are sent, the rest is stopped, and all of it is taken
// back: by the commands that an operator types, against the reference service.

import {expect} from 'vitest';
import {pushAccount} from '../../src/push/push.ts';
import {runCommand} from '../support/command.ts';
import {openWorld, type TestService, type TestWorld} from '../support/world.ts';

interface Story {
  readonly service: TestService;
  /** Its jobs are swept. */
  readonly world: TestWorld;
  /** The service has at least so many jobs. */
  readonly jobs: number;
  /** Pauses the account, once half of the jobs are sent. */
  readonly pause: () => Promise<unknown>;
}

/** The jobs as the service has them: what a warehouse that knows nothing reads. */
async function readService(service: TestService): Promise<Map<string, unknown>> {
  const other = await openWorld(service);
  try {
    await other.sweep('jobs');
    const {rows} = await other.pool.query(
      'SELECT job_number, name, scheduled_on FROM warehouse.jobs',
    );
    return new Map(rows.map(({job_number, ...values}) => [job_number, values]));
  } finally {
    await other.close();
  }
}

/** Afterwards the service holds what it held, but for what others changed since, which is told. */
export async function playUndo({service, world, jobs, pause}: Story): Promise<void> {
  const env = {DATABASE_URL: world.databaseUrl};
  const changes = (...args: string[]) => runCommand(['changes', ...args], env);
  const accounts = (...args: string[]) => runCommand(['accounts', ...args], env);
  const query = async (text: string, values: unknown[] = []) =>
    (await world.pool.query(text, values)).rows;
  const push = (onCarried = () => {}) =>
    pushAccount({...world, onCarried}, world.account.accountId, new AbortController().signal);
  const countStates = async () =>
    Object.fromEntries(
      (
        await query(
          `SELECT state, count(*)::integer AS count FROM sync.changes WHERE batch = 'import 4711'
           GROUP BY state`,
        )
      ).map(({state, count}) => [state, count]),
    );

  const before = await readService(service);
  expect(before.size).toBeGreaterThanOrEqual(jobs);
  await query(`BEGIN; SET LOCAL fieldmirror.batch = 'import 4711';
    UPDATE warehouse.jobs SET name = 'spoilt', scheduled_on = '2027-01-04 15:00+00'
      WHERE _deleted_at IS NULL; COMMIT`);

  // It is held, for it edits every job; somebody releases it all the same.
  expect(await countStates()).toEqual({held: before.size});
  expect(await changes('release', '--batch', 'import 4711')).toMatchObject({code: 0});

  // Half of them are sent, then a person pauses the account.
  const half = before.size / 2;
  let carried = 0;
  const paused = Promise.withResolvers<unknown>();
  await push(() => {
    if (++carried === Math.ceil(half)) pause().then(paused.resolve, paused.reject);
  });
  await paused.promise;
  const {done, pending} = await countStates();
  expect(done).toBeGreaterThanOrEqual(half);
  expect(done + pending).toBe(before.size);

  // Meanwhile a job is renamed here, and another one at the service, which nobody has read yet.
  const [own, theirs] = (
    await query(`SELECT number FROM sync.changes WHERE state = 'done' ORDER BY change_id LIMIT 2`)
  ).map(({number}) => number);
  await query(`UPDATE warehouse.jobs SET name = 'renamed here' WHERE job_number = $1`, [own]);
  expect(await world.api.jobs.update(theirs, {name: 'renamed there'})).toMatchObject({
    outcome: 'done',
  });

  const undo = ['undo', '--batch', 'import 4711'];
  const preview = await changes(...undo, '--dry-run');
  expect(preview.stdout).toContain('nothing was done');
  expect(preview.stdout.match(/^ {2}PUT \/jobs\/\d+\.xml$/gm)).toHaveLength(done);
  expect(await countStates()).toEqual({done, pending});

  const undone = await changes(...undo);
  expect(undone).toMatchObject({code: 1, stderr: ''});
  expect(undone.stdout.replace(/,(?=\d{3})/g, '')).toMatch(
    new RegExp(`^${pending} changes, not sent yet: are given up
${done} changes, done: are taken back by ${done} changes, held until released
.*
  fieldmirror changes release --batch 'undo of import 4711'  # lets them go
Left, and why:
  1  name: changed since \\(change \\d+\\)
$`),
  );
  expect(await countStates()).toEqual({done, cancelled: pending});

  // Nothing of it is sent before it is released.
  expect(await accounts('resume', world.account.name)).toMatchObject({code: 0});
  expect(await push()).toMatchObject({done: 1, conflict: 0});
  expect(await changes('release', '--batch', 'undo of import 4711')).toMatchObject({code: 0});
  expect(await push()).toMatchObject({done: done - 1, conflict: 1, rejected: 0});
  expect((await changes('list', '--state', 'conflict')).stdout).toContain('changed on both sides');
  expect(await changes('resolve', '--state', 'conflict', '--take', 'service')).toMatchObject({
    code: 0,
  });
  expect(await push()).toMatchObject({done: 1});

  const expected = new Map(before);
  expected.set(own, {...(before.get(own) as object), name: 'renamed here'});
  expected.set(theirs, {...(before.get(theirs) as object), name: 'renamed there'});
  expect(await readService(service)).toEqual(expected);
}
