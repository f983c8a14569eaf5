// Nights whose delivery is killed at random moments: what a reader loads afterwards is the star in
// every row, and at no moment does it see half of a snapshot. LONG=1 lives through 30 nights.

import {readdir} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {Random} from '../../src/service/vocabulary.ts';
import {exportedTables} from '../../src/star/star.ts';
import {startCommand} from '../support/command.ts';
import {
  type DeliveryPlace,
  listShown,
  openDeliveryPlace,
  queryDuck,
  type ReadManifest,
  readManifest,
  readSnapshot,
} from './delivery-place.ts';

const nights = process.env.LONG === '1' ? 30 : 3;
const seed = process.env.SEED ?? '1';
const keep = 4;
/** From a step to the kill, at most. */
const longestMs = 40;

let place: DeliveryPlace;
beforeAll(async () => {
  place = await openDeliveryPlace();
  expect(await place.apply({delivery: {lake: {to: place.lake, keep}}})).toMatchObject({code: 0});
});
afterAll(() => place?.close());

const steps = [
  'refreshing the star',
  ...exportedTables.map(({name}) => `writing ${name},`),
  'checking the tie-outs',
  // What follows is quick: a kill there hits the renaming, the pointer, the removal or the note.
  ...Array.from({length: 8}, () => 'publishing'),
];

const anyRow = (table: string) =>
  `(SELECT row_id FROM warehouse.${table} ORDER BY row_id OFFSET $1 % (SELECT count(*)
     FROM warehouse.${table}) LIMIT 1)`;

/** What changes from one night to the next; each by a number that was drawn. */
const edits = [
  `UPDATE warehouse.jobs SET subtotal = coalesce(subtotal, 0) + $1 / 7.0, total = $1
    WHERE row_id = ${anyRow('jobs')}`,
  `UPDATE warehouse.jobs SET _deleted_at = CASE WHEN _deleted_at IS NULL THEN now() END
    WHERE row_id = ${anyRow('jobs')}`,
  `UPDATE warehouse.customers SET name = 'Made-up ' || $1, _deleted_at =
     CASE WHEN _deleted_at IS NULL THEN now() END WHERE row_id = ${anyRow('customers')}`,
  `INSERT INTO warehouse.customers (account_id, id, customer_number, name, _hash, _sweep_id)
   SELECT account_id, 900000 + $1, 900000 + $1, 'Made-up', '\\x00', 1 FROM sync.accounts
       ON CONFLICT DO NOTHING`,
  `DELETE FROM warehouse.job_charges WHERE row_id = ${anyRow('job_charges')}`,
  `UPDATE warehouse.job_charges SET total = coalesce(total, 0) + $1 / 3.0
    WHERE row_id = ${anyRow('job_charges')}`,
];

async function editBusiness(chance: Random): Promise<void> {
  for (let count = chance.integer(1, 6); count > 0; count--) {
    const text = edits[chance.integer(0, edits.length - 1)] ?? '';
    await inSweepTransaction(place.pool, (client) =>
      client.query(text, [chance.integer(1, 100_000)]),
    );
  }
}

/** Begins a delivery, and kills it shortly after one of its steps. */
async function killOne(chance: Random): Promise<string> {
  const step = steps[chance.integer(0, steps.length - 1)] ?? '';
  const running = startCommand(['deliver'], place.env);
  await running.prints(new RegExp(step));
  const ms = chance.integer(0, longestMs);
  await wait(ms);
  running.process.kill('SIGKILL');
  await running.ended;
  // A worker that is lost has its lease for a minute.
  await place.query(`UPDATE sync.delivery_targets SET lease_until = now() - interval '1 second'`);
  return `${step} + ${ms} ms`;
}

/** Every folder that a reader can see has all files that its manifest names, and no other. */
async function expectWhole(): Promise<void> {
  for (const name of await listShown(place.lake))
    if (name !== 'latest.json') await readManifest(place.lake, name);
}

