// Two versions at once, as during a rollout: the older one goes on with its work, carries each
// change once beside the newer one, and does not restart on a schema that it does not know.

import {afterEach, expect, inject, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {runCommand, startCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';
import {openRecordingProxy, type RecordingProxy} from '../support/recording-proxy.ts';

let place: Place;
let proxy: RecordingProxy;

afterEach(async () => {
  await proxy.close();
  await place.close();
});

async function ask(sql: string): Promise<Record<string, unknown>[]> {
  const pool = openPool(place.databaseUrl, {max: 1, applicationName: 'test'});
  const {rows} = await pool.query(sql);
  await pool.end();
  return rows;
}

test('a worker continues on a newer schema, but a new start of its version is rejected', {
  timeout: 180_000,
}, async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  proxy = await openRecordingProxy(place.service.url);
  const env = {...place.env, FIELDMIRROR_API_URL: proxy.url};
  const older = startCommand(['start'], env);
  const other = startCommand(['start'], env);
  try {
    await Promise.all([older.prints(/Running\. Ctrl-C/), other.prints(/Running\. Ctrl-C/)]);
    const customers = () =>
      ask(`SELECT count(*)::int FROM warehouse.customers WHERE customer_number <= 20`);
    await expect.poll(customers, {timeout: 30_000}).not.toEqual([{count: 0}]);
    // Traces of a later version: a migration that this one does not know, a column that it does not
    // write.
    await ask(`ALTER TABLE sync.changes ADD COLUMN of_a_later_version text`);
    await ask(
      `INSERT INTO sync.migrations (hash, created_at) VALUES ('from the future', 9999999999999)`,
    );
    await ask(
      `INSERT INTO warehouse.customers (name) SELECT 'New ' || n FROM generate_series(1, 10) AS n`,
    );
    const states = () => ask('SELECT state, count(*)::int FROM sync.changes GROUP BY state');
    await expect.poll(states, {timeout: 30_000}).toEqual([{state: 'done', count: 10}]);
    expect(proxy.takeWrites()).toHaveLength(10);
    const late = await runCommand(['start'], env);
    expect(late, late.stdout).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/update fieldmirror/),
    });
  } finally {
    for (const running of [older, other]) {
      running.process.kill('SIGTERM');
      await running.ended;
    }
  }
});
