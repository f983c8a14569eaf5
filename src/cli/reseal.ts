import {resealAll} from '../accounts/seals.ts';
import {listWorkers} from '../accounts/workers.ts';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {print} from './report.ts';
import {withWarehouse} from './with-warehouse.ts';

/**
 * Seals tokens, addresses of alerts and keys of passwords anew with the first key of
 * FIELDMIRROR_KEY, all of them or none: afterwards the keys behind it are needed no more.
 * @throws {UsageError} no key is given, or none of the keys opens something
 * @throws {FatalError} a worker is alive that does not have the new key
 */
export async function reseal(config: Config, {json}: {readonly json: boolean}): Promise<number> {
  const [key] = config.keys;
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    if (key !== undefined) await refuseWithout(pool, key.id);
    const sealed = await inTransaction(pool, (client) => resealAll(client, config.keys));
    const lines = sealed.map(({what, keyId}) => `${what}: was sealed with key ${keyId}`);
    const end =
      sealed.length === 0
        ? `All is sealed with key ${key?.id} already`
        : `All is sealed with key ${key?.id} now`;
    print(json, {
      json: {keyId: key?.id, resealed: sealed.map(({what, keyId}) => ({what, before: keyId}))},
      text: [...lines, `${end}: start, http and all verbs need no other.`].join('\n'),
    });
    return 0;
  });
}

/** A worker with the old key alone would serve no account a moment later. */
async function refuseWithout(db: Queryable, keyId: string): Promise<void> {
  const without = (await listWorkers(db)).filter(
    ({isAlive, keyIds}) => isAlive && keyIds.length > 0 && !keyIds.includes(keyId),
  );
  if (without.length === 0) return;
  const names = without.map(
    ({host, pid, keyIds}) => `${host}, pid ${pid}, has ${keyIds.join(', ')}`,
  );
  throw new FatalError(
    `installation reseal: expected every worker to have key ${keyId}: ${names.join('; ')}; start each anew with both keys, FIELDMIRROR_KEY=NEW,OLD, then reseal; nothing was changed`,
    {kind: 'key'},
  );
}
