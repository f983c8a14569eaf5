// The verb `match`, as a person types it: files of an ERP, decisions, links written and taken back.

import {randomBytes} from 'node:crypto';
import {mkdtemp, readFile, rm, stat, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {openPlace, type Place} from '../http/place.ts';
import {runCommand, startCommand} from '../support/command.ts';
import {dropRoles, makeRole} from '../support/roles.ts';

const [worker, author] = ['worker', 'author'].map(
  (role) => `match_${role}_${randomBytes(4).toString('hex')}`,
);
let place: Place;
let folder: string;

beforeAll(async () => {
  place = await openPlace();
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-match-'));
  await makeRole(worker ?? '', `LOGIN PASSWORD 'made-up'`);
  await makeRole(author ?? '', `LOGIN PASSWORD 'made-up'`);
  await place.pool.query(`GRANT fieldmirror_worker TO ${worker}`);
  await place.pool.query(`GRANT fieldmirror_author TO ${author}`);
});
afterAll(async () => {
  await place?.close();
  await dropRoles(worker ?? '', author ?? '');
  await rm(folder, {recursive: true, force: true});
});

/** Ada and Bert are known to both; Cora is here twice; Dora here alone. */
beforeEach(async () => {
  await inSweepTransaction(place.pool, async (client) => {
    await client.query('UPDATE sync.links SET until = since WHERE until IS NULL');
    await client.query(
      'DELETE FROM warehouse.customers WHERE account_id = $1 AND customer_number > 3',
      [place.account.accountId],
    );
    await client.query(
      `INSERT INTO warehouse.customers (account_id, customer_number, name, phone_number,
         email_address, service_address, service_city, service_zip_code, _sweep_id)
       VALUES ($1, 11, 'Ada Thornholt', '5035550142', 'ada@example.com', '12 Oak Street', 'Salem',
           '97301', 1),
         ($1, 12, 'Bert Quux', '(503) 555-0177', NULL, '7 Elm Road', 'Salem', '97301', 1),
         ($1, 13, 'Cora Vee', '503 555 0188', NULL, NULL, NULL, NULL, 1),
         ($1, 14, 'Cora Vee', '503 555 0188', NULL, NULL, NULL, NULL, 1),
         ($1, 15, 'Dora Wells', NULL, NULL, NULL, NULL, NULL, 1)`,
      [place.account.accountId],
    );
  });
});

const parties = `key;name;phone;email;street;city;zip;shoe size
P-1;Thornholt, Ada;+1 503 555 0142;ADA@example.com;12 Oak St.;Salem;97301-0001;7
P-2;BERT QUUX;503-555-0177;;9 Pine Ave;Salem;97302;8
=P-3;Cora Vee;503-555-0188;;;;;9
P-4;Zoe Newcomer;503-555-0111;;;;;9
`;

async function save(name: string, text: string | Buffer): Promise<string> {
  const path = join(folder, name);
  await rm(path, {force: true});
  await writeFile(path, text);
  return path;
}

const as = (user?: string) => {
  const url = new URL(place.databaseUrl);
  if (user !== undefined) Object.assign(url, {username: user, password: 'made-up'});
  return {DATABASE_URL: url.href};
};
const run = (args: readonly string[], user?: string) =>
  runCommand(['match', 'customers', '--account', 'acme', ...args], as(user));
const json = async (args: readonly string[]) => {
  const {stdout, stderr, code} = await run([...args, '--json']);
  return {...JSON.parse(stdout), stderr, code};
};
const linked = async () => {
  const {rows} = await place.pool.query(
    `SELECT key || '=' || customer_number AS link FROM sync.links AS link
       JOIN warehouse.customers USING (account_id, row_id)
      WHERE until IS NULL AND table_name = 'customers' AND system = 'tryton' ORDER BY 1`,
  );
  return rows.map(({link}) => link);
};
const tryton = ['--system', 'tryton'];

test('match prints its pairs without writing; --apply links the sure pairs once', async () => {
  const from = ['--from', await save('parties.csv', parties), ...tryton];
  const seen = await run(from);
  expect(seen.code).toBe(0);
  expect(seen.stdout).toMatch(/sure +│ +2 │/);
  expect(seen.stdout).toMatch(/several candidates +│ +1 │/);
  expect(seen.stdout).toMatch(/address +│ +1 │ +1 │/);
  expect(seen.stdout).toContain('sure: P-1 "Thornholt, Ada" is 11 "Ada Thornholt"');
  expect(seen.stdout).toContain('several: =P-3 "Cora Vee" may be 13 "Cora Vee", 14 "Cora Vee"');
  expect(seen.stdout).toContain('Nothing was written; --apply links the sure pairs.');
  expect(seen.stderr).toBe(`${from[1]}: column shoe size is not read\n`);
  expect(await linked()).toEqual([]);

  const applied = await run([...from, '--apply']);
  expect(applied.stdout).toMatch(/2 links were written as batch \d+; --undo \d+ removes them/);
  expect(await linked()).toEqual(['P-1=11', 'P-2=12']);
  const again = await json([...from, '--apply']);
  expect(again).toMatchObject({
    counts: {sure: 0, several: 1, onlyThere: 1},
    linked: {inFile: 2, here: 2},
    written: {batch: null, count: 0},
  });
  const {rows} = await place.pool.query(
    `SELECT count(*)::int AS changes FROM sync.changes WHERE account_id = $1`,
    [place.account.accountId],
  );
  expect(rows).toEqual([{changes: 0}]);
});

test.each([['tryton'], ['default']])(
  '--undo removes a batch of links in system %s, except keys that were set later',
  async (system) => {
    const from = ['--from', await save('parties.csv', parties), '--system', system];
    const {written} = await json([...from, '--apply']);
    expect(written).toMatchObject({count: 2});
    const {rowId} = (
      await place.pool.query(
        `SELECT row_id AS "rowId" FROM warehouse.customers
          WHERE customer_number = 12 AND account_id = $1`,
        [place.account.accountId],
      )
    ).rows[0];
    await place.pool.query(`SELECT sync.set_link('customers', $1, 'P-99', $2)`, [rowId, system]);
    expect(await json(['--undo', written.batch])).toMatchObject({system, removed: 1, left: 1});
    expect(await json(['--undo', written.batch])).toMatchObject({removed: 0, left: 2});
    const found = await place.pool.query(
      `SELECT sync.find_link('customers', key, $1, $2) AS row
      FROM unnest(ARRAY['P-1', 'P-99']) AS key`,
      [place.account.accountId, system],
    );
    expect(found.rows).toEqual([{row: null}, {row: rowId}]);
    const other = await runCommand(
      ['match', 'customers', '--account', 'other', '--undo', written.batch],
      as(),
    );
    expect(other).toMatchObject({code: 2});
    expect(other.stderr).toContain(`the account has no batch ${written.batch} of links`);
  },
);

test('--review says if there is nothing to decide', async () => {
  const review = join(folder, 'nothing.csv');
  await rm(review, {force: true});
  const clear = await save('clear.csv', parties.replace(/^=P-3.*\n/m, ''));
  const {stdout} = await run(['--from', clear, ...tryton, '--review', review]);
  expect(stdout).toContain(`${review} has no line: no party has several candidates`);
});

test('--review writes candidates for a person, and --decided reads the decisions', async () => {
  const review = join(folder, 'review.csv');
  await rm(review, {force: true});
  const from = ['--from', await save('parties.csv', parties), ...tryton, '--review', review];
  expect((await run(from)).stdout).toContain(`${review} has the candidates`);
  expect((await stat(review)).mode & 0o777).toBe(0o600);
  expect(await run(from)).toMatchObject({code: 2});
  const text = await readFile(review, 'utf8');
  expect(text).toContain(`,'=P-3,`);
  const decided = await save('decided.csv', text.replace(/^,([^,]*,\d+,14,)/m, 'yes,$1'));
  const shown = await run(['--decided', decided, ...tryton]);
  expect(shown.stdout).toContain('1 decided links');
  expect(await linked()).toEqual([]);
  expect(await run(['--decided', decided, ...tryton, '--apply'])).toMatchObject({code: 0});
  expect(await linked()).toEqual(['=P-3=14']);
  const again = await run(['--decided', decided, ...tryton, '--apply']);
  expect(again.code).toBe(1);
  expect(again.stderr).toContain('is linked already');
});

test('match names each line that it cannot read, and reads the others', async () => {
  const broken = Buffer.concat([
    Buffer.from('key,name,phone\nP-1,Ada Thornholt,5035550142\nP-5\n,Nobody,\n'),
    Buffer.from('P-1,Again,\nP-6,,\nP-7,"open,1\n'),
    Buffer.from([0x50, 0x2d, 0x38, 0x2c, 0xfc, 0x2c, 0x0a]),
    Buffer.from('P-2,"Quux,\n Bert",5035550177\n'),
  ]);
  const {code, refused, sure, stderr} = await json(['--from', await save('broken.csv', broken)]);
  expect(code).toBe(1);
  expect(sure.map(({key}: {key: string}) => key)).toEqual(['P-1', 'P-2']);
  expect(refused.map(({line}: {line: number}) => line)).toEqual([3, 4, 5, 6, 7, 8]);
  for (const told of [
    'line 3: expected 3 cells, got 1',
    'line 4: has no key',
    'line 5: key P-1: line 2 has it already',
    'line 6: has no name, phone, mobile and email',
    'line 7: a quote is not closed',
    'line 8: column name: expected UTF-8',
  ])
    expect(stderr).toContain(told);
});

test('match also reads NDJSON', async () => {
  const text =
    '{"key": 17, "name": "Ada Thornholt", "phone": "5035550142"}\n{"key": ["x"]}\n[1]\n{\n';
  const {sure, refused} = await json(['--from', await save('parties.ndjson', text)]);
  expect(sure).toMatchObject([{key: '17', name: 'same', phone: 'agrees'}]);
  expect(refused.map(({line}: {line: number}) => line)).toEqual([2, 3, 4]);
});

describe('match fails with a clear error', () => {
  test.each<[string[], string]>([
    [[], 'expected one of --from FILE, --decided FILE, --undo BATCH, got none'],
    [['--from', 'a.csv', '--undo', '1'], 'got --from and --undo'],
    [['--undo', '1', '--apply'], 'expected --apply or --undo, got both'],
    [['--undo', '4711'], 'the account has no batch 4711 of links of customers'],
    [['--from', '/nowhere.csv'], '/nowhere.csv: expected a file that can be read'],
    [['--from', 'a.csv', '--country', 'Texas'], '--country: expected two letters'],
    [['--from', 'a.csv', '--system', 'a/b'], 'match: --system: expected a name'],
    [['--decided', 'a.csv', '--review', 'b.csv'], '--review: expected --from FILE beside it'],
  ])('if its arguments are %j', async (args, told) => {
    const {code, stderr} = await run(args);
    expect(code).toBe(2);
    expect(stderr).toContain(told);
  });

  test('if its file has no keys, or its table cannot be matched', async () => {
    const none = await run(['--from', await save('none.csv', 'id,name\n1,Ada\n')]);
    expect(none.stderr).toContain('expected the columns key, got id, name');
    const empty = await run(['--from', await save('empty.csv', '')]);
    expect(empty.stderr).toContain('expected CSV with a header');
    const jobs = await runCommand(['match', 'jobs', '--from', 'a.csv'], as());
    expect(jobs.stderr).toContain('no table "jobs" that can be matched; there are customers, emp');
  });
});

test('a worker can write links, an author cannot', async () => {
  const from = ['--from', await save('parties.csv', parties), ...tryton, '--apply'];
  const refused = await run(from, author);
  expect(refused.code).toBe(3);
  expect(await linked()).toEqual([]);
  expect(await run(from, worker)).toMatchObject({code: 0});
  expect(await linked()).toEqual(['P-1=11', 'P-2=12']);
});

test.each([['killed'], ['cut off']])(
  '%s while it writes, match leaves no link behind',
  async (how) => {
    const from = ['--from', await save('parties.csv', parties), ...tryton, '--apply'];
    const holder = await place.pool.connect();
    const waiting = `FROM pg_stat_activity WHERE pid <> pg_backend_pid()
    AND datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%sync.audit%'`;
    try {
      // The links are written, and wait for the entry of their batch.
      await holder.query('BEGIN');
      await holder.query('LOCK TABLE sync.audit IN ACCESS EXCLUSIVE MODE');
      const running = startCommand(['match', 'customers', '--account', 'acme', ...from], as());
      const count = async () => (await place.pool.query(`SELECT ${waiting}`)).rowCount;
      await expect.poll(count, {timeout: 50_000}).toBe(1);
      if (how === 'killed') running.process.kill('SIGKILL');
      else await place.pool.query(`SELECT pg_terminate_backend(pid) ${waiting}`);
      const {code} = await running.ended;
      expect(code).toBe(how === 'killed' ? null : 3);
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
    }
    expect(await linked()).toEqual([]);
    expect(await run(from)).toMatchObject({code: 0});
    expect(await linked()).toEqual(['P-1=11', 'P-2=12']);
  },
);
