import {FatalError, UsageError} from '../core/errors.ts';
import {boundOf, type SealingKey, seal, unseal} from '../core/seal.ts';
import type {Queryable} from '../postgres/database.ts';
import {type HeldSeal, lockSeals, replaceSeal} from './seals.ts';

/**
 * Seals all that is sealed in the warehouse anew with the first of the keys, in a transaction of
 * the caller: all of it, or nothing.
 * @param keys - the new key, then those that open what is sealed now
 * @returns what was sealed with another key before
 * @throws {UsageError} none of the keys opens something, or it is damaged; the message names each
 */
export async function resealAll(db: Queryable, keys: readonly SealingKey[]): Promise<HeldSeal[]> {
  const [key] = keys;
  if (key === undefined)
    throw new UsageError(
      'installation reseal: expected FIELDMIRROR_KEY=NEW,OLD, got no key; openssl rand -base64 32 makes a new one',
    );
  const old = (await lockSeals(db)).filter(({keyId}) => keyId !== key.id);
  const flaws: string[] = [];
  for (const held of old) {
    const bound = boundOf[held.table](held.id);
    try {
      await replaceSeal(db, {...held, ...seal(unseal(held, keys, bound), key, bound)});
    } catch (error) {
      if (!(error instanceof FatalError)) throw error;
      flaws.push(`${held.what}: sealed with key ${held.keyId}`);
    }
  }
  if (flaws.length === 0) return old;
  throw new UsageError(
    `installation reseal: expected keys that open all, got ${keys.map(({id}) => id).join(', ')}; nothing was changed. Not opened: ${flaws.join('; ')}. Give the missing key behind the new one in FIELDMIRROR_KEY, or first give the token (accounts add) or the rule (alerts remove, alerts add) anew`,
  );
}
