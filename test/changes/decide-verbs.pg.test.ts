// A person's decisions on changes, by the commands that a user types.

import {describe, expect, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';
import {
  addCustomer,
  changes,
  database,
  editPhone,
  pool,
  putInConflict,
  set,
  stateOf,
  useChangesPlace,
} from './changes-place.ts';

useChangesPlace();

const seePage = 'see: fieldmirror explain E17\n';

describe('changes retry, hold, release, cancel', () => {
  test('apply to several changes, and report those that they could not change', async () => {
    const [one, two, done] = [await editPhone(1), await editPhone(2), await editPhone(3)];
    await set(done, `state = 'done', settled_at = now()`);
    expect(await changes('hold', one, done, '99', two)).toEqual({
      code: 2,
      stdout: `change ${one} is held\nchange ${two} is held\n`,
      stderr:
        `change ${done}: expected pending to hold it, got done\n` +
        'no change "99"; fieldmirror changes list shows what there is\n' +
        seePage,
    });
    expect(await changes('release', two)).toMatchObject({
      code: 0,
      stdout: `change ${two} is pending: a worker sends it, or fieldmirror push\n`,
    });
    const refused = await changes('release', one, done, '--json');
    expect(refused.code).toBe(2);
    expect(JSON.parse(refused.stdout).changes).toEqual([
      {changeId: one, state: 'pending'},
      {changeId: done, error: `change ${done}: expected held to release it, got done`},
    ]);
  });

  test('retry prints the hint of the warehouse if a change cannot be sent again', async () => {
    const id = await editPhone(1);
    await set(id, `state = 'rejected', settled_at = now(), reason = 'no'`);
    expect(await changes('retry', id)).toMatchObject({code: 0});
    await set(id, `state = 'rejected', settled_at = now(), reason = 'no'`);
    await editPhone(1, '555-0200');
    expect(await changes('retry', id)).toMatchObject({
      code: 2,
      stderr:
        `change ${id}: a later change of the same record has overtaken it; ` +
        `Change the row again instead.\n${seePage}`,
    });
  });

  test('cancel restores the row and stores the reason', async () => {
    const id = await editPhone(1);
    expect(await changes('cancel', id, '--reason', 'typed wrongly')).toMatchObject({code: 0});
    expect((await changes('show', id)).stdout).toMatch(/state +cancelled .*: typed wrongly\n/);
    const {rows} = await pool.query(
      'SELECT phone_number FROM warehouse.customers WHERE customer_number = 1',
    );
    expect(rows).toEqual([{phone_number: '555-1'}]);
  });
});

describe('changes accept', () => {
  test('releases the changes held for an altered value; changes release does not', async () => {
    const [altered, held] = [await editPhone(1), await editPhone(2)];
    await set(
      altered,
      `state = 'done', settled_at = now(),
       result = '{"altered": {"phone_number": {"sent": "1", "got": "2"}}}'`,
    );
    await set(
      held,
      `state = 'held', held_for = 'customers.phone_number', reason = 'somebody looks first'`,
    );
    await pool.query(
      `INSERT INTO sync.alterations (change_id, account_id, field, kind, sent, got, is_stop)
       SELECT change_id, account_id, 'phone_number', 'customers.phone_number', '"1"', '"2"', true
       FROM sync.changes WHERE change_id = $1`,
      [altered],
    );
    const status = async () => await runCommand(['status'], {DATABASE_URL: database.url});
    expect(await status()).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`change ${altered} was altered by the service`),
    });
    expect((await changes('show', held)).stdout).toContain(
      'fieldmirror changes list --state altered',
    );
    expect(await changes('release', held)).toMatchObject({
      code: 2,
      stderr:
        `change ${held}: somebody looks first; ` +
        `fieldmirror changes list --state altered\n${seePage}`,
    });
    expect((await changes('show', altered)).stdout).toContain(
      `fieldmirror changes accept ${altered}`,
    );
    expect(await changes('accept', altered)).toMatchObject({
      code: 0,
      stdout: `change ${altered} is done: accepted, and further changes of that kind continue\n`,
    });
    expect(await stateOf(held)).toBe('pending');
    expect(await status()).toMatchObject({code: 0});
    expect(await changes('accept', held)).toMatchObject({code: 2});
  });
});

