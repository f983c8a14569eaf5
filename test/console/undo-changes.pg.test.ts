// Changes taken back in the console: shown first, then done by a form, held until a person releases
// them.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {type ChangesPlace, openPlace} from './changes-place.ts';

let place: ChangesPlace;
beforeEach(async () => {
  place = await openPlace();
});
afterEach(() => place?.close());

/** An edit of a customer's phone that the service has taken. */
async function makeDone(customer: number, phone: string): Promise<string> {
  const id = await place.edit(customer, `phone_number = '${phone}'`);
  await place.set(id, `state = 'done', settled_at = now()`);
  return id;
}

async function phoneOf(customer: number): Promise<string | null> {
  const {rows} = await place.pool.query(
    'SELECT phone_number FROM warehouse.customers WHERE account_id = $1 AND customer_number = $2',
    [place.account.accountId, customer],
  );
  return rows[0].phone_number;
}

const form = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="(numbers|batch|filters)" value="([^"]*)">/g)].map(
      ([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')],
    ),
  );

describe('undoing one change', () => {
  test('has a preview of the values and the request, which writes nothing', async () => {
    const before = await phoneOf(1);
    const id = await makeDone(1, '555-0199');
    const operator = await place.person();
    expect((await operator.get(`/changes/${id}`)).text).toContain(`href="/changes/undo?c${id}=on"`);
    const {text} = await operator.get(`/changes/undo?c${id}=on`);
    expect(text).toContain('1 change, done, would be taken back by 1 change. Nothing is done yet.');
    expect(text).toContain(
      '<span class="value">&quot;555-0199&quot;</span> becomes ' +
        `<span class="value">&quot;${before}&quot;</span>`,
    );
    expect(text).toContain('PUT /customers/1.xml');
    expect(text).toContain('Nothing is left.');
    expect(await phoneOf(1)).toBe('555-0199');
    expect((await place.pool.query('SELECT FROM sync.changes')).rowCount).toBe(1);
  });

  test('makes a held change under the name of the person, with an audit entry', async () => {
    const before = await phoneOf(1);
    const id = await makeDone(1, '555-0199');
    const operator = await place.person();
    const preview = await operator.get(`/changes/undo?c${id}=on`);
    const done = await operator.post('/changes/undo', form(preview.text));
    expect(done.status).toBe(303);
    expect(await phoneOf(1)).toBe(before);
    const {rows} = await place.pool.query(
      `SELECT change_id, state, application, batch FROM sync.changes
       WHERE undoes = ARRAY[$1::bigint]`,
      [id],
    );
    expect(rows).toMatchObject([
      {
        state: 'held',
        application: 'console: person-1',
        batch: expect.stringMatching(/^undo of \d{4}-/),
      },
    ]);
    expect(done.headers.get('location')).toBe(
      `/changes?${new URLSearchParams({batch: rows[0].batch})}`,
    );
    expect((await operator.get('/changes')).text).toContain(
      '1 change is taken back by 1 change, held until released.',
    );
    expect(await place.lastAudit()).toMatchObject({
      action: 'changes.undo',
      name: 'person-1',
      subject: `change ${id}`,
      account_id: place.account.accountId,
      before: {done: id},
      after: {batch: rows[0].batch, undone: {held: id}, made: rows[0].change_id, left: {}},
    });
  });
});

describe('undoing many changes', () => {
  test('cancels unsent changes, and skips and reports those changed since', async () => {
    const [one, two] = [await makeDone(1, '555-0001'), await makeDone(2, '555-0002')];
    await place.pool.query(`UPDATE sync.changes SET batch = 'import 4711'`);
    const later = await makeDone(2, '555-0003');
    const unsent = await place.edit(3, `phone_number = '555-0004'`);
    await place.pool.query(`UPDATE sync.changes SET batch = 'import 4711' WHERE change_id = $1`, [
      unsent,
    ]);
    const operator = await place.person();
    const preview = await operator.get('/changes/undo?all=yes&batch=import+4711');
    expect(preview.text).toContain(
      '1 change, not sent yet, would be given up. 1 change, done, would be taken back by 1 change.',
    );
    expect(preview.text).toContain('phone_number: changed since');
    expect(form(preview.text)).toEqual({
      numbers: `${one},${unsent}`,
      batch: 'import 4711',
      filters: 'batch=import+4711',
    });
    const done = await operator.post('/changes/undo', form(preview.text));
    expect(done.headers.get('location')).toBe('/changes?batch=undo+of+import+4711');
    expect(await place.stateOf(unsent)).toBe('cancelled');
    expect([await place.stateOf(two), await phoneOf(2)]).toEqual(['done', '555-0003']);
    expect(later).not.toBe(two);
  });

  test('skips accounts that the person may not see, and is refused to a viewer', async () => {
    const id = await makeDone(1, '555-0199');
    const strange = await place.edit(1, `phone_number = '1'`, {
      accountId: place.stranger.accountId,
    });
    const operator = await place.person();
    await operator.post('/changes/undo', {numbers: `${id}-${strange}`});
    expect(await place.stateOf(strange)).toBe('pending');
    const viewer = await place.person({role: 'viewer'});
    expect((await viewer.get(`/changes/undo?c${id}=on`)).status).toBe(403);
    expect((await viewer.get(`/changes/undo?c${id}=on&as=json`)).status).toBe(403);
    expect((await viewer.post('/changes/undo', {numbers: id})).status).toBe(403);
    expect((await viewer.get(`/changes/${id}`)).text).not.toContain('/changes/undo');
  });

  test('is rejected without numbers, with wrong numbers or with more than 10,000', async () => {
    const operator = await place.person();
    expect((await operator.get('/changes/undo')).status).toBe(422);
    for (const numbers of ['', '1,x', '1-10001'])
      expect((await operator.post('/changes/undo', {numbers})).status).toBe(422);
  });

  test('shows no values to an operator with a masking key', async () => {
    const id = await makeDone(1, '555-0199');
    const masked = await place.person({masks: true});
    const {text} = await masked.get(`/changes/undo?c${id}=on`);
    expect(text).toContain('would be taken back by 1 change');
    expect(text).not.toContain('555-0199');
  });
});
