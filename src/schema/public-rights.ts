// What every login may do in the database because Postgres gives it to PUBLIC, and nobody needs it
// there: temporary tables and large objects, with which any login can fill the disk.
// sync.bar_public takes back what its caller may take back.

import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';

/** What is left of these rights. */
export interface PublicRights {
  readonly database: string;
  /** The owner of the schemas. */
  readonly owner: string;
  /** Whether that owner may give and take rights on the database. */
  readonly isOwners: boolean;
  /** Every login may make temporary tables, or the workers may not. */
  readonly temporary: boolean;
  /** The functions by which every login may make large objects. */
  readonly largeObjects: readonly string[];
}

const look = `
  SELECT datname AS database, pg_get_userbyid(nspowner) AS owner, pg_has_role(nspowner, datdba, 'USAGE') AS "isOwners",
         EXISTS (SELECT FROM aclexplode(coalesce(datacl, acldefault('d', datdba))) WHERE grantee = 0 AND privilege_type = 'TEMPORARY')
           OR NOT coalesce(has_database_privilege(to_regrole('fieldmirror_worker')::oid, pg_database.oid, 'TEMPORARY'), true) AS temporary,
         ARRAY(SELECT pg_proc.oid::regprocedure::text FROM pg_proc
                WHERE pronamespace = 'pg_catalog'::regnamespace AND proname IN ('lo_creat', 'lo_create', 'lo_from_bytea')
                  AND EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE grantee = 0)
                ORDER BY 1) AS "largeObjects"
    FROM pg_database JOIN pg_namespace ON nspname = 'sync'
   WHERE datname = current_database()`;

/** @param db - a warehouse of this version. Every login may ask. */
export async function checkPublic(db: Queryable): Promise<PublicRights | null> {
  const {rows} = await db.query<PublicRights>(look);
  return rows[0] ?? null;
}

/**
 * That every login may make temporary tables, and the next step; null where only those may who need
 * them.
 */
export function describeTemporary({
  database,
  owner,
  isOwners,
  temporary,
}: PublicRights): string | null {
  if (!temporary) return null;
  if (isOwners)
    return `temporary tables are not the workers' and the owner's alone, and any login can fill the disk with them; run \`fieldmirror migrate\` as ${owner}`;
  const place = pg.escapeIdentifier(database);
  return (
    `any login can fill the disk with temporary tables, and ${owner} does not own the database; let an administrator run ` +
    `GRANT TEMPORARY ON DATABASE ${place} TO fieldmirror_worker, ${pg.escapeIdentifier(owner)}; REVOKE TEMPORARY ON DATABASE ${place} FROM PUBLIC;`
  );
}

/**
 * What a superuser may take back, or that nothing is left. Many a managed server gives nobody one,
 * so that this is no lack.
 */
export function describeLargeObjects({largeObjects}: PublicRights): string {
  if (largeObjects.length === 0) return 'only a superuser makes large objects';
  return `any login may make large objects; where you have a superuser, let it run REVOKE EXECUTE ON FUNCTION ${largeObjects.join(', ')} FROM PUBLIC;`;
}
