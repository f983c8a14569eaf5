// The embedded Postgres is killed under the main job, which restarts it and goes on.

import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {expect, test} from 'vitest';
import {startCommand} from '../support/command.ts';
import {openService, timeZone} from '../support/world.ts';

test('start continues when its embedded Postgres is killed with -9', async () => {
  const home = await mkdtemp(join(tmpdir(), 'fieldmirror-start-'));
  const service = await openService();
  const running = startCommand(['start'], {
    FIELDMIRROR_HOME: home,
    FIELDMIRROR_API_URL: service.url,
    FIELDMIRROR_API_TOKEN: service.token,
    FIELDMIRROR_TIME_ZONE: timeZone,
    FIELDMIRROR_LOG_LEVEL: 'info',
  });
  await running.prints(/Running\. Ctrl-C/);
  await running.prints(/sweep\.ended/);
  const [pid, , , port] = (await readFile(join(home, 'postgres', 'postmaster.pid'), 'utf8')).split(
    '\n',
  );
  process.kill(Number(pid), 'SIGKILL');
  await running.prints(/has ended; restarting it/);
  const password = (await readFile(join(home, 'postgres.password'), 'utf8')).trim();
  const url = `postgres://fieldmirror:${password}@127.0.0.1:${port}/warehouse`;
  await expect
    .poll(() => changeName(url).catch(() => null), {timeout: 60_000, interval: 500})
    .toBe('done');
  running.process.kill('SIGTERM');
  expect(await running.ended).toMatchObject({code: 0});
  await service.close();
  await rm(home, {recursive: true, force: true});
}, 180_000);

async function changeName(url: string): Promise<string> {
  const client = new pg.Client({connectionString: url});
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(
      `UPDATE warehouse.customers SET name = name || ' & Co' WHERE customer_number = 1`,
    );
    const {rows} = await client.query(`SELECT sync.wait(sync.last_change(), '50 s') AS state`);
    return rows[0].state;
  } finally {
    await client.end();
  }
}
