// The quick reader and the strict one fill the same warehouse.

import {createServer} from 'node:http';
import type pg from 'pg';
import {expect, test} from 'vitest';
import {allTables} from '../../src/streams/all-tables.ts';
import type {MirrorTable} from '../../src/warehouse/rows/mirror-table.ts';
import {openService, openWorld, type TestService} from '../support/world.ts';

/** A service whose lists hold a comment, which only the strict reader takes; all else is as it was. */
async function startCommenting(service: TestService) {
  const server = createServer(async ({url = '', headers}, response) => {
    const {authorization = ''} = headers;
    const answer = await fetch(new URL(url, service.url), {headers: {authorization}});
    const body = (await answer.text()).replace(/\?>\s*<[\w-]+(?: type="array")?>/, '$&<!-- strict -->');
    response.writeHead(answer.status, {'content-type': answer.headers.get('content-type') ?? ''});
    response.end(body);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const close = async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  return {url: `http://127.0.0.1:${address.port}`, token: service.token, close};
}

/** Everything in a table that comes from the service, with the page it came from. */
async function readTable(pool: pg.Pool, {name, columns, key}: MirrorTable): Promise<unknown[]> {
  const quoted = columns.map((column) => `"${column.name}"::text`).join(', ');
  const order = key.map((column) => `"${column}"`).join(', ');
  const {rows} = await pool.query(
    `SELECT ${quoted}, attributes::text, encode(_hash, 'hex') AS hash, _page, _deleted_at FROM warehouse."${name}" ORDER BY ${order}`,
  );
  return rows;
}

async function mirror(service: {readonly url: string; readonly token: string}) {
  const world = await openWorld(service);
  try {
    await world.sweepAll();
    const tables = new Map<string, unknown[]>();
    for (const table of allTables) tables.set(table.name, await readTable(world.pool, table));
    const fields = await world.pool.query(
      'SELECT table_name, field, types, column_name FROM sync.fields ORDER BY table_name, field',
    );
    const known = await world.pool.query('SELECT count(*)::int AS count FROM sync.known_records');
    return {tables, fields: fields.rows, known: known.rows[0].count as number};
  } finally {
    await world.close();
  }
}

test.each(['observed', 'documented'] as const)(
  'a first load of the %s dialect is the same in every table, row, hash and field, whoever reads it',
  async (dialect) => {
    const service = await openService({dialect});
    const commenting = await startCommenting(service);
    try {
      const quick = await mirror(service);
      const strict = await mirror(commenting);
      // A page with a comment is not cut either: so the strict reader read it.
      expect([quick.known > 0, strict.known]).toEqual([true, 0]);
      for (const [name, rows] of quick.tables) expect(strict.tables.get(name), name).toEqual(rows);
      expect(strict.fields).toEqual(quick.fields);
      expect([...quick.tables.values()].flat().length).toBeGreaterThan(1_000);
    } finally {
      await commenting.close();
      await service.close();
    }
  },
);
