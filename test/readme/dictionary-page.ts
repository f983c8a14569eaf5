// docs/data-dictionary.md, from the catalogue of a migrated warehouse and the definitions of the
// star.

import type pg from 'pg';
import {members, questions} from '../../src/star/star.ts';
import {allTables} from '../../src/streams/all.ts';
import {ownColumns} from '../../src/streams/table.ts';

interface CatalogueColumn {
  readonly name: string;
  readonly type: string;
  readonly comment: string;
}

/** A table or view as the catalogue of Postgres has it. */
interface CatalogueTable {
  readonly schema: string;
  readonly name: string;
  readonly comment: string;
  readonly columns: readonly CatalogueColumn[];
  readonly primaryKey: readonly string[];
}

const catalogue = `
  SELECT nspname AS schema, relname AS name,
         obj_description(pg_class.oid, 'pg_class') AS comment, columns,
         coalesce("primaryKey", '[]') AS "primaryKey"
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
         CROSS JOIN LATERAL (
           SELECT json_agg(json_build_object(
                    'name', attname, 'type', format_type(atttypid, atttypmod),
                    'comment', col_description(attrelid, attnum)) ORDER BY attnum) AS columns
             FROM pg_attribute
            WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped) AS described
         CROSS JOIN LATERAL (
           SELECT json_agg(attname ORDER BY array_position(conkey, attnum)) AS "primaryKey"
             FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)
            WHERE conrelid = pg_class.oid AND contype = 'p') AS keyed
   WHERE nspname IN ('warehouse', 'mart') AND relkind IN ('r', 'v')
   ORDER BY relname`;

const opening = `# Data dictionary

Every table of the schemas \`warehouse\` and \`mart\`. A test generates this page from a migrated
warehouse: \`npx vitest run test/readme/dictionary.pg.test.ts -u\`. The meanings are the comments in
the database, so \`\\d+ warehouse.jobs\` in psql prints them, too.

- [warehouse.md](warehouse.md) explains the tables and their history. \`history.jobs\` has the
  columns of \`warehouse.jobs\` and the time of each version.
- [insight.md](insight.md) explains the star and the questions.
- [write-back.md](write-back.md#what-may-be-written) lists the columns that you can write.
- A reference is a column with the key of a row in another table. The account is part of it: join on
  \`account_id\`, too. A key of \`mart\` (\`customer_key\`) is unique without the account.
`;

/** Reads the catalogue of a warehouse, and draws the page. */
export async function formatDictionary(client: pg.Client): Promise<string> {
  const {rows} = await client.query<CatalogueTable>(catalogue);
  const find = (schema: string, name: string) => {
    const table = rows.find((each) => each.schema === schema && each.name === name);
    if (table === undefined) throw new TypeError(`no table ${schema}.${name}`);
    return table;
  };
  const warehouse = allTables.map(({name}) => find('warehouse', name));
  const star = members.map(({name}) => find('mart', name));
  const answers = questions.map(({name}) => find('mart', name));
  const drawn = new Set([...warehouse, ...star, ...answers]);
  const rest = rows.filter((table) => !drawn.has(table));
  const live = rest.filter(({name}) => allTables.some((table) => table.name === name));
  const others = rest.filter((table) => !live.includes(table));
  return [
    opening,
    '## Diagram of the warehouse\n',
    'Keys and references. `created_by` and `updated_by` refer to `employees`, and are left out.\n',
    formatDiagram(),
    '## Schema warehouse\n',
    'Each table has the columns below, and those of the service.\n',
    '### Columns of every table\n',
    formatColumns(pickOwn(find('warehouse', 'jobs')), ['row_id']),
    ...warehouse.map((table) => formatTable(dropOwn(table))),
    '## Schema mart\n',
    formatLive(live, warehouse),
    ...[...star, ...others, ...answers].map(formatTable),
  ].join('\n');
}

function pickOwn({columns}: CatalogueTable): readonly CatalogueColumn[] {
  return columns.filter(({name}) => Object.hasOwn(ownColumns, name));
}

function dropOwn(table: CatalogueTable): CatalogueTable {
  const columns = table.columns.filter(({name}) => !Object.hasOwn(ownColumns, name));
  return {...table, columns};
}

/** The columns that one row is known by; empty if nothing says so. */
function keyOf({schema, name, primaryKey}: CatalogueTable): readonly string[] {
  if (schema === 'warehouse') return allTables.find((table) => table.name === name)?.key ?? [];
  const member = [...members, ...questions].find((each) => each.name === name);
  if (member === undefined) return primaryKey;
  return member.key ?? [member.columns[0]?.[0] ?? ''];
}

