// The pages of the console about changes: the list, one change, and what a decision about many
// would do.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {matchEveryChange} from '../../src/changes/change.ts';
import {readChangeList} from '../../src/changes/change-list.ts';
import {type ChangeInFull, readChangeInFull} from '../../src/changes/story.ts';
import {describeReason, nameChange} from '../../src/changes/words.ts';
import {changePage} from '../../src/console/change-page.ts';
import {hideChangeInFull, hideLine} from '../../src/console/hide-change.ts';
import type {PageContext} from '../../src/console/page.ts';
import {type ChangesPlace, openPlace} from './changes-place.ts';

let place: ChangesPlace;
beforeEach(async () => {
  place = await openPlace();
});
afterEach(() => place?.close());

const hostile = `<img src=x onerror=alert(1)>`;

/** The numbers of the changes on a page, in their order. */
function numbersOn({text}: {readonly text: string}): string[] {
  return [...text.matchAll(/<td><a [^>]*href="\/changes\/(\d+)/g)].map(([, id = '']) => id);
}

describe('the list of changes', () => {
  test('shows changes that need a person first, then open ones, then settled ones', async () => {
    const [done, later, held, pending, rejected, conflict] = [
      await place.edit(1, `phone_number = '1'`),
      await place.edit(2, `phone_number = '2'`),
      await place.edit(3, `phone_number = '3'`),
      await place.make(
        `INSERT INTO warehouse.tasks (account_id, name) VALUES (${place.account.accountId}, 'x')`,
      ),
      await place.make(
        `UPDATE warehouse.employees SET name = 'y' WHERE account_id = ${place.account.accountId}
          AND employee_number = 1`,
      ),
      await place.make(
        `UPDATE warehouse.jobs SET name = 'z' WHERE account_id = ${place.account.accountId}
          AND job_number = 11`,
      ),
    ];
    for (const id of [done, later]) await place.set(id, `state = 'done', settled_at = now()`);
    await place.set(held, `state = 'held'`);
    await place.set(rejected, `state = 'rejected', settled_at = now(), reason = '422: no'`);
    await place.putInConflict(conflict, {name: 'theirs'});
    const viewer = await place.person({role: 'viewer'});
    const page = await viewer.get('/changes');
    expect(numbersOn(page)).toEqual([conflict, rejected, held, pending, later, done]);
    const {counts} = await viewer.json('/changes');
    expect(counts.needy).toBe(3);
    expect(counts.settled).toEqual([
      {state: 'done', count: 2},
      {state: 'rejected', count: 1},
    ]);
    expect(numbersOn(await viewer.get('/changes?state=needy'))).toEqual([conflict, rejected, held]);
    expect(page.text).toContain('href="/changes?state=needy">needs a person 3</a>');
    expect(page.text).toContain('nothing is sent until a person releases it');
    expect(page.text).toContain('>Acme: phone number</a>');
  });

  test('shows the state, the next step and the changed fields of each change', async () => {
    const first = await place.edit(1, `phone_number = '1'`);
    await place.set(first, `state = 'held'`);
    const second = await place.edit(1, `phone_number = '2'`);
    const person = await place.person();
    const {changes, underWay} = await person.json('/changes');
    expect(underWay).toEqual(['acme: 1 change to carry']);
    expect(changes).toMatchObject([
      {
        changeId: first,
        operation: 'update',
        table: 'customers',
        number: '1',
        state: 'held',
        next: {text: 'nothing is sent until a person releases it', note: null},
      },
      {
        changeId: second,
        state: 'pending',
        waitsFor: first,
        next: {text: `it is sent once change ${first} is done, which is held now`, note: null},
        fields: ['phone_number'],
        application: 'test',
      },
    ]);
  });

  test('filters by state, table, author and age; a wrong state lists the valid ones', async () => {
    const customer = await place.edit(1, `phone_number = '1'`);
    const job = await place.make(
      `UPDATE warehouse.jobs SET name = 'z' WHERE account_id = ${place.account.accountId}
        AND job_number = 11`,
    );
    await place.set(
      job,
      `state = 'held', application = 'crm', requested_at = now() - interval '2 days'`,
    );
    const viewer = await place.person({role: 'viewer'});
    const found = async (filter: string) => numbersOn(await viewer.get(`/changes?${filter}`));
    expect(await found('state=held')).toEqual([job]);
    expect(await found('state=pending')).toEqual([customer]);
    expect(await found('table=customers')).toEqual([customer]);
    expect(await found('by=crm')).toEqual([job]);
    expect(await found('age=1d')).toEqual([customer]);
    expect(await found('age=over-1d')).toEqual([job]);
    expect(await found('age=over-1d&state=pending')).toEqual([]);
    const refused = await viewer.get('/changes?state=heldd');
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('needy, held, pending');
    expect(refused.text).toContain('did you mean');
  });

  test('shows how to make a change if it is empty, or that the filter matches none', async () => {
    const person = await place.person();
    expect((await person.get('/changes')).text).toContain('UPDATE warehouse.customers');
    expect((await person.get('/changes?state=held')).text).toContain(
      'No change matches this filter',
    );
  });

  test('can show only the changes that the service altered', async () => {
    const [altered, plain] = [
      await place.edit(1, `phone_number = '1'`),
      await place.edit(2, `phone_number = '2'`),
    ];
    await place.set(plain, `state = 'done', settled_at = now()`);
    await place.set(
      altered,
      `state = 'done', settled_at = now(),
       result = '{"altered": {"phone_number": {"sent": "1", "got": "2"}}}'`,
    );
    const page = await (await place.person()).get('/changes?state=altered');
    expect(numbersOn(page)).toEqual([altered]);
    expect(page.text).toContain('the service altered phone_number');
  });

  test('shows each change exactly once across its pages', async () => {
    await place.pool.query(
      `INSERT INTO warehouse.tasks (account_id, name) SELECT $1, 'task ' || n
        FROM generate_series(1, 130) AS n`,
      [place.account.accountId],
    );
    await place.pool.query(`UPDATE sync.changes SET state = 'held' WHERE change_id % 4 = 0`);
    await place.pool.query(
      `UPDATE sync.changes SET number = 1000 + change_id, state = 'done', settled_at = now()
        WHERE change_id % 4 = 1`,
    );
    const viewer = await place.person({role: 'viewer'});
    const seen: string[] = [];
    let next: string | undefined = '/changes?table=tasks';
    while (next !== undefined) {
      const page = await viewer.get(next);
      seen.push(...numbersOn(page));
      next = /href="([^"]+)" rel="next"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
    }
    expect(seen).toHaveLength(130);
    expect(new Set(seen).size).toBe(130);
    const {rows} = await place.pool.query(
      `SELECT change_id AS id FROM sync.changes WHERE state = 'done' ORDER BY change_id DESC`,
    );
    expect(seen.slice(-rows.length)).toEqual(rows.map(({id}) => id));
  });

  test('shows nothing of an account that the viewer may not see', async () => {
    const {accountId} = place.stranger;
    const strange = await place.edit(1, `phone_number = '1'`, {accountId});
    const viewer = await place.person({role: 'viewer'});
    expect(numbersOn(await viewer.get('/changes'))).toEqual([]);
    expect((await viewer.get(`/changes/${strange}`)).status).toBe(404);
    const admin = await place.person({role: 'admin'});
    expect(numbersOn(await admin.get('/changes'))).toEqual([strange]);
    expect(numbersOn(await admin.get('/changes?account=acme'))).toEqual([]);
  });
});

