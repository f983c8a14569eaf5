// The answer "Invalid employee." to a request for a job is about a reference, not about the job:
// the job still exists.

import {afterEach, beforeEach, expect, test} from 'vitest';
import {pushAccount} from '../../src/push/push.ts';
import type {LocalServer} from '../support/local-server.ts';
import {openProxy} from '../support/proxy.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

let service: TestService;
let proxy: LocalServer;
let world: TestWorld;
/** Requests that are answered as if another kind of record were unknown. */
let refused: RegExp;

beforeEach(async () => {
  refused = /^$/;
  service = await openService();
  proxy = await openProxy(service.url, {
    receive: ({method, path}, response) => {
      if (!refused.test(`${method} ${path}`)) return false;
      response.writeHead(400, {'content-type': 'application/xml'});
      response.end('<errors><error>Invalid employee.</error></errors>');
      return true;
    },
  });
  world = await openWorld({...service, url: proxy.url});
  await world.sweep('customers');
});

afterEach(async () => {
  await world.close();
  await proxy.close();
  await service.close();
});

async function push() {
  await pushAccount(world, world.account.accountId, new AbortController().signal);
  const {rows} = await world.pool.query(
    `SELECT change.state, change.reason, row._deleted_at IS NULL AS "isLive"
     FROM sync.changes AS change JOIN warehouse.customers AS row USING (row_id)`,
  );
  return rows;
}

test('a delete refused with the kind of another record leaves the row live', async () => {
  refused = /^DELETE /;
  await world.pool.query('DELETE FROM warehouse.customers WHERE customer_number = 1');
  expect(await push()).toEqual([
    {state: 'rejected', reason: '400: Invalid employee.', isLive: true},
  ]);
});

test('an update refused with the kind of another record is no missing record', async () => {
  refused = /^PUT /;
  await world.pool.query(`UPDATE warehouse.customers SET fax = '555' WHERE customer_number = 1`);
  expect(await push()).toEqual([
    {state: 'rejected', reason: '400: Invalid employee.', isLive: true},
  ]);
});

test('a reading refused with the kind of another record is read again later', async () => {
  refused = /^GET \/customers\/1\.xml/;
  await world.pool.query(`UPDATE warehouse.customers SET fax = '555' WHERE customer_number = 1`);
  expect(await push()).toEqual([
    {
      state: 'pending',
      reason: expect.stringContaining('400 "Invalid employee." is not about a customer'),
      isLive: true,
    },
  ]);
});

test('a delete whose record is reported as another kind waits and is sent later', async () => {
  refused = /^GET \/customers\/1\.xml/;
  await world.pool.query('DELETE FROM warehouse.customers WHERE customer_number = 1');
  expect(await push()).toEqual([
    {
      state: 'pending',
      reason: expect.stringContaining('400 "Invalid employee." is not about a customer'),
      isLive: false,
    },
  ]);
});
