import type {Queryable} from '../postgres/database.ts';
import {grantCreate} from '../postgres/database-errors.ts';

interface Look {
  readonly user: string;
  readonly database: string;
  /** Of the schemas where they are there, else of the database. */
  readonly owner: string;
  readonly isThere: boolean;
  readonly may: boolean;
}

/**
 * Why this login may not bring the schema up to date, with the statement that lets it, and who can;
 * null where it may.
 */
export async function findMigrationLack(db: Queryable): Promise<string | null> {
  const {rows} = await db.query<Look>(
    `SELECT current_user AS user, datname AS database, nspname IS NOT NULL AS "isThere",
            pg_get_userbyid(coalesce(nspowner, datdba)) AS owner,
            CASE WHEN nspname IS NULL THEN has_database_privilege(datname, 'CREATE') ELSE pg_has_role(nspowner, 'USAGE') END AS may
       FROM pg_database LEFT JOIN pg_namespace ON nspname = 'sync'
      WHERE datname = current_database()`,
  );
  const [look] = rows;
  if (look === undefined || look.may) return null;
  const {user, database, owner, isThere} = look;
  if (isThere)
    return `the schema is not of this version, and ${user} may not change it: run \`fieldmirror migrate\` as its owner, ${owner}`;
  return `the database ${database} has no schemas of ours yet, and ${user} may not make them, for it lacks CREATE on the database: run \`fieldmirror migrate\` as the owner, ${owner}, or let the owner run ${grantCreate({user, database})}`;
}
