// A change that cannot be carried delays no other. A service that keeps values in its own way is
// asked once.

import {afterEach, beforeEach, expect, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {pushAccount} from '../../src/push/push.ts';
import {openRecordingProxy, type RecordingProxy} from '../support/recording-proxy.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

let service: TestService;
let proxy: RecordingProxy;
let world: TestWorld;

beforeEach(async () => {
  service = await openService();
  proxy = await openRecordingProxy(service.url);
  world = await openWorld({url: proxy.url, token: service.token});
  await world.sweep('customers');
});

afterEach(async () => {
  await world.close();
  await proxy.close();
  await service.close();
});

const push = () => pushAccount(world, world.account.accountId, new AbortController().signal);

test.each([
  ['of a field that there is not', 'customers', {no_such_field: 'x'}],
  ['with a text that XML has not', 'customers', {name: 'a\u0001b'}],
  ['of a table that there is not', 'nowhere', {name: 'x'}],
])('a change %s fails, records the reason, and delays no other', async (_, table, fields) => {
  await world.pool.query(
    `INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base)
     SELECT account_id, $1, row_id, 'update', customer_number, $2, '{}' FROM warehouse.customers
     WHERE customer_number = 1`,
    [table, JSON.stringify(fields)],
  );
  await world.pool.query(
    `UPDATE warehouse.customers SET fax = '555' WHERE customer_number BETWEEN 2 AND 11`,
  );
  await push();
  const {rows} = await world.pool.query(
    `SELECT number = 1 AS "isOdd", state, count(*)::int, bool_and(reason <> '') AS "isTold"
     FROM sync.changes GROUP BY 1, 2 ORDER BY 1`,
  );
  expect(rows).toMatchObject([
    {isOdd: false, state: 'done', count: 10},
    {isOdd: true, count: 1, isTold: true},
  ]);
  expect(rows[1].state).not.toBe('done');
  expect(proxy.takeWrites()).toHaveLength(10);
});

test('a service that trims and lower-cases a value is written to only once', async () => {
  const pool = openPool(service.databaseUrl, {max: 1, applicationName: 'the service'});
  await pool.query(`
    CREATE FUNCTION service.keep_its_own_way() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.fields := NEW.fields || jsonb_build_object('name', lower(btrim(NEW.fields ->> 'name')));
      RETURN NEW;
    END $$;
    CREATE TRIGGER keep_its_own_way BEFORE INSERT OR UPDATE ON service.customers
      FOR EACH ROW EXECUTE FUNCTION service.keep_its_own_way()`);
  await pool.end();
  await world.pool.query(
    `UPDATE warehouse.customers SET name = '  Ada LOVELACE ' WHERE customer_number = 1`,
  );
  await push();
  expect(proxy.takeWrites()).toHaveLength(1);
  for (let turn = 1; turn <= 2; turn++) {
    await world.sweep('customers');
    await push();
  }
  expect(proxy.takeWrites()).toEqual([]);
  const {rows} = await world.pool.query(
    'SELECT name, _pending FROM warehouse.customers WHERE customer_number = 1',
  );
  expect(rows).toEqual([{name: 'ada lovelace', _pending: null}]);
});
