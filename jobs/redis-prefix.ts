import type {RedisAddress} from '../src/core/redis-address.ts';

/** The beginning of our keys: the keys of one Redis may belong to several programs. */
export const prefix = 'fieldmirror';

/**
 * The beginning of our keys at an address. A script of BullMQ takes several keys at once, and a
 * cluster lets it only where the braces say that all of them belong together.
 */
export function prefixAt({kind}: RedisAddress): string {
  return kind === 'cluster' ? `{${prefix}}` : prefix;
}
