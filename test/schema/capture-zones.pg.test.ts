// A time without a zone is in the zone of the session. It is taken where somebody chose that zone,
// or where its clock shows the same as the account's; in a session that has only the server's zone
// it would be another time without a word, so it is refused.

import {randomBytes} from 'node:crypto';
import pg from 'pg';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {allWrites} from '../../src/streams/all.ts';
import {type CaptureWorld, neededBy, openCaptureWorld, send} from '../changes/capture-world.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {withClient} from '../support/with-client.ts';

const zone = 'Asia/Kathmandu';
const naive = '2027-03-01 09:00';
const local = '2027-03-01T03:15:00+00:00';
const login = `author_${randomBytes(4).toString('hex')}`;
const password = randomBytes(12).toString('hex');

let world: CaptureWorld;
let authorUrl: string;
beforeAll(async () => {
  world = await openCaptureWorld(zone);
  await makeRole(login, `LOGIN PASSWORD '${password}' IN ROLE fieldmirror_author`);
  authorUrl = Object.assign(new URL(world.url), {username: login, password}).href;
});
afterAll(async () => {
  await world?.close();
  await dropRoles(login);
});
beforeEach(() => world.empty());
afterEach(() =>
  withClient(authorUrl, (client) =>
    client.query(`ALTER ROLE ${login} IN DATABASE ${place()} RESET TimeZone`),
  ),
);

const place = () => new URL(world.url).pathname.slice(1);
const refused = (field: string) =>
  `${field}: expected a session that sets its time zone, got one in the zone of the server, `;

/**
 * Runs one statement in a new session of the author. @param options - as libpq has them:
 * `-c TimeZone=UTC`
 */
const write = (statement: string, values: unknown[] = [], options = '') => {
  const url = new URL(authorUrl);
  if (options !== '') url.searchParams.set('options', options);
  return withClient(url.href, (client) => client.query(statement, values));
};
const task = (given: string) =>
  `INSERT INTO warehouse.tasks (name, scheduled_at) VALUES ('x', ${given})`;
const wanted = async () =>
  (await world.changes(`fields->>'scheduled_at' AS wanted`)).map((row) => row.wanted);

const instants = allWrites.flatMap((writes) =>
  writes.table.writable.flatMap(({name, kind, onCreate, onUpdate}) =>
    kind === 'instant'
      ? [{field: `warehouse.${writes.table.name}.${name}`, writes, name, onCreate, onUpdate}]
      : [],
  ),
);

describe.each(instants)(
  '$field without a zone, in a session that sets no time zone',
  ({field, writes, name, onCreate, onUpdate}) => {
    const {table, parent, key} = writes;
    const needed = neededBy(table);
    const hung: Record<string, string> = parent === null ? {} : {[parent.numberColumn]: '4'};

    test.runIf(onCreate)('is rejected in an INSERT', async () => {
      if (parent !== null) await world.sent(parent.table, hung);
      const row = {...hung, ...needed, [name]: naive};
      const places = Object.keys(row).map((_, at) => `$${at + 1}`);
      const insert = `INSERT INTO warehouse.${table.name} (${Object.keys(row)}) VALUES (${places})`;
      await expect(write(insert, Object.values(row))).rejects.toThrow(refused(field));
      expect(await world.changes()).toEqual([]);
      await write(insert, Object.values(row), `-c TimeZone=${zone}`);
      expect(await world.changes('fields')).toEqual([{fields: {...needed, [name]: local}}]);
    });

    test.runIf(onUpdate)('is rejected in an UPDATE, unless the value stays the same', async () => {
      const rowId = await world.sent(table.name, {
        [key]: '55',
        ...needed,
        [name]: '2027-03-02 10:00Z',
      });
      const update = `UPDATE warehouse.${table.name} SET ${name} = $1 WHERE row_id = $2`;
      await expect(write(update, [naive, rowId])).rejects.toThrow(refused(field));
      await write(update, ['2027-03-02 10:00Z', rowId]);
      expect(await world.changes()).toEqual([]);
      await write(update, [naive, rowId], `-c TimeZone=${zone}`);
      expect(await world.changes('fields')).toEqual([{fields: {[name]: local}}]);
    });
  },
);

