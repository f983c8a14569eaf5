// Changes that are over go with their attempts; what something rests on stays, and history keeps
// the author.

import {expect, test} from 'vitest';
import {
  asSweep,
  edit,
  ids,
  lastChange,
  pool,
  pruneNow,
  settle,
  useRetentionPlace,
} from './place.ts';

useRetentionPlace();

const changes = () => ids('SELECT change_id AS id FROM sync.changes ORDER BY change_id');

test('a change is pruned with its attempts 90 days after it was settled', async () => {
  const [old, young, open] = [await edit(1), await edit(2), await edit(3)];
  await settle(old, 91);
  await settle(young, 89);
  expect(await pruneNow()).toEqual({settled_changes: 1});
  expect(await changes()).toEqual([young, open]);
  expect(await ids('SELECT DISTINCT change_id AS id FROM sync.attempts')).toEqual([young]);
});

test('an old change and an old HTTP API request are pruned; a recent request is kept', async () => {
  const old = await edit(1);
  await settle(old, 91);
  await pool.query(
    `INSERT INTO sync.api_requests (account_id, idempotency_key, body_hash, results, requested_at)
     SELECT account_id, key, '\\x00', '[]', now() - age
     FROM sync.accounts, (VALUES ('old', interval '92 days'), ('young', interval '1 day'))
       AS request (key, age)`,
  );
  await pruneNow(1);
  expect(await changes()).toEqual([]);
  expect(await ids('SELECT idempotency_key AS id FROM sync.api_requests')).toEqual(['young']);
});

test('a change that another change waits for is kept', async () => {
  const refused = await edit(1);
  await pool.query(
    `UPDATE sync.changes SET state = 'rejected', reason = 'no',
      settled_at = now() - interval '200 days' WHERE change_id = $1`,
    [refused],
  );
  const waiting = await edit(2);
  await pool.query('UPDATE sync.changes SET waits_for = $1 WHERE change_id = $2', [
    refused,
    waiting,
  ]);
  expect(await pruneNow()).toEqual({});
});

test('a rejected create is kept as long as its row exists', async () => {
  await pool.query(`INSERT INTO warehouse.customers (name) VALUES ('New')`);
  const refused = await lastChange();
  await pool.query(
    `UPDATE sync.changes SET state = 'rejected', reason = 'no',
      settled_at = now() - interval '200 days' WHERE change_id = $1`,
    [refused],
  );
  expect(await pruneNow()).toEqual({});
  await asSweep(`DELETE FROM warehouse.customers WHERE name = 'New'`);
  expect(await pruneNow()).toEqual({settled_changes: 1});
});

test('a change with the last accepted alteration of a kind, or with a stop, is kept', async () => {
  const numbers = [await edit(1), await edit(2), await edit(3), await edit(4)];
  for (const [at, change] of numbers.entries()) {
    await settle(change, 100);
    await pool.query(
      `INSERT INTO sync.alterations (change_id, account_id, field, kind, sent, got, is_stop,
        accepted_at, accepted_by)
       SELECT $1, account_id, 'phone_number', $2, '1', '2', $3,
         CASE WHEN $3 THEN NULL ELSE now() END, CASE WHEN $3 THEN NULL ELSE 'ops' END
       FROM sync.accounts`,
      [change, at < 3 ? 'a' : 'b', at === 3],
    );
  }
  expect(await pruneNow()).toEqual({settled_changes: 2});
  expect(await changes()).toEqual([numbers[2], numbers[3]]);
});

test('history still shows the author of a cancelled change after it was pruned', async () => {
  const given = await edit(1);
  await pool.query(`SELECT sync.cancel_change($1, 'not wanted')`, [given]);
  await pool.query(`ALTER TABLE sync.changes DISABLE TRIGGER USER`);
  const {rows} = await pool.query(
    'SELECT row_id, settled_at FROM sync.changes WHERE change_id = $1',
    [given],
  );
  const back = `UPDATE sync.retention SET kept_for = interval '31 days'
    WHERE kind = 'settled_changes'`;
  await pool.query(back);
  // The end of the change wrote a version: its moment is set back with the change's.
  await pool.query(`ALTER TABLE warehouse.customers DISABLE TRIGGER USER`);
  await pool.query(
    `UPDATE warehouse.customers SET _changed_at = now() - interval '40 days' WHERE row_id = $1`,
    [rows[0].row_id],
  );
  await pool.query(
    `UPDATE sync.changes SET settled_at = (SELECT _changed_at FROM warehouse.customers
      WHERE row_id = $2) WHERE change_id = $1`,
    [given, rows[0].row_id],
  );
  expect(await pruneNow()).toEqual({settled_changes: 1});
  const told = await pool.query(
    `SELECT edit.written_by = session_user AS own, edit.application
       FROM warehouse.customers AS held JOIN history.edits AS edit ON edit.row_id = held.row_id
       AND edit.table_name = 'customers' AND edit.at = held._changed_at
      WHERE held.row_id = $1`,
    [rows[0].row_id],
  );
  expect(told.rows).toEqual([{own: true, application: `change ${given}, cancelled`}]);
});
