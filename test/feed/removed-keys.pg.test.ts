// What the feed tells of a row that is gone has the key by which its reader knows it, whoever
// removed it; a key can be given up then, for another row.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {type Login, openLogin} from './logins.ts';
import {type FeedPlace, openFeedPlace} from './place.ts';

let place: FeedPlace;
/** Authors: one for the system default, one for tryton. */
let erp: Login;
let tryton: Login;
let number = 0;
/** Of the customer of that number. */
let rowId: string;
let start: string;
beforeAll(async () => {
  place = await openFeedPlace();
  erp = await openLogin(place.url, 'fieldmirror_author');
  tryton = await openLogin(place.url, 'fieldmirror_author');
  await place.author(
    `SELECT sync.grant_account('${erp.name}', 'acme'),
      sync.grant_account('${tryton.name}', 'acme', system => 'tryton')`,
  );
});
afterAll(async () => {
  await erp?.close();
  await tryton?.close();
  await place?.close();
});
beforeEach(async () => {
  number++;
  rowId = await place.sent('customers', {customer_number: number, id: 100 + number, name: 'Acme'});
  await link(erp, rowId, `C-${number}`);
  await link(tryton, rowId, `P-${number}`);
  start = await place.end();
});

const link = ({pool}: Login, row: string, key: string) =>
  pool.query(`SELECT sync.set_link('customers', $1, $2)`, [row, key]);
const unlink = ({pool}: Login) => pool.query(`SELECT sync.remove_link('customers', $1)`, [rowId]);
const remove = ({pool}: Login) =>
  pool.query('DELETE FROM warehouse.customers WHERE row_id = $1', [rowId]);
const findOut = (gone: string) =>
  place.sweep(`UPDATE warehouse.customers SET _deleted_at = ${gone} WHERE row_id = $1`, [rowId]);

/** What each author is told since: the operations, each with its key. */
async function told(after = start): Promise<Record<'erp' | 'tryton', string[]>> {
  await place.end();
  const read = async ({pool}: Login) =>
    (
      await pool.query<{line: string}>(
        `SELECT concat_ws(' ', operation, number, external_key) AS line FROM sync.feed($1)`,
        [after],
      )
    ).rows.map(({line}) => line);
  return {erp: await read(erp), tryton: await read(tryton)};
}

const asTold = (...operations: readonly string[]) => ({
  erp: operations.map((operation) => `${operation} ${number} C-${number}`),
  tryton: operations.map((operation) => `${operation} ${number} P-${number}`),
});

describe('the entry of a removed row has the key of each system', () => {
  test('if an author deleted it, also after the service did so', async () => {
    await remove(erp);
    expect(await told()).toEqual(asTold('removed'));
    await place.author(
      `UPDATE sync.changes SET state = 'done', settled_at = now() WHERE change_id = (
        SELECT max(change_id) FROM sync.changes)`,
    );
    await findOut('_deleted_at');
    expect(await told()).toEqual(asTold('removed'));
  });

  test('if the service deleted it, and when it is restored', async () => {
    await findOut('now()');
    await findOut('NULL');
    expect(await told()).toEqual(asTold('removed', 'created'));
  });

  test('if its delete was cancelled', async () => {
    await remove(tryton);
    await tryton.pool.query('SELECT sync.cancel_change(max(change_id)) FROM sync.changes');
    expect(await told()).toEqual(asTold('removed', 'created'));
  });

  test('if a repair removed it, or an author did before it was sent', async () => {
    await place.author(
      `BEGIN; SET LOCAL fieldmirror.writer = 'repair';
       DELETE FROM warehouse.customers WHERE row_id = ${rowId}; COMMIT`,
    );
    expect(await told()).toEqual(asTold('removed'));
    start = await place.end();
    const {rows} = await tryton.pool.query<{row_id: string}>(
      `INSERT INTO warehouse.customers (name) VALUES ('New') RETURNING row_id`,
    );
    rowId = rows[0]?.row_id ?? '';
    await link(tryton, rowId, 'P-new');
    await remove(tryton);
    expect((await told()).tryton.at(-1)).toBe('removed P-new');
  });

  test('but has only its number once the customer is forgotten', async () => {
    await findOut('now()');
    await unlink(tryton);
    await place.author('SELECT sync.forget_customer($1, $2)', [place.accountId, number]);
    const entries = [...(await told()).erp, ...(await told()).tryton];
    expect(new Set(entries)).toEqual(new Set([`removed ${number}`]));
  });
});

describe('a system can give up the key of a deleted row', () => {
  test.each([
    ['tryton', 'P', () => tryton],
    ['the system default', 'C', () => erp],
  ])('as %s, and give it to another row', async (system, prefix, author) => {
    await findOut('now()');
    const before = await place.changes();
    await (system === 'tryton'
      ? unlink(author())
      : author().pool.query(
          'UPDATE warehouse.customers SET external_key = NULL WHERE row_id = $1',
          [rowId],
        ));
    expect(await place.changes()).toEqual(before);
    expect((await place.row('customers', rowId, '_pending, _deleted_at'))?._pending).toBeNull();
    const next = await place.sent('customers', {id: 500 + number, name: 'Again'});
    await link(author(), next, `${prefix}-${number}`);
    // The deletion is that of the row which had the key; the new row has an entry of its own.
    const lines = (await told())[system === 'tryton' ? 'tryton' : 'erp'];
    expect(lines[0]).toBe(`removed ${number} ${prefix}-${number}`);
    expect(lines[1]).toMatch(/^created/);
    expect(
      await place.author(`SELECT sync.find_link('customers', $1, $2, $3) AS row`, [
        `${prefix}-${number}`,
        place.accountId,
        system === 'tryton' ? 'tryton' : 'default',
      ]),
    ).toEqual([{row: next}]);
  });

  test('before the delete, whose entry then has no key', async () => {
    await tryton.pool.query(
      `BEGIN; SELECT sync.remove_link('customers', ${rowId});
       DELETE FROM warehouse.customers WHERE row_id = ${rowId}; COMMIT`,
    );
    expect((await told()).tryton).toEqual([`removed ${number}`]);
  });

  test('but not the key of another system, nor change anything else of the row', async () => {
    await findOut('now()');
    const write = ({pool}: Login, assignment: string) =>
      pool.query(`UPDATE warehouse.customers SET ${assignment} WHERE row_id = $1`, [rowId]);
    await expect(write(tryton, 'external_key = NULL')).rejects.toMatchObject({
      message: expect.stringContaining('external_key: expected a key of the system default'),
      hint: `Leave it out, and call sync.remove_link('customers', row_id).`,
    });
    await expect(
      erp.pool.query(`SELECT sync.remove_link('customers', $1, 'tryton')`, [rowId]),
    ).rejects.toThrow('system: expected default');
    await expect(write(erp, `external_key = NULL, name = 'b'`)).rejects.toMatchObject({
      message: `warehouse.customers, row ${rowId}: the record is deleted`,
      hint: expect.stringContaining('SET external_key = NULL'),
    });
    expect(await told()).toEqual(asTold('removed'));
  });
});