describe('one change', () => {
  test('shows base, wanted, row and service values, and the possible decisions', async () => {
    const id = await place.edit(1, `phone_number = '555-0199', name = 'Acme Ltd'`);
    await place.putInConflict(id, {phone_number: '555-0300'});
    const operator = await place.person();
    const story = await operator.json(`/changes/${id}`);
    expect(story.sides).toMatchObject([
      {field: 'name', base: 'Acme', wanted: 'Acme Ltd', row: 'Acme Ltd', isFought: false},
      {
        field: 'phone_number',
        base: '555-0100',
        wanted: '555-0199',
        row: '555-0199',
        service: '555-0300',
        isFought: true,
      },
    ]);
    expect(story.decisions).toEqual(['take service', 'take warehouse']);
    const {text} = await operator.get(`/changes/${id}`);
    expect(text).toContain(`action="/changes/${id}/resolve"`);
    expect(text.match(/type="radio" name="side.phone_number"/g)).toHaveLength(2);
    expect(text.match(/class="grave"/g)).toHaveLength(1);
    expect(text).toContain(`action="/changes/${id}/cancel"`);
    expect(text).toContain('href="/records/customers/1"');
    const viewer = await place.person({role: 'viewer'});
    const seen = await viewer.get(`/changes/${id}`);
    expect(seen.text).not.toContain(`action="/changes/`);
    expect(seen.text).toContain(`fieldmirror changes resolve ${id} --take service`);
  });

  test('shows each request with its answer, and the request to be sent next', async () => {
    const id = await place.edit(1, `phone_number = '555-0199'`);
    await place.pool.query(
      `INSERT INTO sync.attempts (change_id, fence, method, path, request, ended_at, outcome,
        status, answer)
       VALUES ($1, 1, 'PUT', '/customers/1.xml', '<customer>first try</customer>',
         now() + interval '2 s', 'not-sent', 503, 'try later')`,
      [id],
    );
    const {text} = await (await place.person()).get(`/changes/${id}`);
    expect(text).toContain('&lt;customer&gt;first try&lt;/customer&gt;');
    expect(text).toContain('answered 503, after 2 s');
    expect(text).toContain('try later');
    expect(text).toContain('PUT /customers/1.xml');
    expect(text).toContain('&lt;phone_number&gt;555-0199&lt;/phone_number&gt;');
  });

  test('links to changes it waits for and holds up; a note links to its job', async () => {
    const first = await place.edit(1, `phone_number = '1'`);
    await place.set(first, `state = 'held'`);
    const second = await place.edit(1, `phone_number = '2'`);
    const note = await place.make(
      `UPDATE warehouse.job_notes SET note = 'n' WHERE account_id = ${place.account.accountId}`,
    );
    const viewer = await place.person({role: 'viewer'});
    expect((await viewer.get(`/changes/${second}`)).text).toMatch(
      new RegExp(`waits for</dt><dd><a href="/changes/${first}"`),
    );
    expect((await viewer.get(`/changes/${first}`)).text).toMatch(
      new RegExp(`holds up</dt><dd><a href="/changes/${second}"`),
    );
    expect((await viewer.get(`/changes/${note}`)).text).toContain('href="/records/jobs/11"');
  });

  test('that does not exist answers 404 and links to a nearby change', async () => {
    const id = await place.edit(1, `phone_number = '1'`);
    const viewer = await place.person({role: 'viewer'});
    const page = await viewer.get('/changes/999999');
    expect(page.status).toBe(404);
    expect(page.text).toContain(`href="/changes/${id}"`);
    expect(page.text).toContain('href="/docs/E23"');
    for (const wrong of ['0', 'x', '1%27', '99999999999999999999'])
      expect((await viewer.get(`/changes/${wrong}`)).status).toBe(404);
  });

  test('escapes hostile HTML in its values', async () => {
    const id = await place.edit(1, `name = '${hostile}'`);
    await place.set(id, `application = '${hostile}', external_key = '${hostile}'`);
    await place.set(id, `state = 'rejected', settled_at = now(), reason = '422: ${hostile}'`);
    const operator = await place.person();
    for (const path of [
      '/changes',
      `/changes/${id}`,
      `/changes/preview?c${id}=on&choice=retry`,
      `/changes?by=${encodeURIComponent(`"${hostile}`)}`,
    ]) {
      const {status, text} = await operator.get(path);
      expect(status).toBe(200);
      expect(text).not.toContain('<img');
    }
    expect((await operator.get(`/changes/${id}`)).text).toContain('&lt;img');
  });

  test('never shows a password', async () => {
    const {accountId} = place.account;
    const id = await place.edit(1, `phone_number = '1'`);
    await place.pool.query(
      `UPDATE sync.changes SET table_name = 'employees',
        row_id = (SELECT row_id FROM warehouse.employees
        WHERE account_id = $2 AND employee_number = 1),
              fields = '{"username": "ann", "password": "hunter-2-secret"}',
                base = '{"username": null, "password": "older-secret"}' WHERE change_id = $1`,
      [id, accountId],
    );
    const operator = await place.person();
    const texts = [
      (await operator.get(`/changes/${id}`)).text,
      JSON.stringify(await operator.json(`/changes/${id}`)),
      JSON.stringify(await operator.json('/changes')),
    ];
    for (const text of texts) expect(text).not.toMatch(/hunter-2|older-secret/);
    expect(texts[0]).toContain('(set)');
  });

  test('hides values, reasons, requests and keys from a person with a masking key', async () => {
    const id = await place.edit(1, `name = 'Secret Ltd', external_key = 'Secret key'`);
    await place.set(id, `external_key = 'Secret key'`);
    await place.putInConflict(id, {name: 'Secret other'});
    await place.pool.query(
      `INSERT INTO sync.attempts (change_id, fence, method, path, request, ended_at, outcome,
        status, answer)
       VALUES ($1, 1, 'PUT', '/customers/1.xml', '<name>Secret Ltd</name>', now(), 'refused', 422,
         'Secret Ltd is taken')`,
      [id],
    );
    const refused = await place.make(
      `INSERT INTO warehouse.tasks (account_id, external_key, name)
        VALUES (${place.account.accountId}, 'Secret task', 'Secret')`,
    );
    await place.set(
      refused,
      `state = 'rejected', settled_at = now(), reason = '422: Secret is taken'`,
    );
    const pending = await place.edit(2, `name = 'Secret pending'`);
    const masked = await place.person({masks: true});
    for (const path of [
      '/changes',
      `/changes/${id}`,
      `/changes/${refused}`,
      `/changes/${pending}`,
      `/changes/preview?c${id}=on&choice=hold`,
    ]) {
      expect((await masked.get(path)).text).not.toContain('Secret');
      expect(JSON.stringify(await masked.json(path))).not.toContain('Secret');
      expect(JSON.stringify(await masked.json(path))).not.toContain('Acme');
    }
    expect((await masked.get(`/changes/${id}`)).text).toContain('changed on both sides: name');
  });
});

