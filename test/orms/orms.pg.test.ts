// The common ORMs write as an author with their real libraries, by the programs of examples/orm:
// create, save, upsert, delete; what is not the author's to write is refused by the name of its
// column. ORM_PYTHON names a folder with the packages of requirements.txt, as .ci/run makes it.

import {spawnSync} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {pushAccount} from '../../src/push/push.ts';
import {allTables} from '../../src/streams/all.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {
  openService,
  openWorld,
  type TestService,
  type TestWorld,
  timeZone,
} from '../support/world.ts';

const login = `author_${randomBytes(4).toString('hex')}`;
const password = randomBytes(12).toString('hex');
const examples = join(import.meta.dirname, '..', '..', 'examples', 'orm');
const ruby = '/usr/bin/ruby';
const orms = [
  {orm: 'sqlalchemy', line: ['python3', 'day.py'], probe: ['-c', 'import sqlalchemy, psycopg']},
  {orm: 'django', line: ['python3', 'day.py'], probe: ['-c', 'import django, psycopg']},
  {
    orm: 'activerecord',
    line: [ruby, 'day.rb'],
    probe: ['-e', 'require "active_record"; require "pg"'],
  },
  {orm: 'drizzle', line: ['node', 'day.ts'], probe: ['-e', 'import("drizzle-orm")']},
  {orm: 'prisma', line: ['node', 'day.js'], probe: ['-e', 'import("./generated/client.ts")']},
  {orm: 'sequelize', line: ['node', 'day.js'], probe: ['-e', 'import("sequelize")']},
  {orm: 'typeorm', line: ['node', 'day.js'], probe: ['-e', 'import("typeorm")']},
];
const both = {note: '', env: {}, names: ['naive', 'aware']};
const values = [
  {orm: 'sqlalchemy', line: ['python3', 'values_with_sqlalchemy.py'], modes: [both]},
  {
    orm: 'django',
    line: ['python3', 'values_with_django.py'],
    modes: [
      {note: ', with USE_TZ', env: {USE_TZ: 'True'}, names: ['aware']},
      {note: ', without USE_TZ', env: {USE_TZ: 'False'}, names: ['naive']},
    ],
  },
  {orm: 'activerecord', line: [ruby, 'values_with_active_record.rb'], modes: [both]},
];

function run(
  folder: string,
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const {ORM_PYTHON: packages} = process.env;
  return spawnSync(program, args, {
    cwd: folder,
    encoding: 'utf8',
    env: {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: '1',
      ...(packages ? {PYTHONPATH: packages} : {}),
      ...env,
    },
  });
}

/** Their folders are installed by hand. */
const inFolders = ['prisma', 'sequelize', 'typeorm'];

/** Where ORM_PYTHON is set, as in .ci/run, only those may be missing. */
function mayRun(orm: string): boolean {
  const {line = [], probe = []} = orms.find((one) => one.orm === orm) ?? {};
  const [program = ''] = line;
  const isThere = run(join(examples, orm), [program, ...probe]).status === 0;
  return isThere || (!inFolders.includes(orm) && process.env.ORM_PYTHON !== undefined);
}

let service: TestService;
let world: TestWorld;
let authorUrl: string;
beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  await world.sweep('customers');
  await makeRole(login, `LOGIN PASSWORD '${password}' IN ROLE fieldmirror_author`);
  authorUrl = Object.assign(new URL(world.databaseUrl), {username: login, password}).href;
});
afterAll(async () => {
  await dropRoles(login);
  await world?.close();
  await service?.close();
});

