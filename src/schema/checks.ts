// Checks of a database before it is migrated or used: its migrations, its functions and triggers,
// its roles, and the rights that every login has in it.

import {createHash} from 'node:crypto';
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import pg from 'pg';
import {transitions} from '../changes/states.ts';
import {FatalError} from '../core/errors.ts';
import {packageRoot, readVersion} from '../core/package.ts';
import type {Queryable} from '../postgres/database.ts';
import {grantCreate, isDatabaseError} from '../postgres/database-errors.ts';
import type {StarMember} from '../star/member.ts';
import type {WarehouseTable} from '../streams/table.ts';

// drizzle skips a migration that is older than the newest one applied, and never compares a hash.
// So we compare the journal in the migrations folder with the migrations that the database has, and
// read both as drizzle does.

export const migrationsFolder = join(packageRoot, 'migrations');

/** How the migrations of the database differ from those of this version. */
interface MigrationCheck {
  /** Migrations that the database does not have, by their place in the journal, from 1. */
  readonly missing: readonly number[];
  /** Hashes of migrations in the database that this version does not know. */
  readonly unknown: readonly string[];
  /** Hashes of the migrations that the database has. */
  readonly applied: readonly string[];
  /** The problem and the next step; null when there is none. */
  readonly problem: string | null;
}

/**
 * Compares the migrations applied with those of this version. A database that was never migrated
 * lacks all of them.
 * @throws {FatalError} the journal itself is out of order
 */
export async function checkMigrations(
  db: Queryable,
  folder = migrationsFolder,
): Promise<MigrationCheck> {
  const expectedHashes = readJournal(folder);
  const applied = await readApplied(db);
  const missing = expectedHashes.flatMap((hash, index) =>
    applied.includes(hash) ? [] : index + 1,
  );
  const unknown = applied.filter((hash) => !expectedHashes.includes(hash));
  return {
    missing,
    unknown,
    applied,
    problem: describeProblem(missing, unknown, applied.length === 0),
  };
}

/** An entry of the journal that drizzle-kit keeps; `tag` names the file of SQL. */
interface Entry {
  readonly tag: string;
  /** Milliseconds since 1970. */
  readonly when: number;
}

/** @returns the hash of every migration as drizzle notes it when it applies one, in order */
function readJournal(folder: string): string[] {
  const {entries} = JSON.parse(readMigrationFile(folder, 'meta/_journal.json')) as {
    readonly entries: readonly Entry[];
  };
  for (const [index, {when}] of entries.entries()) {
    const previous = entries[index - 1]?.when ?? 0;
    if (when > previous) continue;
    throw new FatalError(
      `migrations: number ${index + 1} of the journal: expected it to be younger than ` +
        `${previous}, got ${when}, so it would be passed over; generate it again`,
    );
  }
  return entries.map(({tag}) =>
    createHash('sha256')
      .update(readMigrationFile(folder, `${tag}.sql`))
      .digest('hex'),
  );
}

function readMigrationFile(folder: string, name: string): string {
  return readFileSync(join(folder, name), 'utf8');
}

/** @returns hashes; none if the table does not exist */
async function readApplied(db: Queryable): Promise<string[]> {
  try {
    const {rows} = await db.query<{hash: string}>(
      'SELECT hash FROM sync.migrations ORDER BY created_at',
    );
    return rows.map((row) => row.hash);
  } catch (error) {
    if (isDatabaseError(error, '42P01')) return [];
    throw error;
  }
}

function describeProblem(
  missing: readonly number[],
  unknown: readonly string[],
  isEmpty: boolean,
): string | null {
  if (unknown.length > 0 && missing.includes(1)) {
    return (
      'this database was made by a state of fieldmirror from before its first release, ' +
      'and cannot be upgraded: export what you need of it, and start with an empty database'
    );
  }
  if (unknown.length > 0) {
    return (
      `${nameCount(unknown)} that this version does not know: a newer version has migrated this ` +
      'database, or a migration was edited; update fieldmirror'
    );
  }
  if (missing.length === 0) return null;
  return isEmpty
    ? 'it holds nothing of Fieldmirror yet: `fieldmirror start` makes the schema and fills it, ' +
        '`fieldmirror init` sets up your own account first, ' +
        '`fieldmirror migrate` makes the schema alone'
    : `${nameCount(missing)} missing: run \`fieldmirror migrate\``;
}

function nameCount(items: readonly unknown[]): string {
  return `${items.length} ${items.length === 1 ? 'migration' : 'migrations'}`;
}

/**
 * Describes the columns that a person added to tables of the warehouse; null if there are none. The
 * history of the table lacks them, so that no row of it can be changed.
 */