describe('different wording of the next step', () => {
  const look = (): PageContext => ({
    viewer: {
      sessionId: '1',
      wayIn: 'key',
      apiKeyId: '1',
      name: 'dana',
      role: 'admin',
      masks: false,
      accountId: null,
      address: '127.0.0.1',
      createdAt: '',
      expiresAt: '',
      formToken: 'token',
    },
    seen: [place.account],
    accounts: [place.account],
    path: '/changes/1',
    query: {},
    timeZone: 'UTC',
    now: new Date().toISOString(),
  });

  /** Where buttons and links of a page lead, and what they send. */
  const movesOn = (story: ChangeInFull) =>
    [
      ...String(changePage.render(story, look())).matchAll(/ (?:action|href|name|value)="[^"]*"/g),
    ].map(([attribute]) => attribute);

  const reword = (story: ChangeInFull, note: string | null = null): ChangeInFull => ({
    ...story,
    next: story.next && {
      text: 'quite something else (in other words)',
      note,
      commands: story.next.commands.map(({move}) => ({command: 'tool go', does: 'it', move})),
    },
  });

  test.each([
    ['held', `state = 'held'`, '/release'],
    ['pending', `due_at = now() + interval '1 hour'`, '/retry'],
    ['stopped', `state = 'held', held_for = 'instant', reason = 'x'`, 'state=altered'],
    ['rejected', `state = 'rejected', settled_at = now(), reason = 'x'`, '/retry'],
    ['in conflict', `state = 'conflict', reason = 'x'`, '/resolve'],
  ])('does not affect buttons and links of a change that is %s', async (_, state, offered) => {
    const id = await place.edit(1, `name = 'x'`);
    await place.set(id, state);
    const story = await readChangeInFull(place.pool, id, [place.account]);
    if (story === null) throw new Error('expected the change');
    expect(movesOn(story).join()).toContain(offered);
    expect(movesOn(reword(story))).toEqual(movesOn(story));
  });

  test('does not affect masking: notes and typed reasons stay hidden', async () => {
    const id = await place.edit(1, `name = 'x'`);
    const story = await readChangeInFull(place.pool, id, [place.account]);
    if (story === null) throw new Error('expected the change');
    const told = hideChangeInFull(reword(story, 'call Ada'));
    const text = String(changePage.render(told, look()));
    expect(text).toContain('uite something else (in other words)');
    expect(text).not.toContain('Ada');
    const {changes} = await readChangeList(place.pool, {
      accounts: [place.account],
      wanted: matchEveryChange([place.account.accountId]),
      after: null,
    });
    // Our own words, which a person may have typed as well.
    const typed = 'changed on both sides: name';
    for (const line of changes.map((each) => hideLine({...each, reason: typed})))
      expect(`${nameChange(line)} ${describeReason(line)}`).not.toContain('both sides');
  });
});