describe.each(orms)('$orm', ({orm, line}) => {
  const may = mayRun(orm);

  test.runIf(may)(
    'creates, saves, upserts and deletes, and a refused write names the column',
    async () => {
      const key = orm.toUpperCase();
      const {status, stdout, stderr} = run(join(examples, orm), [...line, key], {
        AUTHOR_URL: authorUrl,
      });
      expect(stderr).toBe('');
      expect(status).toBe(0);
      expect(stdout).toContain(
        'warehouse.customers.balance: the service does not let it be written',
      );

      const {rows: changes} = await world.pool.query(
        `SELECT change.operation, change.state, change.fields, held.external_key AS key
           FROM sync.changes AS change LEFT JOIN LATERAL (
             SELECT external_key FROM warehouse.customers
              WHERE change.table_name = 'customers' AND row_id = change.row_id
             UNION ALL
             SELECT external_key FROM warehouse.jobs
              WHERE change.table_name = 'jobs' AND row_id = change.row_id
           ) AS held ON true
          WHERE change.requested_by = '${login}' AND change.state <> 'done' ORDER BY change_id`,
      );
      const create = {operation: 'create', state: 'pending'};
      const cancelled = {operation: 'create', state: 'cancelled', fields: {name: 'Gone'}};
      expect(changes).toEqual([
        {...create, fields: {name: 'Ada', phone_number: '555-0101'}, key: `${key}-C1`},
        {...create, fields: {name: 'Replace the boiler'}, key: `${key}-J1`},
        {
          operation: 'update',
          state: 'pending',
          fields: {fax: expect.stringMatching(/555-01/)},
          key: null,
        },
        {...create, fields: {name: 'Grace Hopper'}, key: `${key}-C2`},
        {...create, fields: {name: 'Check the pump'}, key: `${key}-J2`},
        {...cancelled, key: null},
        {...cancelled, key: null},
      ]);
      await pushAccount(world, world.account.accountId, new AbortController().signal);
      const {rows: sent} = await world.pool.query(
        `SELECT external_key AS key FROM warehouse.customers
          WHERE external_key LIKE '${key}-%' AND customer_number > 0 AND NOT _pending IS TRUE
         UNION ALL
         SELECT external_key FROM warehouse.jobs
          WHERE external_key LIKE '${key}-%' AND job_number > 0 AND NOT _pending IS TRUE
          ORDER BY key`,
      );
      expect(sent.map((row) => row.key)).toEqual(
        ['C1', 'C2', 'J1', 'J2'].map((one) => `${key}-${one}`),
      );
      await world.pool.query(`DELETE FROM sync.changes WHERE state = 'cancelled'`);
    },
  );

  test.runIf(!may)('is missing here, so it is not tested', () => {
    process.stderr.write(
      `${orm}: not tested, for its library is missing ` + `(examples/orm/${orm}/README.md)\n`,
    );
  });
});

test.runIf(mayRun('activerecord'))('ActiveRecord can use every table', () => {
  const {status, stdout, stderr} = run(
    import.meta.dirname,
    [ruby, 'tables_with_active_record.rb'],
    {AUTHOR_URL: authorUrl},
  );
  expect(stderr).toBe('');
  expect(status).toBe(0);
  expect(stdout.trim()).toBe(String(allTables.length));
});

describe.each(values)('$orm', ({orm, line, modes}) => {
  test.runIf(mayRun(orm)).each(modes)(
    'writes numbers and times without altering them$note',
    async ({env, names}) => {
      await world.pool.query(
        `INSERT INTO warehouse.jobs (customer_number, name) SELECT min(customer_number), 'x'
          FROM warehouse.customers`,
      );
      await pushAccount(world, world.account.accountId, new AbortController().signal);
      const {rows: jobs} = await world.pool.query<{job_number: string}>(
        'SELECT job_number FROM warehouse.jobs',
      );
      const {status, stdout, stderr} = run(import.meta.dirname, line, {
        AUTHOR_URL: authorUrl,
        ACCOUNT: world.account.accountId,
        JOB: jobs[0]?.job_number ?? '',
        ZONE: timeZone,
        ...env,
      });
      expect(stderr).toBe('');
      expect(status).toBe(0);
      const told: {refused: string | null} = JSON.parse(stdout);
      if (orm === 'sqlalchemy')
        expect(told.refused).toContain(
          'warehouse.tasks.scheduled_at: expected a session that sets its time zone',
        );
      const {rows: changes} = await world.pool.query(
        `SELECT table_name, fields FROM sync.changes WHERE requested_by = '${login}'
         AND state = 'pending' ORDER BY table_name DESC, change_id`,
      );
      expect(changes).toEqual([
        ...names.map((name) => ({
          table_name: 'tasks',
          fields: {name, scheduled_at: '2027-03-01T14:00:00+00:00'},
        })),
        {table_name: 'job_charges', fields: {price_per_unit: '0.3'}},
      ]);
      await pushAccount(world, world.account.accountId, new AbortController().signal);
    },
  );
});
