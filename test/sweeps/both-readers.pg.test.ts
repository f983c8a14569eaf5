// The quick reader and the strict one fill the same warehouse.

import type pg from 'pg';
import {expect, test} from 'vitest';
import {allTables} from '../../src/streams/all.ts';
import type {MirrorTable} from '../../src/streams/table.ts';
import {openAlteringProxy} from '../support/altering-proxy.ts';
import {openService, openWorld, type TestService} from '../support/world.ts';

/**
 * The service, with a comment in its lists, which only the strict reader takes; all else is as it
 * was.
 */
async function openCommenting({url, token}: TestService) {
  const comment = (_path: string, body: string) =>
    body.replace(/\?>\s*<[\w-]+(?: type="array")?>/, '$&<!-- strict -->');
  return {...(await openAlteringProxy(url, comment)), token};
}

/** Everything in a table that comes from the service, with the page it came from. */
async function readTable(pool: pg.Pool, {name, columns, key}: MirrorTable): Promise<unknown[]> {
  const quoted = columns.map((column) => `"${column.name}"::text`).join(', ');
  const order = key.map((column) => `"${column}"`).join(', ');
  const {rows} = await pool.query(
    `SELECT ${quoted}, extra::text, encode(_hash, 'hex') AS hash, _page, _deleted_at
     FROM warehouse."${name}" ORDER BY ${order}`,
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
  'the quick and the strict reader load the %s dialect into equal tables and fields',
  async (dialect) => {
    const service = await openService({dialect, compress: false});
    const commenting = await openCommenting(service);
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
