const firstMs = 2_000;
const longestMs = 300_000;

/**
 * How long to wait after so many failures in a row: twice as long each time, and never in step with
 * others.
 */
export function backOffMs(failures: number): number {
  const longest = Math.min(firstMs * 2 ** Math.min(failures, 20), longestMs);
  return Math.round(longest * (0.5 + Math.random() / 2));
}
