// Every right that was granted, to any role, on any object of ours: the rights in
// written-grants.ts, and no others. These tests name a new table, column or function until a person
// has written down its rights there.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {migrateQueue} from '../../jobs/queue.ts';
import {type CaptureWorld, openCaptureWorld} from '../changes/capture-world.ts';
import {each, expected, type Rights} from './written-grants.ts';

let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
  await migrateQueue(world.url);
  // What a role holds beside its rights is taken from it.
  for (const role of ['reader', 'author', 'worker', 'assistant'].map(
    (name) => `fieldmirror_${name}`,
  ))
    await world.author(`GRANT CREATE ON SCHEMA sync TO ${role};
      GRANT TRUNCATE ON warehouse.jobs, mart.ask_debtors TO ${role};
      GRANT UPDATE (name) ON sync.accounts TO ${role};
      GRANT UPDATE ON ALL SEQUENCES IN SCHEMA warehouse TO ${role};
      GRANT EXECUTE ON FUNCTION sync.grant_roles() TO ${role}`);
  await world.author('SELECT sync.grant_roles()');
});
afterAll(() => world?.close());

// The owner's own rights are not granted by anyone, and functions of an extension are not ours.
const granted = `
  WITH ours AS (SELECT oid, nspname, nspacl, nspowner FROM pg_namespace
    WHERE nspname IN ('warehouse', 'history', 'mart', 'masked', 'sync')),
  given AS (
    SELECT 'schema' AS kind, nspname::text AS thing, acl.*
    FROM ours, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) AS acl
     UNION ALL
    SELECT CASE relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, pg_class.oid::regclass::text,
      acl.*
      FROM pg_class JOIN ours ON ours.oid = relnamespace,
           aclexplode(coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's'
             ELSE 'r' END::"char", relowner))) AS acl
     WHERE relkind IN ('r', 'v', 'm', 'S', 'p', 'f')
     UNION ALL
    SELECT 'column', format('%s.%s', attrelid::regclass, attname), acl.*
      FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
      JOIN ours ON ours.oid = relnamespace, aclexplode(attacl) AS acl
     WHERE NOT attisdropped
     UNION ALL
    SELECT 'function', pg_proc.oid::regprocedure::text, acl.*
      FROM pg_proc JOIN ours ON ours.oid = pronamespace,
        aclexplode(coalesce(proacl, acldefault('f', proowner))) AS acl
     WHERE NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass
       AND objid = pg_proc.oid AND deptype = 'e'))
  SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role, kind, thing,
         string_agg(privilege_type || CASE WHEN is_grantable THEN ' to give' ELSE '' END, ', '
           ORDER BY privilege_type) AS rights
    FROM given WHERE grantee = 0 OR grantee <> grantor GROUP BY 1, 2, 3`;

async function readGiven(role: string, kind: string): Promise<Rights> {
  const rows = await world.author(granted);
  return Object.fromEntries(
    rows
      .filter((row) => row.role === role && row.kind === kind)
      .map(({thing, rights}) => [String(thing), String(rights)]),
  );
}

test('only the roles in written-grants.ts have rights', async () => {
  const roles = await world.author(`SELECT DISTINCT role FROM (${granted}) AS given`);
  expect(roles.map(({role}) => role).sort()).toEqual(Object.keys(expected).sort());
});

describe.each(Object.entries(expected))('%s', (role, given) => {
  test.each(Object.entries(given))(
    'has exactly the rights on each %s that are in written-grants.ts',
    async (kind, rights) => {
      expect(await readGiven(role, kind)).toEqual(rights);
    },
  );
});

test('only a fixed list of tables is reserved for the owner', async () => {
  const given = Object.values(expected).flatMap(({table}) => Object.keys(table));
  const rows = await world.author(
    `SELECT oid::regclass::text AS name FROM pg_class WHERE relkind IN ('r', 'v', 'm', 'p', 'f')
        AND relnamespace IN ('warehouse'::regnamespace, 'history'::regnamespace,
          'mart'::regnamespace, 'masked'::regnamespace, 'sync'::regnamespace)`,
  );
  const own = rows.map(({name}) => String(name)).filter((name) => !given.includes(name));
  expect(own.sort()).toEqual([
    'sync.all_fct_assignment',
    'sync.all_fct_job',
    'sync.all_fct_job_charge',
    'sync.all_fct_time_entry',
    'sync.assistant_scopes',
    'sync.author_accounts',
    'sync.feed_acks',
  ]);
});

