// Everything in the warehouse that is sealed with FIELDMIRROR_KEY, in one list, to be sealed again
// with another key: tokens, addresses of receivers.

import {FatalError, UsageError} from '../core/errors.ts';
import {type SealingKey, seal, secretBounds, unseal} from '../core/secret.ts';
import type {Queryable} from '../postgres/database.ts';

/** A sealed value: its place, what it is bound to, and its name for a person. */
interface StoredSeal {
  readonly table: 'accounts' | 'alert_rules' | 'feed_hooks';
  readonly id: string;
  /** Its kind and name, for a person. */
  readonly what: string;
  readonly keyId: string;
  readonly bytes: Buffer;
}

/** Columns of each table: the number of the row, the seal, the key. */
const sealColumns = {
  accounts: {
    id: 'account_id',
    bytes: 'sealed_token',
    keyId: 'key_id',
    name: 'name',
    what: 'token of account',
  },
  alert_rules: {
    id: 'name',
    bytes: 'sealed_access',
    keyId: 'key_id',
    name: 'name',
    what: 'address of alert rule',
  },
  feed_hooks: {
    id: 'name',
    bytes: 'sealed_access',
    keyId: 'key_id',
    name: 'name',
    what: 'address of subscriber',
  },
} as const;

/** A subscriber or a rule that waits for its address has an empty seal. */
const isSealed = (bytes: string) => `octet_length(${bytes}) > 0`;

/** Reads every seal and locks its row until the transaction ends. */
async function lockSeals(db: Queryable): Promise<StoredSeal[]> {
  const seals: StoredSeal[] = [];
  for (const [table, {id, bytes, keyId, name, what: label}] of Object.entries(sealColumns)) {
    const {rows} = await db.query<StoredSeal>(
      `SELECT '${table}' AS table, ${id}::text AS id, '${label} ' || ${name} AS what,
              ${keyId} AS "keyId", ${bytes} AS bytes
         FROM sync.${table} WHERE ${isSealed(bytes)} ORDER BY ${id} FOR UPDATE`,
    );
    seals.push(...rows);
  }
  return seals;
}

/** The keys with which something in the warehouse is sealed, by their fingerprints. */
export async function listSealingKeys(db: Queryable): Promise<string[]> {
  const queries = Object.entries(sealColumns).map(
    ([table, {bytes, keyId}]) =>
      `SELECT ${keyId} AS "keyId" FROM sync.${table} WHERE ${isSealed(bytes)}`,
  );
  const {rows} = await db.query<{keyId: string}>(`${queries.join(' UNION ')} ORDER BY 1`);
  return rows.map(({keyId}) => keyId);
}

/** Replaces the seal that was read. For an account, the known owner of the token is kept. */
async function replaceSeal(
  db: Queryable,
  {table, id, keyId, bytes}: Pick<StoredSeal, 'table' | 'id' | 'keyId' | 'bytes'>,
): Promise<void> {
  const columns = sealColumns[table];
  await db.query(
    `UPDATE sync.${table} SET ${columns.bytes} = $2, ${columns.keyId} = $3
       WHERE ${columns.id}::text = $1`,
    [id, bytes, keyId],
  );
}

/**
 * Seals everything that is sealed in the warehouse again with the first of the keys, in a
 * transaction of the caller: all of it, or nothing.
 * @param keys - the new key, then those that open the current seals
 * @returns the seals that another key had made before
 * @throws {UsageError} none of the keys opens a seal, or a seal is damaged; the message names each
 */
export async function resealAll(db: Queryable, keys: readonly SealingKey[]): Promise<StoredSeal[]> {
  const [key] = keys;
  if (key === undefined)
    throw new UsageError(
      'installation reseal: expected FIELDMIRROR_KEY=NEW,OLD, got no key; ' +
        'openssl rand -base64 32 makes a new one',
    );
  const outdatedSeals = (await lockSeals(db)).filter(({keyId}) => keyId !== key.id);
  const problems: string[] = [];
  for (const storedSeal of outdatedSeals) {
    const bound = secretBounds[storedSeal.table](storedSeal.id);
    try {
      await replaceSeal(db, {...storedSeal, ...seal(unseal(storedSeal, keys, bound), key, bound)});
    } catch (error) {
      if (!(error instanceof FatalError)) throw error;
      problems.push(`${storedSeal.what}: sealed with key ${storedSeal.keyId}`);
    }
  }
  if (problems.length === 0) return outdatedSeals;
  throw new UsageError(
    'installation reseal: expected keys that open all, ' +
      `got ${keys.map(({id}) => id).join(', ')}; nothing was changed. Not opened: ` +
      `${problems.join('; ')}. Give the missing key behind the new one in FIELDMIRROR_KEY, ` +
      'or first give the token (accounts add) or the rule (alerts remove, alerts add) again',
  );
}
