// Decisions about changes, made by forms of the console.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {type ChangesPlace, openPlace} from './changes-place.ts';
import {withoutLinks} from './place.ts';

let place: ChangesPlace;
beforeEach(async () => {
  place = await openPlace();
});
afterEach(() => place?.close());

describe('a decision about one change', () => {
  test('is executed and recorded in the audit under the name of the person', async () => {
    const id = await place.edit(1, `phone_number = '1'`);
    const operator = await place.person();
    const held = await operator.post(`/changes/${id}/hold`, {back: `/changes/${id}`});
    expect(held.status).toBe(303);
    expect(held.headers.get('location')).toBe(`/changes/${id}`);
    const {text} = await operator.get(`/changes/${id}`);
    expect(withoutLinks(text)).toContain(`Change ${id} is held.`);
    expect(text).toContain('held by person-1');
    expect(await place.lastAudit()).toMatchObject({
      action: 'changes.hold',
      name: 'person-1',
      subject: `change ${id}`,
      account_id: place.account.accountId,
      before: {state: 'pending'},
      after: {state: 'held'},
    });
    await operator.post(`/changes/${id}/release`);
    expect(await place.stateOf(id)).toBe('pending');
    await operator.post(`/changes/${id}/retry`);
    await operator.post(`/changes/${id}/cancel`, {reason: 'typed wrongly'});
    const {rows} = await place.pool.query('SELECT state, reason FROM sync.changes');
    expect(rows).toEqual([{state: 'cancelled', reason: 'typed wrongly'}]);
    expect(await place.lastAudit()).toMatchObject({
      after: {state: 'cancelled', reason: 'typed wrongly'},
    });
  });

  test('that comes too late changes nothing and shows the current state', async () => {
    const id = await place.edit(1, `phone_number = '1'`);
    await place.putInConflict(id, {phone_number: '2'});
    const [one, other] = [await place.person(), await place.person()];
    expect((await one.post(`/changes/${id}/resolve`, {decision: 'service'})).status).toBe(303);
    const audit = await place.lastAudit();
    const late = await other.post(`/changes/${id}/resolve`, {
      decision: 'warehouse',
      back: `/changes/${id}`,
    });
    expect(late.status).toBe(409);
    expect(late.text).toContain(`change ${id}: expected conflict to resolve it, got cancelled`);
    expect(late.text).toContain(`href="/changes/${id}"`);
    expect(await place.stateOf(id)).toBe('cancelled');
    expect(await place.lastAudit()).toEqual(audit);
  });

  test.each(['hold', 'release', 'retry', 'cancel', 'accept', 'resolve'])(
    'is refused to a viewer, and to an operator of another account: %s',
    async (verb) => {
      const [own, strange] = [
        await place.edit(1, `phone_number = '1'`),
        await place.edit(1, `phone_number = '1'`, {accountId: place.stranger.accountId}),
      ];
      const form = {decision: 'service'};
      const viewer = await place.person({role: 'viewer'});
      expect((await viewer.post(`/changes/${own}/${verb}`, form)).status).toBe(403);
      const operator = await place.person();
      expect((await operator.post(`/changes/${strange}/${verb}`, form)).status).toBe(404);
      expect((await operator.post(`/changes/x'/${verb}`, form)).status).toBe(404);
      expect(await place.stateOf(own)).toBe('pending');
      expect(await place.stateOf(strange)).toBe('pending');
      expect(
        (await place.pool.query(`SELECT FROM sync.audit WHERE action LIKE 'changes%'`)).rowCount,
      ).toBe(0);
    },
  );

  test('resolves a conflict field by field; grouped fields are decided together', async () => {
    const id = await place.edit(
      1,
      `phone_number = '1', service_city = 'Rome', service_zip_code = '00100'`,
    );
    await place.putInConflict(id, {
      phone_number: '2',
      service_city: 'Oslo',
      service_zip_code: '0150',
    });
    const operator = await place.person();
    const {text} = await operator.get(`/changes/${id}`);
    const [, group = ''] = /name="(side\.service[^"]+)"/.exec(text) ?? [];
    expect(group).toBe('side.service_city+service_zip_code');
    const half = await operator.post(`/changes/${id}/resolve`, {
      decision: 'fields',
      'side.phone_number': 'service',
    });
    expect(half.status).toBe(409);
    const wrong = await operator.post(`/changes/${id}/resolve`, {
      decision: 'fields',
      'side.phone_number': 'both',
    });
    expect(wrong.status).toBe(422);
    expect(await place.stateOf(id)).toBe('conflict');
    await operator.post(`/changes/${id}/resolve`, {
      decision: 'fields',
      'side.phone_number': 'service',
      [group]: 'warehouse',
    });
    const {rows} = await place.pool.query('SELECT state, fields FROM sync.changes');
    expect(rows).toEqual([
      {state: 'pending', fields: {service_city: 'Rome', service_zip_code: '00100'}},
    ]);
    const sides = {
      phone_number: 'service',
      service_city: 'warehouse',
      service_zip_code: 'warehouse',
    };
    expect((await place.lastAudit()).after).toEqual({state: 'pending', sides});
  });

  test('can adopt the record that a create made, or send the create again', async () => {
    const add = async () => {
      const id = await place.make(
        `INSERT INTO warehouse.tasks (account_id, name) VALUES (${place.account.accountId}, 'x')`,
      );
      await place.set(
        id,
        `state = 'conflict', reason = 'may be several', result = '{"candidates": ["61", "77"]}'`,
      );
      return id;
    };
    const [one, other] = [await add(), await add()];
    const operator = await place.person();
    expect((await operator.get(`/changes/${one}`)).text).toContain('<option value="77">');
    expect(
      (await operator.post(`/changes/${one}/resolve`, {decision: 'adopt', number: `1'`})).status,
    ).toBe(422);
    await place.set(one, 'sends = 1, sent_at = now()');
    await operator.post(`/changes/${one}/resolve`, {decision: 'adopt', number: '77'});
    expect(await place.stateOf(one)).toBe('in_doubt');
    await operator.post(`/changes/${other}/resolve`, {decision: 'resend'});
    expect(await place.stateOf(other)).toBe('pending');
  });

  test('can accept an alteration by the service and release changes held for it', async () => {
    const [altered, held] = [
      await place.edit(1, `phone_number = '1'`),
      await place.edit(2, `phone_number = '2'`),
    ];
    await place.set(
      altered,
      `state = 'done', settled_at = now(),
       result = '{"altered": {"phone_number": {"sent": "1", "got": "2"}}}'`,
    );
    await place.set(
      held,
      `state = 'held', held_for = 'customers.phone_number', reason = 'somebody looks first'`,
    );
    await place.pool.query(
      `INSERT INTO sync.alterations (change_id, account_id, field, kind, sent, got, is_stop)
       SELECT change_id, account_id, 'phone_number', 'customers.phone_number', '"1"', '"2"', true
       FROM sync.changes WHERE change_id = $1`,
      [altered],
    );
    const operator = await place.person();
    expect((await operator.get(`/changes/${altered}`)).text).toContain(
      `action="/changes/${altered}/accept"`,
    );
    await operator.post(`/changes/${altered}/accept`);
    expect(await place.stateOf(held)).toBe('pending');
  });
});

