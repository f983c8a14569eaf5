// The statements of docs/delivery.md that load a snapshot, run in the engine that they are for.

import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {findBlocks} from '../readme/blocks.ts';
import {type DeliveryPlace, openDeliveryPlace, queryDuck} from './delivery-place.ts';

let place: DeliveryPlace;
beforeAll(async () => {
  place = await openDeliveryPlace();
  await place.apply({delivery: {lake: {to: place.lake}}});
  expect(await place.deliver()).toMatchObject({code: 0});
});
afterAll(() => place?.close());

test('DuckDB loads a table, and finds that it is complete by the manifest', async () => {
  const page = join(import.meta.dirname, '..', '..', 'docs', 'delivery.md');
  const statements = findBlocks('delivery.md', await readFile(page, 'utf8'))
    .filter(({language}) => language === 'duckdb')
    .map(({text}) => text.replaceAll('/srv/lake', place.lake));
  expect(statements).toHaveLength(2);
  expect(await queryDuck(...statements)).toEqual([{is_complete: true}]);
  const [held] = await place.query('SELECT count(*)::integer AS rows FROM mart.fct_job');
  const rows = await queryDuck(
    ...statements.slice(0, 1),
    'SELECT CAST(count(*) AS integer) AS rows FROM fct_job',
  );
  expect(rows).toEqual([held]);
});
