import {onTestFinished} from 'vitest';
import {createTransport, type Transport, type TransportOptions} from '../../src/api/transport.ts';
import {Secret} from '../../src/core/secret.ts';

/** The token of every test: no message may show it, whatever goes wrong. */
export const CANARY = 'canary-token-4711';

/** A transport whose pauses take no time and are recorded; it closes with the test. */
export function openTransport(
  baseUrl: string,
  options: Partial<TransportOptions> = {},
): Transport & {readonly pauses: number[]} {
  const pauses: number[] = [];
  const transport = createTransport({
    baseUrl,
    token: new Secret(CANARY),
    ...options,
    retry: {sleep: async (ms) => void pauses.push(ms), random: () => 0.5, ...options.retry},
  });
  onTestFinished(() => transport.close());
  return Object.assign(transport, {pauses});
}