describe('a decision about many changes', () => {
  const form = (text: string) =>
    Object.fromEntries(
      [
        ...text.matchAll(/<input type="hidden" name="(choice|numbers|filters)" value="([^"]*)">/g),
      ].map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]),
    );

  test('has a preview: how many changes it applies to, and why not to the others', async () => {
    const [one, two, done] = [
      await place.edit(1, `phone_number = '1'`),
      await place.edit(2, `phone_number = '2'`),
      await place.edit(3, `phone_number = '3'`),
    ];
    await place.set(done, `state = 'done', settled_at = now()`);
    const operator = await place.person();
    const preview = await operator.get(
      `/changes/preview?choice=hold&c${one}=on&c${two}=on&c${done}=on`,
    );
    expect(preview.text).toContain(
      '2 changes can be decided this way, 1 cannot. Nothing is done yet.',
    );
    expect(preview.text).toContain('update customers, pending');
    expect(preview.text).toContain('expected pending to hold it, got done');
    expect(await place.stateOf(one)).toBe('pending');
    expect(form(preview.text)).toEqual({choice: 'hold', numbers: `${one}-${two}`, filters: ''});
    const viewer = await place.person({role: 'viewer'});
    expect((await viewer.get(`/changes/preview?choice=hold&c${one}=on`)).text).not.toContain(
      'action="/changes/decide"',
    );
    expect((await operator.get('/changes/preview?choice=hold')).status).toBe(422);
    expect((await operator.get(`/changes/preview?choice=undo&c${one}=on`)).status).toBe(422);
  });

  test('applies to the changes that allow it, and lists the others with the reason', async () => {
    const ids = [
      await place.edit(1, `phone_number = '1'`),
      await place.edit(2, `phone_number = '2'`),
      await place.edit(3, `phone_number = '3'`),
    ];
    const [one, two, three] = ids;
    const operator = await place.person();
    const preview = await operator.get(
      '/changes/preview?choice=hold&all=yes&state=pending&table=customers',
    );
    await place.set(String(two), `state = 'cancelled', settled_at = now(), reason = 'meanwhile'`);
    const late = await place.make(
      `INSERT INTO warehouse.tasks (account_id, name) VALUES (${place.account.accountId}, 'x')`,
    );
    const done = await operator.post('/changes/decide', form(preview.text));
    expect(done.headers.get('location')).toBe('/changes?state=pending&table=customers');
    expect(withoutLinks((await operator.get('/changes')).text)).toContain(
      '2 changes are held. 1 could not be decided so: ' +
        `expected pending to hold it, got cancelled (change ${two}).`,
    );
    expect(await place.stateOf(late)).toBe('pending');
    expect(await place.lastAudit()).toMatchObject({
      action: 'changes.decide',
      subject: '3 changes',
      account_id: place.account.accountId,
      before: {pending: `${one},${three}`, cancelled: two},
      after: {
        verb: 'hold',
        decided: {held: `${one},${three}`},
        refused: {'expected pending to hold it, got cancelled': two},
      },
    });
  });

  test('skips changes of accounts the person may not see; a viewer is refused', async () => {
    const strange = await place.edit(1, `phone_number = '1'`, {
      accountId: place.stranger.accountId,
    });
    const own = await place.edit(1, `phone_number = '1'`);
    const operator = await place.person();
    const numbers = `${strange}-${own}`;
    await operator.post('/changes/decide', {choice: 'hold', numbers});
    expect([await place.stateOf(strange), await place.stateOf(own)]).toEqual(['pending', 'held']);
    const viewer = await place.person({role: 'viewer'});
    expect((await viewer.post('/changes/decide', {choice: 'release', numbers})).status).toBe(403);
    expect(await place.stateOf(own)).toBe('held');
  });

  test.each([
    {choice: 'undo', numbers: '1'},
    {choice: 'hold', numbers: ''},
    {choice: 'hold', numbers: '1,x'},
    {choice: 'hold', numbers: '1-10001'},
  ])('rejects a wrong decision, wrong numbers or more than 10,000 numbers: %j', async (given) => {
    const operator = await place.person();
    expect((await operator.post('/changes/decide', given)).status).toBe(422);
  });

  test('cancels several changes with one reason, or resolves a conflict among them', async () => {
    const [one, two] = [
      await place.edit(1, `phone_number = '1'`),
      await place.edit(2, `phone_number = '2'`),
    ];
    const fought = await place.edit(3, `phone_number = '3'`);
    await place.putInConflict(fought, {phone_number: '4'});
    const operator = await place.person();
    await operator.post('/changes/decide', {
      choice: 'cancel',
      numbers: `${one}-${two}`,
      reason: 'typed twice',
    });
    await operator.post('/changes/decide', {choice: 'take-warehouse', numbers: `${one}-${fought}`});
    const {rows} = await place.pool.query(
      'SELECT state, reason FROM sync.changes ORDER BY change_id',
    );
    expect(rows).toEqual([
      {state: 'cancelled', reason: 'typed twice'},
      {state: 'cancelled', reason: 'typed twice'},
      {state: 'pending', reason: null},
    ]);
  });
});
