// The four roles that rights are given to. They belong to the cluster: an owner who may not create
// roles needs an administrator for them, and Postgres refuses nothing in the meantime, so that
// somebody has to say so.

import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';

/** How the roles stand, each list in the order in which the roles are made. */
export interface RoleCheck {
  /** The owner of the schemas. */
  readonly owner: string;
  /** Are not there. */
  readonly missing: readonly string[];
  /**
   * Runs the function for assistants, and has not the owner as a member, who cannot give it that
   * function.
   */
  readonly apart: readonly string[];
  /**
   * Are there, and lack rights that `fieldmirror migrate` or the next start of the owner gives
   * them.
   */
  readonly ungranted: readonly string[];
}

const look = `
  WITH ours AS (
    SELECT name, place, to_regrole(name)::oid AS role, home::regnamespace::oid AS home,
           (SELECT proowner FROM pg_proc WHERE pronamespace = 'sync'::regnamespace AND proname = reads) AS reads_as,
           reads IS NOT NULL AND NOT pg_has_role(nspowner, to_regrole(name)::oid, 'USAGE') AS is_apart,
           pg_get_userbyid(nspowner) AS owner
      FROM (VALUES (1, 'fieldmirror_reader', 'mart', NULL), (2, 'fieldmirror_author', 'warehouse', NULL),
                   (3, 'fieldmirror_worker', 'sync', NULL), (4, 'fieldmirror_assistant', 'masked', 'read_as_assistant'))
           AS roles (place, name, home, reads)
      JOIN pg_namespace ON nspname = 'sync')
  SELECT min(owner) AS owner,
         coalesce(array_agg(name ORDER BY place) FILTER (WHERE role IS NULL), '{}') AS missing,
         coalesce(array_agg(name ORDER BY place) FILTER (WHERE is_apart AND reads_as <> role), '{}') AS apart,
         coalesce(array_agg(name ORDER BY place) FILTER (
           WHERE NOT has_schema_privilege(role, home, 'USAGE') OR (NOT is_apart AND reads_as <> role)), '{}') AS ungranted
    FROM ours`;

/** @param db - a warehouse of this version. Every login may ask. */
export async function checkRoles(db: Queryable): Promise<RoleCheck> {
  const {rows} = await db.query<RoleCheck>(look);
  return rows[0] ?? {owner: '', missing: [], apart: [], ungranted: []};
}

/**
 * What an administrator runs, after which `fieldmirror migrate` can give every role its rights;
 * none where nothing is needed.
 */
export function listRoleStatements({owner, missing, apart}: RoleCheck): string[] {
  const isApart = [...missing, ...apart].includes('fieldmirror_assistant');
  return [
    ...missing.map((role) => `CREATE ROLE ${role} NOLOGIN`),
    ...(isApart ? [`GRANT fieldmirror_assistant TO ${pg.escapeIdentifier(owner)}`] : []),
  ];
}

/** The lack in words, and the next step; null where every role has its rights. */
export function describeRoles(check: RoleCheck): string | null {
  const {missing, apart, ungranted, owner} = check;
  const statements = listRoleStatements(check).map((statement) => `${statement};`);
  const administrator = `let an administrator run ${statements.join(' ')} and then run \`fieldmirror migrate\` as ${owner}`;
  if (missing.length > 0)
    return `${missing.join(', ')}: not there, and ${owner} may not create roles, so nobody has a right of ${missing.length === 1 ? 'it' : 'them'}; ${administrator}`;
  if (apart.length > 0)
    return `${apart.join(', ')}: ${owner} is no member, so \`fieldmirror mcp\` reads nothing; ${administrator}`;
  if (ungranted.length > 0)
    return `${ungranted.join(', ')}: without rights in this database; run \`fieldmirror migrate\` as ${owner}`;
  return null;
}