function formatTable(table: CatalogueTable): string {
  const {schema, name, comment, columns} = table;
  const key = keyOf(table);
  const isOfWarehouse = schema === 'warehouse';
  const unique = (isOfWarehouse ? ['account_id', ...key] : key).map((each) => `\`${each}\``);
  const text = isOfWarehouse
    ? `Primary key: \`row_id\`. Unique: ${unique.join(', ')}.`
    : `Key: ${unique.join(', ')}.`;
  const note = key.length === 0 ? '' : ` ${text}`;
  return `### ${name}\n\n${comment}${note}\n\n${formatColumns(columns, key, name)}`;
}

/** @param own - the table itself, to which only a warehouse's rows refer */
function formatColumns(
  columns: readonly CatalogueColumn[],
  key: readonly string[],
  own = '',
): string {
  const rows = columns.map(({name, type, comment}) => {
    const target = targetOf({name, comment}, own);
    const link = target === null ? [] : [`[${target.table}](#${target.table})`];
    const marks = [...(key.includes(name) ? ['key'] : []), ...link];
    return [`\`${name}\``, shorten(type), marks.join(', '), comment.replaceAll('|', '\\|')];
  });
  return alignTable([['column', 'type', 'key, reference', 'meaning'], ...rows]);
}

function shorten(type: string): string {
  return type.replace('timestamp with time zone', 'timestamptz');
}

interface Target {
  readonly table: string;
  readonly column: string;
}

/** The row that a column refers to, as its comment says; null for any other column. */
function targetOf(
  {name, comment}: Pick<CatalogueColumn, 'name' | 'comment'>,
  own: string,
): Target | null {
  const [, table = '', column = ''] =
    /: (\w+)\.(\w+)\.$/.exec(comment) ?? /: ((?:dim|fct)_\w+)(?=\.|;)/.exec(comment) ?? [];
  const isOfWarehouse = allTables.some((each) => each.name === table);
  const isOfStar = members.some((member) => member.name === table);
  if (!isOfWarehouse && !isOfStar) return null;
  return table === own && column === name ? null : {table, column};
}

function alignTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  const draw = (row: readonly string[], filler: string) =>
    `| ${widths.map((width, at) => (row[at] ?? '').padEnd(width, filler)).join(' | ')} |`;
  const [head = [], ...rest] = rows;
  return [draw(head, ' '), draw([], '-'), ...rest.map((row) => draw(row, ' ')), ''].join('\n');
}

/** The views of mart that show the live records of a table. */
function formatLive(views: readonly CatalogueTable[], tables: readonly CatalogueTable[]): string {
  const taken = views.map((view) => {
    const table = tables.find(({name}) => name === view.name);
    const meanings = new Map(table?.columns.map(({name, comment}) => [name, comment]));
    const strange = view.columns.filter(({name, comment}) => meanings.get(name) !== comment);
    if (strange.length > 0) throw new TypeError(`mart.${view.name}: ${JSON.stringify(strange)}`);
    const names = view.columns.map(({name}) => name);
    return table?.columns.map(({name}) => name).filter((name) => !names.includes(name)) ?? [];
  });
  const [left = []] = taken;
  const different = taken.filter((each) => each.join() !== left.join());
  if (different.length > 0) throw new TypeError(`views of mart differ: ${different.join(' ')}`);
  const names = views.map(({name}) => `[${name}](#${name})`).join(', ');
  return `These views have the names and columns of the tables of \`warehouse\`, without ${left
    .map((name) => `\`${name}\``)
    .join(', ')}: ${names}. Your promoted fields come last.
A view shows records that exist at the service. The other tables and views follow.
`;
}

/** The tables of the warehouse with their keys and references, for mermaid. */
function formatDiagram(): string {
  const entities = allTables.map(({name, key, columns}) => {
    const shown = columns.flatMap((column) => {
      const isKey = key.includes(column.name);
      const marks = [...(isKey ? ['UK'] : []), ...(isDrawn(column, name) ? ['FK'] : [])];
      return marks.length === 0 ? [] : [`    bigint ${column.name} ${marks.join(', ')}`];
    });
    return [`  ${name} {`, '    bigint row_id PK', ...shown, '  }'].join('\n');
  });
  const lines = allTables.flatMap(({name, columns}) => {
    const byTarget = Map.groupBy(
      columns.filter((column) => isDrawn(column, name)),
      (column) => targetOf(column, name)?.table ?? '',
    );
    return [...byTarget].map(
      ([target, group]) =>
        `  ${target} |o--o{ ${name} : "${group.map((column) => column.name).join(', ')}"`,
    );
  });
  return ['```mermaid', 'erDiagram', ...lines, ...entities, '```', ''].join('\n');
}

function isDrawn(column: {readonly name: string; readonly comment: string}, own: string): boolean {
  return !/^(?:created|updated)_by$/.test(column.name) && targetOf(column, own) !== null;
}