export async function describeAddedColumns(db: Queryable): Promise<string | null> {
  const {rows} = await db.query<{names: string | null}>(
    `SELECT string_agg(format('warehouse.%I.%I', relname, attname), ', ' ORDER BY relname, attnum)
            AS names
       FROM pg_class JOIN pg_attribute AS added ON attrelid = pg_class.oid
      WHERE relnamespace = 'warehouse'::regnamespace AND relkind = 'r' AND attnum > 0
        AND NOT attisdropped AND NOT EXISTS (
              SELECT FROM pg_class AS past JOIN pg_attribute AS held ON held.attrelid = past.oid
               WHERE past.relnamespace = 'history'::regnamespace
                 AND past.relname = 'past_' || pg_class.relname AND held.attname = added.attname)`,
  );
  const names = rows[0]?.names ?? null;
  if (names === null) return null;
  return (
    `expected no columns but those of Fieldmirror, got ${names}: no row of such a table can be ` +
    'changed; drop what was added, and keep your values in a table of your own'
  );
}

interface LoginCheck {
  readonly user: string;
  readonly database: string;
  /** The owner of the schemas if they exist, otherwise of the database. */
  readonly owner: string;
  readonly isThere: boolean;
  readonly may: boolean;
}

/**
 * Why this login may not bring the schema up to date, with the statement that permits it, and who
 * may; null if this login may.
 */
export async function findMigrationLack(db: Queryable): Promise<string | null> {
  const {rows} = await db.query<LoginCheck>(
    `SELECT current_user AS user, datname AS database, nspname IS NOT NULL AS "isThere",
            pg_get_userbyid(coalesce(nspowner, datdba)) AS owner,
            CASE WHEN nspname IS NULL THEN has_database_privilege(datname, 'CREATE')
              ELSE pg_has_role(nspowner, 'USAGE') END AS may
       FROM pg_database LEFT JOIN pg_namespace ON nspname = 'sync'
      WHERE datname = current_database()`,
  );
  const [login] = rows;
  if (login === undefined || login.may) return null;
  const {user, database, owner, isThere} = login;
  if (isThere)
    return (
      `the schema is not of this version, and ${user} may not change it: ` +
      `run \`fieldmirror migrate\` as its owner, ${owner}`
    );
  return (
    `the database ${database} has none of our schemas yet, and ${user} may not make them, ` +
    'for it lacks CREATE on the database: ' +
    `run \`fieldmirror migrate\` as the owner, ${owner}, ` +
    `or let the owner run ${grantCreate({user, database})}`
  );
}

// Functions, triggers and grants are source files. If one of them changes, all are applied, so that
// no migration contains a copy of one.

/**
 * The objects that a migration makes from definitions in the code, apart from the tables of
 * `migrations/*.sql`.
 */
export interface Definitions {
  /** Every warehouse table. */
  readonly tables: readonly WarehouseTable[];
  /** Every member of the star, each after the members that it depends on. */
  readonly star: readonly StarMember[];
}

const functionsFolder = join(packageRoot, 'migrations', 'functions');

/** Everything that this version defines in the database apart from its tables. */
export interface Source {
  /** Our version, as in `0.1.0`. */
  readonly version: string;
  /** SHA-256 over the files, the definitions and the transitions between states. */
  readonly hash: string;
  /** SQL, in the order to run it. */
  readonly files: readonly {readonly name: string; readonly text: string}[];
}

/** Reads `migrations/functions`, and the definitions. */
export function readSource(definitions: Definitions, folder = functionsFolder): Source {
  const files = readdirSync(folder, {recursive: true, encoding: 'utf8'})
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({name, text: readFileSync(join(folder, name), 'utf8')}));
  const hash = createHash('sha256')
    .update(JSON.stringify([files, definitions, transitions]))
    .digest('hex');
  return {version: readVersion(), hash, files};
}

/** The source that a database has. */
interface AppliedSource {
  readonly version: string;
  readonly hash: string;
}

/** @returns null when none was applied yet */
export async function readAppliedSource(db: Queryable): Promise<AppliedSource | null> {
  try {
    const {rows} = await db.query<AppliedSource>('SELECT version, hash FROM sync.source');
    return rows[0] ?? null;
  } catch (error) {
    if (isDatabaseError(error, '42P01')) return null;
    throw error;
  }
}

/**
 * Whether a database has another source than this version contains. The source of a newer version
 * stays: two versions may run at the same time while one replaces the other.
 */
export function isOutdated(applied: AppliedSource | null, source: Source): boolean {
  if (applied === null) return true;
  const order = compareVersions(applied.version, source.version);
  return order < 0 || (order === 0 && applied.hash !== source.hash);
}

