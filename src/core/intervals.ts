// Intervals as a person writes them, in settings, options and forms: 30s, 5m, 4h, 2d.

const units = {ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000} as const;
export const intervalPattern = /^([1-9]\d{0,15})(ms|s|m|h|d)$/;

/** @returns milliseconds; null where the text is no interval, or one too long to be counted */
export function parseInterval(text: string): number | null {
  const [, number, unit] = intervalPattern.exec(text) ?? [];
  const ms = Number(number) * units[unit as keyof typeof units];
  return Number.isSafeInteger(ms) ? ms : null;
}

/** In the largest unit that divides it: 300,000 becomes 5m. */
export function formatInterval(ms: number): string {
  const [unit = 'ms', size = 1] =
    Object.entries(units).findLast(([, each]) => ms % each === 0) ?? [];
  return `${ms / size}${unit}`;
}

export function isWholeDays(ms: number): boolean {
  return ms % units.d === 0;
}