describe('a session that sets no time zone', () => {
  test.each([
    ['a day and an hour', `'${naive}'`],
    ['the same as the standard writes it', `'2027-03-01T09:00:30.5'`],
    ['a day', `'2027-03-01'`],
    ['a day of America', `'3/1/2027 9:00 am'`],
    ['a literal of the type', `timestamp '${naive}'`],
    ['a value cast to the type', `concat('2027', '-03-01 09:00')::timestamp(0)`],
    ['a day with the name of its month', `'March 1, 2027 09:00'`],
    ['a day with the name of its month in between', `'1 mar 2027 9:00 am'`],
    ['a day with a short name of its month', `'01-Mar-2027'`],
    ['a day and an hour without signs', `'20270301T090000'`],
    ['a day without signs and an hour', `'20270301 09:00'`],
    ['a result of make_timestamp', 'make_timestamp(2027, 3, 1, 9, 0, 0)'],
    ['a result of to_timestamp', `to_timestamp('2027 060 09', 'YYYY DDD HH24')`],
  ])('cannot write a time as %s', async (_, given) => {
    await expect(write(task(given))).rejects.toThrow(refused('warehouse.tasks.scheduled_at'));
  });

  test.each([
    ['an offset', `'${naive}+05:45'`],
    ['Z', `'2027-03-01T03:15:00Z'`],
    ['a zone', `'${naive} ${zone}'`],
    ['an offset after the name of a month', `'March 1, 2027 09:00+05:45'`],
    ['a type with a zone', `concat(2027, '-03-01 03:15Z')::timestamp with time zone`],
    ['seconds since 1970', `to_timestamp(1803870900)`],
    ['AT TIME ZONE', `timestamp '${naive}' AT TIME ZONE '${zone}'`],
    [
      'a reckoning with moments',
      `now() - now() + 'epoch'::timestamptz + interval '20878 days 03:15'`,
    ],
  ])('can write a time with %s', async (_, given) => {
    await write(task(given));
    expect(await wanted()).toEqual([local]);
  });

  test('can write a parameter with a zone; "$5" in a text is not a parameter', async () => {
    await write(task(`$1::timestamp AT TIME ZONE '${zone}'`), [naive]);
    await write(
      `INSERT INTO warehouse.tasks (name, scheduled_at) VALUES ('it''s $5', '${naive} ${zone}')`,
    );
    expect(await wanted()).toEqual([local, local]);
  });

  test('gets a hint with the statements that set a time zone', async () => {
    const hint = await write(task('$1'), [naive]).then(
      () => null,
      (error: unknown) => (error instanceof pg.DatabaseError ? error.hint : error),
    );
    expect(hint).toContain(`SET TimeZone = '${zone}'`);
    expect(hint).toContain(`ALTER ROLE ${login} IN DATABASE ${place()} SET TimeZone = `);
  });

  test('can write a time without a zone if its clock is the same as the account’s', async () => {
    const {rows} = await write('SHOW TimeZone');
    const [account] = await world.author('SELECT account_id, time_zone FROM sync.accounts');
    await world.author('UPDATE sync.accounts SET time_zone = $1', [rows[0].TimeZone]);
    await write(task('$1'), [naive]);
    await world.author('UPDATE sync.accounts SET time_zone = $1', [account?.time_zone]);
    expect(await world.changes('operation')).toEqual([{operation: 'create'}]);
  });
});

describe('a time without a zone is in the zone that is set', () => {
  test('by the author, for all its sessions', async () => {
    await write(`ALTER ROLE ${login} IN DATABASE ${place()} SET TimeZone = '${zone}'`);
    await write(task('$1'), [naive]);
    expect(await wanted()).toEqual([local]);
  });

  test('by the owner, for the database', async () => {
    await world.author(`ALTER DATABASE ${place()} SET TimeZone = '${zone}'`);
    await write(task('$1'), [naive]);
    await world.author(`ALTER DATABASE ${place()} RESET TimeZone`);
    expect(await wanted()).toEqual([local]);
  });

  test('by the client, for the session or the transaction', async () => {
    await write(task('$1'), [naive], `-c TimeZone=${zone}`);
    await write(`SET TimeZone = '${zone}'; ${task(`'${naive}'`)}`);
    await write(`BEGIN; SET LOCAL TimeZone = 'UTC'; ${task(`'${naive}'`)}; COMMIT`);
    expect(await wanted()).toEqual([local, local, '2027-03-01T09:00:00+00:00']);
  });
});

test('the time zone is checked for each statement and for each of its rows', async () => {
  await withClient(authorUrl, async (client) => {
    await client.query('BEGIN');
    await client.query(`${task(`'${naive} ${zone}'`)}, ('y', '2027-03-01 10:00Z')`);
    await expect(client.query(`${task(`'${naive} ${zone}'`)}, ('y', '${naive}')`)).rejects.toThrow(
      'sets its time zone',
    );
  });
});

test('undoing a change needs no time zone, because it restores earlier times', async () => {
  const rowId = await world.sent('tasks', {id: '5', name: 'x', scheduled_at: '2027-03-01 10:00Z'});
  await world.author(
    `UPDATE warehouse.tasks SET scheduled_at = '2027-03-02 10:00Z' WHERE row_id = $1`,
    [rowId],
  );
  const [change] = await world.changes('change_id');
  await world.author(send, [change?.change_id]);
  await world.author(
    `UPDATE sync.changes SET state = 'done', settled_at = now(), lease_until = NULL`,
  );
  const {rows} = await write(
    `SELECT outcome, refusal FROM sync.undo_changes(
       ARRAY(SELECT change_id FROM sync.changes WHERE row_id = $1))`,
    [rowId],
  );
  expect(rows).toEqual([{outcome: 'held', refusal: null}]);
});
