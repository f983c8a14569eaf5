// The clock of a worker jumps a day ahead and back while it works: schedules keep coming round, and
// none comes more often than its row says.

import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {afterEach, expect, inject, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {startCommand} from '../support/command.ts';
import {openPlace} from '../support/place.ts';
import {emptyRedis} from '../support/redis.ts';

const clock = pathToFileURL(join(import.meta.dirname, '..', 'support', 'wrong-clock.ts')).href;
const dayMs = 86_400_000;
const everyMs = 1_000;
const backends = ['postgres', ...(inject('redisUrl') === null ? [] : ['redis'])];
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

test.each(backends)(
  'with the queue on %s, schedules keep their interval if the clock of a worker jumps',
  {timeout: 180_000},
  async (backend) => {
    const place = await openPlace({}, inject('warehouseTemplate'));
    const pool = openPool(place.databaseUrl, {max: 1, applicationName: 'test'});
    closers.push(place.close, () => pool.end());
    const worker = startCommand(['start'], {
      ...place.env,
      ...(backend === 'redis' ? {REDIS_URL: await emptyRedis()} : {}),
      NODE_OPTIONS: `--import ${clock}`,
      CLOCK_JUMP_MS: String(dayMs),
    });
    closers.push(async () => {
      worker.process.kill('SIGTERM');
      await worker.ended;
    });
    await worker.prints(/Running\. Ctrl-C/);
    await pool.query('DELETE FROM sync.schedules WHERE mode = $1 OR stream <> $2', [
      'full',
      'tasks',
    ]);
    await pool.query('UPDATE sync.schedules SET every_ms = $1, next_due_at = now()', [everyMs]);
    const startedAt = performance.now();
    const count = async () => {
      const {rows} = await pool.query(
        `SELECT min(count)::int AS least, max(count)::int AS most FROM (
         SELECT schedule_id, (SELECT count(*) FROM sync.sweeps WHERE window_name = held.window_name
           AND ended_at IS NOT NULL) AS count
           FROM sync.schedules AS held) AS counts`,
      );
      return rows[0] as {least: number; most: number};
    };
    for (const jump of ['none', 'a day ahead', 'back']) {
      if (jump !== 'none') worker.process.kill('SIGUSR2');
      const {least} = await count();
      await expect
        .poll(async () => (await count()).least, {timeout: 60_000, message: jump})
        .toBeGreaterThan(least + 1);
    }
    // The first sweep of each schedule may have been requested before.
    expect((await count()).most).toBeLessThanOrEqual((performance.now() - startedAt) / everyMs + 3);
  },
);
