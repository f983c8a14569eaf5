// A row that was written past the triggers keeps its hash. Full sweeps compare the content of
// sampled rows.

import pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {allStreams, allTables, findStream} from '../../src/streams/all.ts';
import {findDifferences} from '../support/compare.ts';
import {readTruth} from '../support/truth.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

let service: TestService;
let world: TestWorld;
beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  await world.sweepAll();
});
afterAll(async () => {
  await world?.close();
  await service?.close();
});

/** Writes as a restore or a repair by hand does, unseen by any trigger. */
async function writeUnseen(text: string): Promise<void> {
  const client = await world.pool.connect();
  try {
    await client.query(
      `BEGIN; SET LOCAL session_replication_role = 'replica';
        SET LOCAL fieldmirror.writer = 'repair'; ${text}; COMMIT`,
    );
  } finally {
    client.release(true);
  }
}
/** Makes the next sweep expect a list of so many pages. */
const pretendPages = (stream: string, count: number) =>
  world.pool.query(
    `UPDATE sync.sweeps SET evidence = jsonb_set(evidence, '{firstPass,lastPage}', $2::text::jsonb)
      WHERE sweep_id = (SELECT max(sweep_id) FROM sync.sweeps WHERE stream = $1)`,
    [stream, count],
  );
const lastSweep = async () =>
  (
    await world.pool.query(
      'SELECT state, reasons, evidence FROM sync.sweeps ORDER BY sweep_id DESC LIMIT 1',
    )
  ).rows[0];
/** The newest transaction that wrote each table. */
const writes = async () => {
  const tables = allTables.map(
    ({name}) => `(SELECT max(xmin::text::bigint) FROM warehouse.${name}) AS ${name}`,
  );
  return (await world.pool.query(`SELECT ${tables.join(', ')}`)).rows[0];
};
const expectTruth = async (stream: string) => {
  const client = new pg.Client({connectionString: world.databaseUrl});
  await client.connect();
  try {
    const found = findStream(stream);
    expect(await findDifferences(client, found, await readTruth(service, found))).toEqual([]);
  } finally {
    await client.end();
  }
};

test.each(allStreams.map(({name}) => name))(
  'a sweep of unchanged %s compares a sample, and writes no row',
  async (stream) => {
    const before = await writes();
    await world.sweep(stream);
    expect(await writes()).toEqual(before);
    const {state, evidence} = await lastSweep();
    expect(state).toBe('certified');
    expect(evidence.sample.records).toBeGreaterThan(0);
    expect(evidence.sample.altered).toBe(0);
  },
);

/** One text of each table that a stream fills. */
const textsOf = (stream: string) => {
  const {table, children} = findStream(stream);
  return [...new Set([table, ...children.map((child) => child.table)])].flatMap(
    ({name, columns, key}) => {
      const column = columns.find(
        ({type, name: column}) => type === 'text' && !key.includes(column),
      );
      return column === undefined ? [] : [{place: `warehouse.${name}`, column: column.name}];
    },
  );
};

test.each(allStreams.map(({name}) => name))(
  'a sweep of %s corrects values written past the triggers, in every table that it fills',
  async (stream) => {
    const texts = textsOf(stream);
    const forged = texts
      .map(
        ({place, column}) => `(SELECT count(*)::integer FROM ${place} WHERE ${column} = 'FORGED')`,
      )
      .join(' + ');
    const count = async () => (await world.pool.query(`SELECT ${forged} AS forged`)).rows[0].forged;
    const forge = texts.map(
      ({place, column}) =>
        `UPDATE ${place} SET ${column} = 'FORGED'
          WHERE row_id = (SELECT max(row_id) FROM ${place}
            WHERE _hash IS NOT NULL AND _deleted_at IS NULL AND ${column} IS NOT NULL)`,
    );
    await writeUnseen(forge.join('; '));
    const before = await count();
    expect(before).toBeGreaterThan(0);
    await pretendPages(stream, 2);
    await world.sweep(stream);
    expect(await count()).toBe(0);
    expect((await lastSweep()).evidence.sample.altered).toBe(before);
    await expectTruth(stream);
  },
);

describe('children', () => {
  test.each([
    ['taken out', 'DELETE FROM warehouse.job_notes WHERE job_number = $job'],
    [
      'put in',
      `INSERT INTO warehouse.job_notes (account_id, id, job_number, note, _hash, _sweep_id)
        VALUES ($account, 987654, $job, 'FORGED', '\\x00', 1)`,
    ],
  ])('that were %s past the triggers are corrected within two sweeps', async (_, text) => {
    const {rows: [note] = []} = await world.pool.query(
      'SELECT job_number FROM warehouse.job_notes WHERE _deleted_at IS NULL LIMIT 1',
    );
    await writeUnseen(
      text.replace('$job', note.job_number).replace('$account', world.account.accountId),
    );
    await pretendPages('jobs', 2);
    await world.sweep('jobs');
    await world.sweep('jobs');
    await expectTruth('jobs');
  });
});

test('a sweep compares part of a long list, and all of it after a difference', async () => {
  await world.sweep('jobs');
  expect((await lastSweep()).evidence.sample.isWhole).toBe(false);
  await pretendPages('jobs', 2);
  await world.sweep('jobs');
  const {records, isWhole} = (await lastSweep()).evidence.sample;
  expect([records, isWhole]).toEqual([240, true]);
  await writeUnseen(`UPDATE warehouse.jobs SET name = 'FORGED'`);
  await pretendPages('jobs', 4);
  await world.sweep('jobs');
  const {state, reasons} = await lastSweep();
  expect(state).toBe('uncertified');
  expect(reasons.join()).toMatch(/rows of a sample of \d+ records held something else/);
  await world.sweep('jobs');
  expect(await lastSweep()).toMatchObject({
    state: 'certified',
    evidence: {sample: {isWhole: true}},
  });
  await expectTruth('jobs');
});
