import pg from 'pg';

interface Kept {
  readonly table: string;
  readonly field: string;
  /** Null where it is kept in `extra`. */
  readonly column: string | null;
  readonly isText: boolean;
}

interface Share {
  readonly table: string;
  readonly field: string;
  /** 0 to 1; null without rows. */
  readonly share: number | null;
}

/**
 * Counts anew in which share of the live rows each field of a stream's tables is filled, in one
 * pass over each table. Null and an empty text are not. A share that stays as it was is not
 * written.
 */
export async function countFilled(
  client: pg.ClientBase,
  {accountId, stream}: {readonly accountId: string; readonly stream: string},
): Promise<void> {
  const shares: Share[] = [];
  for (const [table, fields] of await listKept(client, {accountId, stream}))
    shares.push(...(await countTable(client, {accountId, table, fields})));
  await client.query(
    `UPDATE sync.fields AS held SET filled_share = counted.share
       FROM unnest($2::text[], $3::text[], $4::real[]) AS counted (table_name, field, share)
      WHERE held.account_id = $1 AND held.table_name = counted.table_name AND held.field = counted.field
        AND held.filled_share IS DISTINCT FROM counted.share`,
    [
      accountId,
      shares.map(({table}) => table),
      shares.map(({field}) => field),
      shares.map(({share}) => share),
    ],
  );
}

/**
 * Fields whose values are kept, by table. Only a table and a column that exist become names in a
 * statement.
 */
async function listKept(
  client: pg.ClientBase,
  {accountId, stream}: {readonly accountId: string; readonly stream: string},
): Promise<Map<string, Kept[]>> {
  const {rows} = await client.query<Kept>(
    `SELECT field.table_name AS table, field.field, field.column_name AS column,
            kept.atttypid = 'pg_catalog.text'::regtype AS "isText"
       FROM sync.fields AS field
       JOIN pg_class AS class ON class.relname = field.table_name
                             AND class.relnamespace = 'warehouse'::regnamespace AND class.relkind = 'r'
       JOIN pg_attribute AS kept ON kept.attrelid = class.oid AND NOT kept.attisdropped
                                AND kept.attname = coalesce(field.column_name, 'extra')
      WHERE field.account_id = $1 AND field.stream = $2 AND 'secret' <> ALL (field.types)
      ORDER BY field.table_name, field.field`,
    [accountId, stream],
  );
  return Map.groupBy(rows, (row) => row.table);
}

async function countTable(
  client: pg.ClientBase,
  {
    accountId,
    table,
    fields,
  }: {readonly accountId: string; readonly table: string; readonly fields: readonly Kept[]},
): Promise<Share[]> {
  const keys = fields.filter(({column}) => column === null).map(({field}) => field);
  const {rows} = await client.query<{live: string; filled: string[]}>(countSql(table, fields), [
    accountId,
    ...keys,
  ]);
  const [counted] = rows;
  const live = Number(counted?.live);
  return fields.map(({field}, at) => ({
    table,
    field,
    share: live === 0 ? null : Number(counted?.filled[at]) / live,
  }));
}

/**
 * Looks every key up in every row: 1.1 s for 100,000 jobs with 48 keys, against 1.5 s for taking
 * the objects apart with jsonb_each. Keys are the service's words, so they are parameters, from $2
 * on.
 */
function countSql(table: string, fields: readonly Kept[]): string {
  let parameter = 1;
  const counts = fields.map(({column, isText}) => {
    if (column === null) return `count(nullif(live.extra ->> $${++parameter}::text, ''))`;
    const value = `live.${pg.escapeIdentifier(column)}`;
    return `count(${isText ? `nullif(${value}, '')` : value})`;
  });
  return `
    SELECT count(*) AS live, ARRAY[${counts.join(', ')}]::bigint[] AS filled
      FROM warehouse.${pg.escapeIdentifier(table)} AS live
     WHERE live.account_id = $1 AND live._deleted_at IS NULL`;
}