describe('changes resolve', () => {
  test('is offered with both values, and keeps the warehouse’s or the service’s', async () => {
    const [ours, theirs] = [await editPhone(1), await editPhone(2)];
    await putInConflict(ours);
    await putInConflict(theirs);
    const {stdout} = await changes('show', ours);
    expect(stdout).toMatch(
      inSequence(
        /conflict +phone_number, changed on both sides from "555-1"\n/,
        / +here +"555-0199"\n +at service +"555-0300"\n +rule ask: no one has decided yet\n/,
      ),
    );
    expect(stdout).toMatch(
      /resolve 1 --take service .*\n +fieldmirror changes resolve 1 --take warehouse /,
    );
    expect(await changes('resolve', ours, '--take', 'warehouse')).toMatchObject({code: 0});
    expect(await stateOf(ours)).toBe('pending');
    expect((await changes('show', ours)).stdout).toMatch(
      /rule ask: the warehouse's value counts, decided .* by/,
    );
    expect(await changes('resolve', theirs, '--take', 'service')).toMatchObject({code: 0});
    expect(await stateOf(theirs)).toBe('cancelled');
  });

  test('explain and show print the value of the service before and after it', async () => {
    const env = {DATABASE_URL: database.url};
    const explained = async (...of: string[]) =>
      (await runCommand(['explain', 'customers', '1', ...of], env)).stdout;
    const id = await editPhone(1);
    await putInConflict(id);
    expect(await explained('phone_number')).toContain('the service last said "555-0300"');
    expect(await explained()).toContain('phone_number: "555-0300" → "555-0199"');
    expect(await changes('resolve', id, '--take', 'warehouse')).toMatchObject({code: 0});
    expect(await explained('phone_number')).toContain('the service last said "555-0300"');
    expect((await changes('show', id)).stdout).toMatch(/ at service +"555-0300"\n/);
    await set(id, `state = 'done', settled_at = now()`);
    const {stdout} = await changes('show', id);
    expect(stdout).toMatch(/ service had +"555-0300"\n +at service +"555-0199"\n/);
  });

  test('of a create adopts a record or sends it again, and prints the valid options', async () => {
    const [adopted, resent] = [await addCustomer(), await addCustomer(`name = 'Other'`)];
    const result = `result = '{"candidates": ["12", "15"]}'`;
    await set(
      adopted,
      `state = 'conflict', reason = 'several match', sends = 1, sent_at = now(), ${result}`,
    );
    await set(resent, `state = 'conflict', reason = 'no trace', sends = 2, sent_at = now()`);
    expect((await changes('show', adopted)).stdout).toMatch(/may be +customers 12, 15\n/);
    expect(await changes('resolve', adopted, '--take', 'warehouse')).toMatchObject({
      code: 2,
      stderr:
        `change ${adopted}: expected --adopt NUMBER or --resend or --take service, ` +
        `got --take warehouse\n${seePage}`,
    });
    expect(await changes('resolve', adopted, '--adopt', '12')).toMatchObject({
      code: 0,
      stdout:
        `change ${adopted} is in doubt: ` +
        'a worker checks whether it arrived, or fieldmirror push\n',
    });
    expect(await changes('resolve', resent, '--resend')).toMatchObject({code: 0});
    expect(await stateOf(resent)).toBe('pending');
    expect(await changes('resolve', resent, '--resend')).toMatchObject({
      code: 2,
      stderr: `change ${resent}: expected conflict to resolve it, got pending\n${seePage}`,
    });
  });
});
