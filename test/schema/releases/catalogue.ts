// All that a database holds beside its rows, one line a thing: two warehouses are alike where the
// lines are.

import type pg from 'pg';

const schemas = `('warehouse', 'history', 'mart', 'masked', 'sync')`;
/** Rights in an order of their own: that in which they were given says nothing. */
const rights = (acl: string) =>
  `(SELECT string_agg(entry::text, ' ' ORDER BY entry::text) FROM unnest(${acl}) AS entry)`;
const isOurs = (oid: string, catalogue: string) =>
  `NOT EXISTS (SELECT FROM pg_depend WHERE classid = '${catalogue}'::regclass AND objid = ${oid}
    AND deptype = 'e')`;

const lines = `
  WITH ours AS (SELECT oid, nspname, nspacl FROM pg_namespace WHERE nspname IN ${schemas}),
  relations AS (SELECT pg_class.*, pg_class.oid::regclass::text AS name FROM pg_class
    JOIN ours ON ours.oid = relnamespace)
  SELECT 'schema' AS kind, nspname::text AS name,
    format('%s | %s', ${rights(`coalesce(nspacl, '{}')`)}, obj_description(oid, 'pg_namespace'))
    AS line FROM ours
   UNION ALL
  SELECT 'relation', name, format('%s %s %s %s | %s | %s | %s', relkind, relpersistence,
    relrowsecurity, relforcerowsecurity, reloptions,
         ${rights(`coalesce(relacl,
           acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))`)},
         obj_description(oid, 'pg_class'))
    FROM relations WHERE relkind IN ('r', 'v', 'm', 'S', 'p')
   UNION ALL
  SELECT 'column', format('%s.%s', relations.name, attname),
         format('%s: %s %s%s%s%s | %s | %s | %s',
           rank() OVER (PARTITION BY attrelid ORDER BY attnum), format_type(atttypid, atttypmod),
                attnotnull, attidentity, attgenerated,
                  nullif(attcollation, (SELECT typcollation FROM pg_type WHERE oid = atttypid)),
                (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
                  WHERE adrelid = attrelid AND adnum = attnum), ${rights('attacl')},
                  col_description(attrelid, attnum))
    FROM pg_attribute JOIN relations ON relations.oid = attrelid
    WHERE attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'v', 'm', 'p')
   UNION ALL
  -- Postgres 18 names what earlier ones did not: NOT NULL is told with the column.
  SELECT 'constraint', format('%s on %s', conname, conrelid::regclass),
    pg_get_constraintdef(pg_constraint.oid)
    FROM pg_constraint JOIN ours ON ours.oid = connamespace WHERE contype <> 'n'
   UNION ALL
  SELECT 'index', name, pg_get_indexdef(oid) FROM relations WHERE relkind = 'i'
   UNION ALL
  SELECT 'view', name, pg_get_viewdef(oid) FROM relations WHERE relkind IN ('v', 'm')
   UNION ALL
  SELECT 'sequence', name, format('%s %s %s %s', seqtypid::regtype, seqstart, seqincrement,
    seqcycle) FROM pg_sequence JOIN relations ON oid = seqrelid
   UNION ALL
  SELECT 'function', pg_proc.oid::regprocedure::text,
    format('%s | %s | %s', pg_get_functiondef(pg_proc.oid),
         ${rights(`coalesce(proacl, acldefault('f', proowner))`)},
           obj_description(pg_proc.oid, 'pg_proc'))
    FROM pg_proc JOIN ours ON ours.oid = pronamespace WHERE ${isOurs('pg_proc.oid', 'pg_proc')}
   UNION ALL
  SELECT 'trigger', format('%s on %s', tgname, relations.name),
    format('%s %s | %s', tgenabled, pg_get_triggerdef(pg_trigger.oid),
    obj_description(pg_trigger.oid, 'pg_trigger'))
    FROM pg_trigger JOIN relations ON relations.oid = tgrelid WHERE NOT tgisinternal
   UNION ALL
  SELECT 'policy', format('%s on %s', polname, relations.name),
    format('%s %s %s | %s | %s', polcmd, polpermissive,
         (SELECT array_agg(CASE role WHEN 0 THEN 'PUBLIC' ELSE role::regrole::text END
           ORDER BY role) FROM unnest(polroles) AS role),
         pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
    FROM pg_policy JOIN relations ON relations.oid = polrelid
   UNION ALL
  SELECT 'default right', format('%s in %s', defaclobjtype, ours.nspname), ${rights('defaclacl')}
  FROM pg_default_acl JOIN ours ON ours.oid = defaclnamespace
   UNION ALL
  SELECT 'type', typname::text, typtype::text FROM pg_type JOIN ours ON ours.oid = typnamespace
  WHERE typrelid = 0 AND typelem = 0
   ORDER BY 1, 2, 3`;

/** From `function sync.wait(bigint, interval)` to its definition, its rights and its comment. */
export async function readCatalogue(pool: pg.Pool): Promise<ReadonlyMap<string, string>> {
  const {rows} = await pool.query<{kind: string; name: string; line: string}>(lines);
  return new Map(rows.map(({kind, name, line}) => [`${kind} ${name}`, line]));
}

/** What one has and the other has not, or otherwise. */
export function compareCatalogues(
  upgraded: ReadonlyMap<string, string>,
  fresh: ReadonlyMap<string, string>,
): {
  readonly thing: string;
  readonly upgraded: string | undefined;
  readonly fresh: string | undefined;
}[] {
  return [...new Set([...upgraded.keys(), ...fresh.keys()])]
    .toSorted()
    .filter((thing) => upgraded.get(thing) !== fresh.get(thing))
    .map((thing) => ({thing, upgraded: upgraded.get(thing), fresh: fresh.get(thing)}));
}
