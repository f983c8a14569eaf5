// The ERP's day of the README, statement by statement, as it stands there: a comment behind a statement is its result.

import {readFile} from 'node:fs/promises';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {openQueueBackend} from '../jobs/backend.ts';
import {startWorkers, type Workers} from '../jobs/workers.ts';
import {openService, openWorld, type TestService, type TestWorld} from './support/world.ts';

let service: TestService;
let world: TestWorld;
let workers: Workers;

beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  const {databaseUrl, log} = world;
  const backend = await openQueueBackend({redisUrl: null, databaseUrl, log});
  workers = await startWorkers(world, backend, {accountIds: [world.account.accountId], keepsSchedules: true});
});
afterAll(async () => {
  await workers.stop();
  await world.close();
  await service.close();
});

interface Line {
  /** What the comment before it says happens meanwhile. */
  readonly said: string;
  readonly sql: string;
  readonly result: string | null;
}

function readDay(readme: string): Line[] {
  const [, day = ''] = /### An ERP's day\s+```sql\n([\s\S]*?)```/.exec(readme) ?? [];
  const lines: Line[] = [];
  let said = '';
  let sql = '';
  for (const line of day.split('\n')) {
    if (line.startsWith('--')) said += `${line} `;
    else sql += `${line}\n`;
    const end = /;(?:\s+-- (.*))?$/.exec(line);
    if (end === null || line.startsWith('--')) continue;
    lines.push({said, sql, result: end[1] ?? null});
    said = '';
    sql = '';
  }
  return lines;
}

test('every line does what the README says', async () => {
  const lines = readDay(await readFile(new URL('../README.md', import.meta.url), 'utf8'));
  expect(lines.length).toBeGreaterThan(12);
  const client = await world.pool.connect();
  try {
    for (const {said, sql, result} of lines) {
      if (said.includes('meanwhile a dispatcher')) await dispatch();
      const {rows, rowCount} = await client.query({text: sql, rowMode: 'array'});
      if (/^(?:INSERT|UPDATE)/.test(sql)) expect({sql, rowCount}).toEqual({sql, rowCount: 1});
      if (result !== null) expect({sql, result: showRow(rows[0])}).toEqual({sql, result});
      else if (sql.includes('job_number FROM'))
        expect(rows).toEqual([[expect.any(String), expect.any(String)]]);
    }
  } finally {
    client.release();
  }
  const [customer] = (await world.api.customers.list({filters: {name: 'Ada Lovelace'}})).records;
  expect(customer?.values[customer.names.indexOf('phone_number')]).toBe('555-0102');
  const {rows} = await world.pool.query(`SELECT state, count(*)::int FROM sync.changes GROUP BY state`);
  expect(rows).toEqual([{state: 'done', count: 5}]);
});

/** Changes the phone number at the service, as a person there does. */
async function dispatch(): Promise<void> {
  const {rows} = await world.pool.query<{number: string}>(
    `SELECT customer_number AS number FROM warehouse.customers WHERE external_key = 'K-1001'`,
  );
  await world.api.customers.update(rows[0]?.number ?? '', {phone_number: '555-0999'});
}

function showRow(row: readonly unknown[] | undefined): string {
  return (row ?? []).map((value) => (row?.length === 1 ? String(value) : JSON.stringify(value))).join(', ');
}