/** Looks at the target every few milliseconds until the end, which gives how often. */
function watch(): {end(): Promise<number>} {
  let isOver = false;
  let looks = 0;
  const looking = (async () => {
    while (!isOver) {
      for (const name of await listShown(place.lake)) {
        if (name === 'latest.json') continue;
        const files = await readdir(join(place.lake, name)).catch(() => null);
        // An old one goes as a whole.
        if (files !== null && files.length > 0)
          expect(files, name).toHaveLength(exportedTables.length + 1);
      }
      looks++;
      await wait(2);
    }
    return looks;
  })();
  looking.catch(() => {});
  return {
    end: async () => {
      isOver = true;
      return await looking;
    },
  };
}

const stripped = (text: string | null) => text?.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');

/** The rows of a table as texts that both databases write alike, in the order of the texts. */
async function readRows(
  {table, columns}: ReadManifest['tables'][number],
  from: {readonly file: string} | null,
): Promise<string[]> {
  const isDuck = from !== null;
  const texts = columns.map(({name, type}) => {
    if (/^TIMESTAMP/.test(type))
      return isDuck
        ? `CAST(epoch_us(${name}) AS varchar)`
        : `CAST(CAST(extract(epoch FROM ${name}) * 1000000 AS bigint) AS varchar)`;
    if (/\[\]$/.test(type)) return `CAST(to_json(${name}) AS varchar)`;
    return `CAST(${name} AS varchar)`;
  });
  const query = `SELECT ${texts.map((text, at) => `${text} AS c${at}`).join(', ')}`;
  const rows = isDuck
    ? await queryDuck(`${query} FROM '${from.file}'`)
    : await place.query(`${query} FROM mart.${table}`);
  return rows
    .map((row) =>
      JSON.stringify(
        columns.map(({type}, at) => {
          const value = row[`c${at}`];
          const text = value === null || value === undefined ? null : String(value);
          if (type === 'DOUBLE') return text === null ? null : Number(text);
          return /^DECIMAL/.test(type) ? (stripped(text) ?? null) : text;
        }),
      ),
    )
    .sort();
}

/** What a reader loads is the star, in every row. @returns how many rows there are */
async function expectStar(manifest: ReadManifest): Promise<number> {
  let count = 0;
  for (const table of manifest.tables) {
    const file = join(place.lake, manifest.snapshot, table.file);
    const [loaded, star] = [await readRows(table, {file}), await readRows(table, null)];
    expect(loaded, table.table).toEqual(star);
    count += star.length;
  }
  return count;
}

test('nightly runs with random kills show only whole snapshots and deliver the star', async () => {
  const story: string[] = [];
  let [before, kills, rows]: [ReadManifest | null, number, number] = [null, 0, 0];
  const watcher = watch();
  try {
    for (let night = 1; night <= nights; night++) {
      const chance = new Random(seed, 'night', night);
      const isQuiet = night % 3 === 0;
      if (!isQuiet) await editBusiness(chance);
      for (let left = chance.integer(1, 2); left > 0; left--) {
        story.push(`night ${night}: ${await killOne(chance)}`);
        kills++;
        await expectWhole();
        const shown: ReadManifest | null = await readSnapshot(place.lake);
        // The one before, or where the kill came late, all of the new one.
        if (shown?.snapshot !== before?.snapshot) await expectStar(shown as ReadManifest);
        else expect(shown).toEqual(before);
      }
      expect(await place.deliver()).toMatchObject({code: 0});
      const manifest: ReadManifest | null = await readSnapshot(place.lake);
      if (manifest === null) throw new Error('expected a snapshot, found none');
      await expectWhole();
      rows = await expectStar(manifest);
      if (isQuiet) expect(manifest.tables).toEqual(before?.tables);
      const names = await listShown(place.lake);
      expect(names.length).toBeLessThanOrEqual(keep + 1);
      // Nothing of those that were killed is left.
      expect(await readdir(place.lake)).toHaveLength(names.length);
      before = manifest;
    }
  } catch (error) {
    await watcher.end().catch(() => {});
    throw new Error(`seed ${seed}:\n${story.join('\n')}`, {cause: error});
  }
  const looks = await watcher.end();
  expect(looks).toBeGreaterThan(nights);
  process.stdout.write(`${nights} nights, ${kills} kills, ${looks} looks, ${rows} rows\n`);
}, 3_600_000);
