// The fate of a change that the service refused, and of the changes that build on it.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {type CaptureWorld, openCaptureWorld, send} from './capture-world.ts';

let world: CaptureWorld;
let rowId: string;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
  rowId = await world.sent('customers', {customer_number: '3', name: 'a', fax: '1'});
});

const set = (assignment: string) =>
  world.author(`UPDATE warehouse.customers SET ${assignment} WHERE row_id = $1`, [rowId]);
const held = () => world.row('customers', rowId, 'name, fax, _pending');
const ids = async () => (await world.changes('change_id')).map(({change_id}) => String(change_id));
const states = async () => (await world.changes('state')).map(({state}) => state);
const decide = async (call: string) =>
  (await world.author(`SELECT sync.${call} AS state`))[0]?.state;

describe('a change that the service refused', () => {
  test('restores the wanted values in the row when it is retried', async () => {
    await set(`name = 'b', fax = '2'`);
    const [id] = await ids();
    await world.author(send, [id]);
    await world.author(`SELECT sync.close_change($1, 'rejected', 'no')`, [id]);
    expect(await held()).toMatchObject({name: 'a', fax: '1', _pending: null});
    expect(await decide(`retry_change(${id})`)).toBe('pending');
    expect(await held()).toMatchObject({name: 'b', fax: '2', _pending: true});
    expect(await world.changes('state, reason, sends, settled_at')).toEqual([
      {state: 'pending', reason: null, sends: 0, settled_at: null},
    ]);
  });

  test('restores the tombstone when it is retried, if it is a delete', async () => {
    await world.author('DELETE FROM warehouse.customers');
    const [id] = await ids();
    await world.author(send, [id]);
    await world.author(`SELECT sync.close_change($1, 'rejected', 'no')`, [id]);
    const gone = () => world.row('customers', rowId, '_deleted_at IS NOT NULL AS gone, _pending');
    expect(await gone()).toEqual({gone: false, _pending: null});
    await decide(`retry_change(${id})`);
    expect(await gone()).toEqual({gone: true, _pending: true});
  });

  describe('that is a create', () => {
    let local: string;
    beforeEach(async () => {
      const [made] = await world.author(`
        WITH customer AS (INSERT INTO warehouse.customers (name, fax) VALUES ('new', '7')
          RETURNING row_id),
        job AS (INSERT INTO warehouse.jobs (parent_row_id, name) SELECT row_id, 'roof'
          FROM customer)
        SELECT row_id FROM customer`);
      local = String(made?.row_id);
      const [create] = await ids();
      await world.author(send, [create]);
      await world.author(`UPDATE warehouse.customers SET fax = '8' WHERE row_id = $1`, [local]);
      await world.author(`SELECT sync.close_change($1, 'rejected', 'no')`, [create]);
    });

    test('keeps its row and the changes that wait for it', async () => {
      const [create] = await ids();
      expect(await world.row('customers', local, 'name, fax')).toEqual({name: 'new', fax: '8'});
      expect(await world.changes('operation, state, waits_for')).toEqual([
        {operation: 'create', state: 'rejected', waits_for: null},
        {operation: 'create', state: 'pending', waits_for: create},
        {operation: 'update', state: 'pending', waits_for: create},
      ]);
    });

    test('is replaced by a new create with all later values when the row is edited', async () => {
      await world.author(`UPDATE warehouse.customers SET name = 'mended' WHERE row_id = $1`, [
        local,
      ]);
      const [, , , again] = await ids();
      expect(await world.changes('table_name, operation, state, fields, waits_for')).toMatchObject([
        {state: 'rejected'},
        {table_name: 'jobs', state: 'pending', waits_for: again},
        {operation: 'update', state: 'cancelled'},
        {
          operation: 'create',
          state: 'pending',
          fields: {name: 'mended', fax: '8'},
          waits_for: null,
        },
      ]);
      expect(await world.row('customers', local, '_pending')).toEqual({_pending: true});
    });

    test('can be retried with the changes that wait for it', async () => {
      const [create] = await ids();
      expect(await decide(`retry_change(${create})`)).toBe('pending');
      expect(await states()).toEqual(['pending', 'pending', 'pending']);
      expect(await world.row('customers', local, 'fax, _pending')).toEqual({
        fax: '8',
        _pending: true,
      });
    });

    test('cannot be retried after its row was deleted', async () => {
      const [create] = await ids();
      await world.author('DELETE FROM warehouse.customers WHERE row_id = $1', [local]);
      expect(await states()).toEqual(['cancelled', 'cancelled', 'cancelled']);
      await expect(decide(`retry_change(${create})`)).rejects.toThrow('got cancelled');
    });
  });
});
