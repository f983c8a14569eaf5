// Rows of the tables of sync, as code reads them. Their types follow the tables' definitions, and a
// column has its name in camelCase.

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/**
 * Some columns of a row, read through `selectColumns`. Numbers beyond 2^53 are texts, instants ISO
 * 8601 in UTC.
 * @typeParam Row - `$inferSelect` of the table
 */
export type ReadRow<Row extends object, Column extends keyof Row & string> = {
  readonly [Name in Column as Camel<Name>]: Row[Name];
};

/**
 * The columns of a SELECT or RETURNING that reads a `ReadRow`.
 * @param table - the table or alias in a query of several
 */
export function selectColumns(columns: readonly string[], table?: string): string {
  const from = table === undefined ? '' : `${table}.`;
  return columns.map((column) => `${from}${column} AS "${toCamel(column)}"`).join(', ');
}

function toCamel(column: string): string {
  return column.replace(/_(.)/g, (_all, letter: string) => letter.toUpperCase());
}
