import {expect, onTestFinished, test} from 'vitest';
import {createLogger} from '../../src/core/log.ts';
import {FeedKeeper} from '../../src/feed/send-hooks.ts';
import {openPool} from '../../src/postgres/database.ts';

test('a feed that cannot reach the warehouse logs the reason once', async () => {
  const lines: string[] = [];
  const directUrl = 'postgres://mirror@127.0.0.1:1/warehouse';
  const pool = openPool(directUrl, {max: 1, applicationName: 'feed'});
  const destination = {write: (line: string) => lines.push(line)};
  const log = createLogger({level: 'warn', secrets: [], destination});
  const means = {keys: [], allowsHttp: false, onSecret: () => {}};
  const keeper = new FeedKeeper({pool, directUrl, log, means, holds: () => false});
  onTestFinished(async () => {
    await keeper.stop();
    await pool.end();
  });
  for (let round = 0; round < 3; round++) {
    keeper.wake();
    await keeper.settled();
  }
  expect(lines.filter((line) => line.includes('"feed.late"'))).toHaveLength(1);
});