// Versions are mostly equal, and the rules of collation cost 8 ms of CPU to load.
function compareVersions(first: string, second: string): number {
  return first === second ? 0 : first.localeCompare(second, 'en', {numeric: true});
}

// The four roles that rights are granted to. They belong to the cluster, so an owner who may not
// create roles needs an administrator for them. Postgres refuses nothing in the meantime, so these
// checks report the lack.

/** The state of the roles, each list in the order in which the roles are made. */
interface RoleCheck {
  /** The owner of the schemas. */
  readonly owner: string;
  /** Roles that do not exist. */
  readonly missing: readonly string[];
  /**
   * The role that runs the function for assistants, if the owner is not a member of it. The owner
   * cannot give it that function then.
   */
  readonly apart: readonly string[];
  /**
   * Roles that exist and lack rights that `fieldmirror migrate` or the next start of the owner
   * gives them.
   */
  readonly ungranted: readonly string[];
}

const rolesQuery = `
  WITH ours AS (
    SELECT name, place, to_regrole(name)::oid AS role, home::regnamespace::oid AS home,
           (SELECT proowner FROM pg_proc WHERE pronamespace = 'sync'::regnamespace
             AND proname = reads) AS reads_as,
           reads IS NOT NULL AND NOT pg_has_role(nspowner, to_regrole(name)::oid,
             'USAGE') AS is_apart,
           pg_get_userbyid(nspowner) AS owner
      FROM (VALUES (1, 'fieldmirror_reader', 'mart', NULL),
        (2, 'fieldmirror_author', 'warehouse', NULL),
                   (3, 'fieldmirror_worker', 'sync', NULL),
                     (4, 'fieldmirror_assistant', 'masked', 'read_as_assistant'))
           AS roles (place, name, home, reads)
      JOIN pg_namespace ON nspname = 'sync')
  SELECT min(owner) AS owner,
         coalesce(array_agg(name ORDER BY place) FILTER (WHERE role IS NULL), '{}') AS missing,
         coalesce(array_agg(name ORDER BY place) FILTER (WHERE is_apart AND reads_as <> role),
           '{}') AS apart,
         coalesce(array_agg(name ORDER BY place) FILTER (
           WHERE NOT has_schema_privilege(role, home, 'USAGE')
             OR (NOT is_apart AND reads_as <> role)), '{}') AS ungranted
    FROM ours`;

/** @param db - a warehouse of this version. Any login may call this. */
export async function checkRoles(db: Queryable): Promise<RoleCheck> {
  const {rows} = await db.query<RoleCheck>(rolesQuery);
  return rows[0] ?? {owner: '', missing: [], apart: [], ungranted: []};
}

/**
 * The statements for an administrator, after which `fieldmirror migrate` can give every role its
 * rights; none if nothing is needed.
 */
export function listRoleStatements({owner, missing, apart}: RoleCheck): string[] {
  const isGrantMissing = [...missing, ...apart].includes('fieldmirror_assistant');
  return [
    ...missing.map((role) => `CREATE ROLE ${role} NOLOGIN`),
    ...(isGrantMissing ? [`GRANT fieldmirror_assistant TO ${pg.escapeIdentifier(owner)}`] : []),
  ];
}

/** Describes what the roles lack, and the next step; null if every role has its rights. */
export function describeRoles(check: RoleCheck): string | null {
  const {missing, apart, ungranted, owner} = check;
  const statements = listRoleStatements(check).map((statement) => `${statement};`);
  const nextStep =
    `let an administrator run ${statements.join(' ')} and then run ` +
    `\`fieldmirror migrate\` as ${owner}`;
  if (missing.length > 0)
    return (
      `${missing.join(', ')}: not there, and ${owner} may not create roles, ` +
      `so no one has a right of ${missing.length === 1 ? 'it' : 'them'}; ${nextStep}`
    );
  if (apart.length > 0)
    return (
      `${apart.join(', ')}: ${owner} is no member, ` +
      `so \`fieldmirror mcp\` reads nothing; ${nextStep}`
    );
  if (ungranted.length > 0)
    return (
      `${ungranted.join(', ')}: without rights in this database; ` +
      `run \`fieldmirror migrate\` as ${owner}`
    );
  return null;
}

/**
 * Describes roles that `sync.grant_account` bound to an account and that do not exist. A role that
 * was renamed has lost its accounts, its outside system and the hold of its deletes. A role that
 * was dropped leaves them to the next one of its name. Null if there are none, or if this login may
 * not read the bindings.
 */
