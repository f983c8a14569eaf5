/**
 * The value that a share of all is at most: 0.95 for the 95th percentile. 0 where there is none.
 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
}
