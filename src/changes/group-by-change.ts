/** Rows by the change that they belong to, in their order; a change without rows is absent. */
export function groupByChange<Row extends object>(
  rows: readonly (Row & {readonly changeId: string})[],
): ReadonlyMap<string, Row[]> {
  const grouped = new Map<string, Row[]>();
  for (const {changeId, ...row} of rows)
    grouped.set(changeId, [...(grouped.get(changeId) ?? []), row as unknown as Row]);
  return grouped;
}
