import {z} from 'zod';

const units = {ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000} as const;
const shape = /^([1-9]\d{0,15})(ms|s|m|h|d)$/;
const expected =
  'expected an interval of whole days, hours, minutes or seconds, such as 1d, 1h, 5m or 30s';

/** An interval as a text, in its one spelling: 60m becomes 1h. */
export const interval = z
  .string(expected)
  .regex(shape, expected)
  .refine((text) => !shape.test(text) || Number.isSafeInteger(intervalMs(text)), expected)
  .overwrite((text) => (shape.test(text) ? formatInterval(intervalMs(text)) : text));

/** In the largest unit that divides it: 300,000 becomes 5m. */
export function formatInterval(ms: number): string {
  const [unit = 'ms', size = 1] =
    Object.entries(units).findLast(([, each]) => ms % each === 0) ?? [];
  return `${ms / size}${unit}`;
}

/** @param text - as `formatInterval` makes it */
export function intervalMs(text: string): number {
  const [, number, unit] = shape.exec(text) ?? [];
  return Number(number) * units[unit as keyof typeof units];
}

export function isWholeDays(ms: number): boolean {
  return ms % units.d === 0;
}