describe('column rights', () => {
  test.each(['PUBLIC', 'fieldmirror_reader', 'fieldmirror_worker'])(
    '%s has rights on whole tables only',
    async (role) => {
      expect(await readGiven(role, 'column')).toEqual({});
    },
  );

  test('an author may set every column except row_id in an INSERT', async () => {
    const rows = await world.author(
      `SELECT format('%s.%s', attrelid::regclass, attname) AS name FROM pg_attribute
       JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'warehouse'::regnamespace AND relkind = 'r' AND attnum > 0
        AND NOT attisdropped AND attname <> 'row_id'`,
    );
    expect(await readGiven('fieldmirror_author', 'column')).toEqual(
      Object.fromEntries(rows.map(({name}) => [String(name), 'INSERT'])),
    );
  });
});

test('only workers have rights on the queue', async () => {
  const found = await world.author(
    `SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role
       FROM pg_class, aclexplode(relacl) AS acl WHERE relnamespace = 'bullmq'::regnamespace
       AND grantee <> grantor`,
  );
  expect(found).toEqual([{role: 'fieldmirror_worker'}]);
});

test('no default privileges are set for later objects', async () => {
  expect(await world.author('SELECT defaclrole::regrole, defaclacl FROM pg_default_acl')).toEqual(
    [],
  );
});

test('no role is a member of another role, can log in, or has a special attribute', async () => {
  expect(
    await world.author(
      `SELECT rolname FROM pg_roles WHERE rolname LIKE 'fieldmirror\\_%'
          AND (rolcanlogin OR rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication
            OR rolbypassrls
               OR EXISTS (SELECT FROM pg_auth_members WHERE member = pg_roles.oid))`,
    ),
  ).toEqual([]);
});

describe('row-level security', () => {
  const confined = [
    ...each('warehouse.*'),
    'sync.alterations',
    'sync.attempts',
    'sync.changes',
    'sync.conflicts',
    'sync.links',
  ];

  test('is enabled on exactly the listed tables, of those that an author may read', async () => {
    const rows = await world.author(
      `SELECT oid::regclass::text AS name FROM pg_class
        WHERE relkind = 'r' AND has_table_privilege('fieldmirror_author', oid, 'SELECT')
          AND relnamespace IN ('warehouse'::regnamespace, 'history'::regnamespace,
            'sync'::regnamespace) AND relrowsecurity`,
    );
    expect(rows.map(({name}) => name).sort()).toEqual(confined.toSorted());
  });

  test('is enabled on every table with an account, of those that an author may read', async () => {
    const rows = await world.author(
      `SELECT oid::regclass::text AS name FROM pg_class
        WHERE relkind IN ('r', 'p') AND NOT relrowsecurity
          AND has_any_column_privilege('fieldmirror_author', oid, 'SELECT')
          AND EXISTS (SELECT FROM pg_attribute
            WHERE attrelid = pg_class.oid AND attname IN ('account_id', 'account_key')
              AND NOT attisdropped)`,
    );
    expect(rows.map(({name}) => name)).toEqual([]);
  });

  test('lets workers write, readers read, and others access only their own accounts', async () => {
    const rows = await world.author(
      `SELECT format('%I.%I', schemaname, tablename) AS place, policyname, roles::text, cmd, qual
       FROM pg_policies ORDER BY 1, 2`,
    );
    const of = (place: string) =>
      rows.filter((row) => row.place === place).map(({place: _, ...policy}) => policy);
    for (const place of confined) {
      const [own, ...others] = of(place);
      expect(own).toMatchObject({policyname: 'own_accounts', roles: '{public}', cmd: 'ALL'});
      expect(String(own?.qual)).toMatch(/accounts_of|systems_of|EXISTS/);
      expect(others).toEqual([
        ...(place.startsWith('sync.')
          ? []
          : [{policyname: 'reader', roles: '{fieldmirror_reader}', cmd: 'SELECT', qual: 'true'}]),
        {policyname: 'worker', roles: '{fieldmirror_worker}', cmd: 'ALL', qual: 'true'},
      ]);
    }
  });
});

// The statements of an assistant name its tables; the next test says why nobody can put another in
// their place.
test('all SECURITY DEFINER functions but one search names in the catalogue only', async () => {
  expect(
    await world.author(
      `SELECT oid::regprocedure::text AS name FROM pg_proc
        WHERE prosecdef AND pronamespace IN ('sync'::regnamespace, 'history'::regnamespace,
          'mart'::regnamespace)
          AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)
        ORDER BY 1`,
    ),
  ).toEqual([{name: 'sync.read_as_assistant(text,integer,integer)'}]);
});

test('the function that reads for an assistant has an owner without CREATE rights', async () => {
  expect(
    await world.author(
      `SELECT proname AS name, proowner::regrole::text AS owner, provolatile AS volatility,
              ARRAY(SELECT nspname::text FROM pg_namespace
                WHERE has_schema_privilege(proowner, oid, 'CREATE')) AS makes
         FROM pg_proc WHERE proname LIKE 'read\\_as\\_%' ORDER BY 1`,
    ),
  ).toEqual([
    {name: 'read_as_assistant', owner: 'fieldmirror_assistant', volatility: 's', makes: []},
  ]);
});
