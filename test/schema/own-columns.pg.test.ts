// A column that a person adds to a table of the warehouse would be missing from its history. A
// write, `doctor` and `migrate` name it, with the next step.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {describeAddedColumns} from '../../src/schema/checks.ts';
import {type CaptureWorld, openCaptureWorld} from '../changes/capture-world.ts';
import {runCommand} from '../support/command.ts';

let world: CaptureWorld;
let rowId: string;
beforeAll(async () => {
  world = await openCaptureWorld();
  rowId = await world.sent('tasks', {id: '3', name: 'a'});
});
afterAll(() => world?.close());

test('a column of a person is named by each write of its table and by doctor', async () => {
  const names = () => world.author('SELECT name FROM history.tasks ORDER BY valid_from');
  expect(await describeAddedColumns(world.pool)).toBeNull();
  await world.author('ALTER TABLE warehouse.tasks ADD COLUMN "my score" int, ADD COLUMN n int');
  const refusal =
    'warehouse.tasks: expected no columns but those of Fieldmirror, got my score, n; ';
  const update = `UPDATE warehouse.tasks SET name = 'b' WHERE row_id = ${rowId}`;
  await expect(world.author(update)).rejects.toThrow(refusal);
  await expect(world.sweep(update)).rejects.toThrow(refusal);
  const {stdout} = await runCommand(['doctor', '--json'], {DATABASE_URL: world.url});
  expect(JSON.parse(stdout).findings).toContainEqual({
    what: 'columns',
    state: 'bad',
    found: expect.stringContaining('got warehouse.tasks."my score", warehouse.tasks.n: no row'),
  });
  await world.author(`UPDATE sync.source SET hash = 'that of another version'`);
  const {code, stderr} = await runCommand(['migrate'], {DATABASE_URL: world.url});
  expect({code, stderr}).toEqual({code: 3, stderr: expect.stringContaining('nothing was changed')});
  expect(stderr).toContain('got warehouse.tasks."my score", warehouse.tasks.n: no row');
  await world.author('ALTER TABLE warehouse.tasks DROP COLUMN "my score", DROP COLUMN n');
  expect(await runCommand(['migrate'], {DATABASE_URL: world.url})).toMatchObject({code: 0});
  await world.author(update);
  expect(await names()).toEqual([{name: 'a'}, {name: 'b'}]);
  expect(await describeAddedColumns(world.pool)).toBeNull();
});
