// The common ORMs write as an author with their real libraries: create, save, upsert, delete; what
// is not the author's to write is refused by the name of its column. ORM_PYTHON names a folder with
// the packages of requirements.txt, as .ci/run makes it.

import {spawnSync} from 'node:child_process';
import {randomBytes} from 'node:crypto';
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
const both = {note: '', env: {}, names: ['naive', 'aware']};
const orms = [
  {
    orm: 'sqlalchemy',
    line: ['python3', 'with_sqlalchemy.py'],
    probe: ['python3', '-c', 'import sqlalchemy, psycopg'],
    modes: [both],
  },
  {
    orm: 'django',
    line: ['python3', 'with_django.py'],
    probe: ['python3', '-c', 'import django, psycopg'],
    modes: [
      {note: ', with USE_TZ', env: {USE_TZ: 'True'}, names: ['aware']},
      {note: ', without USE_TZ', env: {USE_TZ: 'False'}, names: ['naive']},
    ],
  },
  {
    orm: 'active_record',
    line: ['/usr/bin/ruby', 'with_active_record.rb'],
    probe: ['/usr/bin/ruby', '-e', 'require "active_record"; require "pg"'],
    modes: [both],
  },
];

function run(
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const {ORM_PYTHON: folder} = process.env;
  return spawnSync(program, args, {
    cwd: import.meta.dirname,
    encoding: 'utf8',
    env: {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: '1',
      ...(folder ? {PYTHONPATH: folder} : {}),
      ...env,
    },
  });
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

describe.each(orms)('$orm', ({orm, line, probe, modes}) => {
  const isThere = run(probe).status === 0;
  // In .ci/run each has to be there: ORM_PYTHON is set.
  const may = isThere || process.env.ORM_PYTHON !== undefined;

  test.runIf(may)(
    'creates, saves, upserts and deletes, and is refused by the name of the column',
    async () => {
      const {rows} = await world.pool.query<{customer_number: string}>(
        `SELECT min(customer_number) AS customer_number FROM warehouse.customers
          WHERE _deleted_at IS NULL`,
      );
      const customer = rows[0]?.customer_number ?? '';
      const {status, stdout, stderr} = run(line, {AUTHOR_URL: authorUrl, CUSTOMER: customer});
      expect(stderr).toBe('');
      expect(status).toBe(0);
      const told: {refused: string; tables?: number} = JSON.parse(stdout);
      expect(told.refused).toContain(
        'warehouse.customers.balance: the service does not let it be written',
      );
      if (orm === 'active_record') expect(told.tables).toBe(allTables.length);

      const {rows: changes} = await world.pool.query(
        `SELECT change.operation, change.state, change.fields, held.external_key AS key
         FROM sync.changes AS change LEFT JOIN warehouse.customers AS held USING (row_id)
        WHERE change.requested_by = '${login}' AND change.state <> 'done' ORDER BY change_id`,
      );
      expect(changes).toEqual([
        {
          operation: 'create',
          state: 'pending',
          fields: {name: 'Ada', phone_number: '555-0101'},
          key: `${orm}-1`,
        },
        {
          operation: 'update',
          state: 'pending',
          fields: {fax: expect.stringMatching(/555-017/)},
          key: null,
        },
        {operation: 'create', state: 'pending', fields: {name: 'Grace Hopper'}, key: `${orm}-2`},
        {operation: 'create', state: 'cancelled', fields: {name: 'Gone'}, key: null},
      ]);
      await pushAccount(world, world.account.accountId, new AbortController().signal);
      const {rows: states} = await world.pool.query(
        `SELECT count(*)::int AS done FROM warehouse.customers
        WHERE external_key LIKE '${orm}-%' AND customer_number IS NOT NULL AND _pending IS NULL`,
      );
      expect(states).toEqual([{done: 2}]);
      await world.pool.query(`DELETE FROM sync.changes WHERE state = 'cancelled'`);
    },
  );

  test.runIf(may).each(modes)(
    'writes numbers and times that are what was meant$note',
    async ({env, names}) => {
      await world.pool.query(
        `INSERT INTO warehouse.jobs (customer_number, name) SELECT min(customer_number), 'x'
          FROM warehouse.customers`,
      );
      await pushAccount(world, world.account.accountId, new AbortController().signal);
      const {rows: jobs} = await world.pool.query<{job_number: string}>(
        'SELECT job_number FROM warehouse.jobs',
      );
      const [program = '', file = ''] = line;
      const {status, stdout, stderr} = run([program, `values_${file}`], {
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

  test.runIf(!may)('is missing here, so nothing is proven about it', () => {
    process.stderr.write(
      `${orm}: not tested, for its library is missing ` +
        '(test/orms/requirements.txt, ruby-activerecord)\n',
    );
  });
});