export async function findLostAuthors(db: Queryable): Promise<string | null> {
  const {rows: logins} = await db.query<{may: boolean}>(
    `SELECT has_table_privilege('sync.author_accounts', 'SELECT') AS may`,
  );
  if (logins[0]?.may !== true) return null;
  const {rows} = await db.query<{role: string; revoke: string}>(
    `SELECT role_name AS role,
            format('SELECT sync.revoke_account(%L, %L);', role_name, name) AS revoke
       FROM sync.author_accounts JOIN sync.accounts USING (account_id)
      WHERE to_regrole(quote_ident(role_name)) IS NULL ORDER BY 1, 2`,
  );
  if (rows.length === 0) return null;
  const roles = [...new Set(rows.map(({role}) => role))].join(', ');
  return (
    `${roles}: bound to an account, but no role has that name; bind a role that was renamed by ` +
    `its new name (sync.grant_account), then run ${rows.map(({revoke}) => revoke).join(' ')}`
  );
}

// Postgres gives PUBLIC, and so every login, the right to temporary tables and large objects. That
// is not needed here, and with them any login can fill the disk. sync.bar_public revokes what its
// caller may revoke. Other programs of the database may need the schema `public`.

/** The rights that PUBLIC still has. */
interface PublicRights {
  readonly database: string;
  /** The owner of the schemas. */
  readonly owner: string;
  /** Whether that owner may grant and revoke rights on the database. */
  readonly isOwners: boolean;
  /** Whether every login may make temporary tables, or the workers may not. */
  readonly temporary: boolean;
  /** The functions by which every login may make large objects. */
  readonly largeObjects: readonly string[];
  /** Whether every login may create functions in the schema `public`: so Postgres 14 made it. */
  readonly publicSchema: boolean;
}

const publicRightsQuery = `
  SELECT datname AS database, pg_get_userbyid(nspowner) AS owner,
         pg_has_role(nspowner, datdba, 'USAGE') AS "isOwners",
         EXISTS (SELECT FROM aclexplode(coalesce(datacl, acldefault('d', datdba))) WHERE grantee = 0
           AND privilege_type = 'TEMPORARY')
           OR NOT coalesce(has_database_privilege(to_regrole('fieldmirror_worker')::oid,
             pg_database.oid, 'TEMPORARY'), true) AS temporary,
         ARRAY(SELECT pg_proc.oid::regprocedure::text FROM pg_proc
                WHERE pronamespace = 'pg_catalog'::regnamespace
                  AND proname IN ('lo_creat', 'lo_create', 'lo_from_bytea')
                  AND EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner)))
                    WHERE grantee = 0)
                ORDER BY 1) AS "largeObjects",
         EXISTS (SELECT FROM pg_namespace AS place, aclexplode(place.nspacl)
                  WHERE place.nspname = 'public' AND grantee = 0
                    AND privilege_type = 'CREATE') AS "publicSchema"
    FROM pg_database JOIN pg_namespace ON nspname = 'sync'
   WHERE datname = current_database()`;

/** @param db - a warehouse of this version. Any login may call this. */
export async function checkPublic(db: Queryable): Promise<PublicRights | null> {
  const {rows} = await db.query<PublicRights>(publicRightsQuery);
  return rows[0] ?? null;
}

/**
 * Describes that every login may make temporary tables, and the next step; null if only the logins
 * that need them may.
 */
export function describeTemporary({
  database,
  owner,
  isOwners,
  temporary,
}: PublicRights): string | null {
  if (!temporary) return null;
  if (isOwners)
    return (
      "temporary tables are not the workers' and the owner's alone, and any login can fill the " +
      `disk with them; run \`fieldmirror migrate\` as ${owner}`
    );
  const databaseName = pg.escapeIdentifier(database);
  return (
    `any login can fill the disk with temporary tables, and ${owner} does not own the ` +
    'database; let an administrator run ' +
    `GRANT TEMPORARY ON DATABASE ${databaseName} TO fieldmirror_worker,
      ${pg.escapeIdentifier(owner)}; REVOKE TEMPORARY ON DATABASE ${databaseName} FROM PUBLIC;`
  );
}

/** Describes that every login may plant functions and operators; null if it may not. */
export function describePublicSchema({publicSchema}: PublicRights): string | null {
  if (!publicSchema) return null;
  return (
    'any login may create functions in the schema public, and a session that searches it may ' +
    'run them with its own rights; let the owner of the schema run ' +
    'REVOKE CREATE ON SCHEMA public FROM PUBLIC;'
  );
}

/**
 * Describes the rights that a superuser may revoke, or that none is left. Many managed servers give
 * no one a superuser, so this is not reported as a problem.
 */
export function describeLargeObjects({largeObjects}: PublicRights): string {
  if (largeObjects.length === 0) return 'only a superuser makes large objects';
  return (
    'any login may make large objects; where you have a superuser, let it run ' +
    `REVOKE EXECUTE ON FUNCTION ${largeObjects.join(', ')} FROM PUBLIC;`
  );
}
