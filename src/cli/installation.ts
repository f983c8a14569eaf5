// The installation as a whole: the database that works for the accounts, the key that seals their
// tokens, and the state of the schema.

import {resealAll} from '../accounts/seals.ts';
import {listWorkers} from '../accounts/workers.ts';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {printErr} from '../core/text.ts';
import {
  claimInstallation,
  describeCopy,
  fixForCopy,
  type Installation,
  namePlace,
  readInstallationRow,
} from '../health/installation.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {checkRoles, describeRoles, listRoleStatements} from '../schema/checks.ts';
import {type OutputOptions, print, typeBack} from './terminal.ts';
import {bringUpToDate, printWait, withWarehouse} from './warehouse.ts';

/** Shows whether the warehouse is the one that works for its accounts. */
export async function installationShow(config: Config, {json}: OutputOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const installation = await readInstallationRow(pool);
    const name = await namePlace(config);
    const copy = describeCopy(installation, name);
    const description =
      copy === null ? describeInstallation(installation) : `${copy}; ${fixForCopy}`;
    print(json, {
      json: {...installation, name, copy},
      text: `warehouse ${place}, reached as ${name}\n${description}`,
    });
    return copy === null ? 0 : 1;
  });
}

/**
 * Makes the warehouse the one that works for its accounts. A person types the name of the database
 * back.
 * @throws {UsageError} another name was typed
 */
export async function claim(
  config: Config,
  {json, moved}: OutputOptions & {readonly moved?: boolean},
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const installation = await readInstallationRow(pool);
    const {database} = installation;
    const name = await namePlace(config);
    printErr(
      `${describeCopy(installation, name) ?? describeInstallation(installation)}\n` +
        `From now on ${place} works for its accounts: changes are sent, sweeps are run. ` +
        'Other copies may no longer do so.\n',
    );
    await typeBack('to let it work', database);
    const {held} = await claimInstallation(pool, {name, holdsCreates: moved !== true});
    print(json, {
      json: {database, name, held},
      text: [describeClaim(place), ...describeHeld(held)].join('\n'),
    });
    return 0;
  });
}

function describeInstallation({names, claimedAt, claimedBy}: Installation): string {
  if (names === null)
    return 'No worker has begun here yet: the first one makes it the one that works.';
  return `It is the one that works for its accounts, since ${claimedAt}, by ${claimedBy}.`;
}

function describeClaim(place: string): string {
  const nextStep = 'A start that runs continues within seconds.';
  return `${place} is the one that works for its accounts. ${nextStep}`;
}

function describeHeld(held: readonly string[]): string[] {
  if (held.length === 0) return [];
  const [first = ''] = held;
  const creates = held.length === 1 ? '1 create is held' : `${held.length} creates are held`;
  const numbers = `${held.slice(0, 20).join(', ')}${held.length > 20 ? ', …' : ''}`;
  return [
    `${creates}, because the other database may have sent ` +
      `${held.length === 1 ? 'it' : 'them'} since the copy was made: ${numbers}`,
    'After the next full sweep, look for each in the warehouse: ' +
      `fieldmirror changes show ${first}; ` +
      'then changes cancel where it is there, changes release where it is not',
  ];
}

/**
 * Seals tokens and addresses of alerts and subscribers again with the first key of FIELDMIRROR_KEY,
 * all of them or none. Afterwards the keys after it are no longer needed.
 * @throws {UsageError} no key is given, or none of the keys opens one of the seals
 * @throws {FatalError} a worker is alive that does not have the new key
 */
export async function reseal(config: Config, {json}: OutputOptions): Promise<number> {
  const [key] = config.keys;
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    if (key !== undefined) await refuseWorkersWithoutKey(pool, key.id);
    const sealed = await inTransaction(pool, (client) => resealAll(client, config.keys));
    const lines = sealed.map(({what, keyId}) => `${what}: was sealed with key ${keyId}`);
    const summary =
      sealed.length === 0
        ? `All is sealed with key ${key?.id} already`
        : `All is sealed with key ${key?.id} now`;
    print(json, {
      json: {keyId: key?.id, resealed: sealed.map(({what, keyId}) => ({what, before: keyId}))},
      text: [...lines, `${summary}: start, http and all verbs need no other.`].join('\n'),
    });
    return 0;
  });
}

/** A worker that has only the old key would serve no account a moment later. */
async function refuseWorkersWithoutKey(db: Queryable, keyId: string): Promise<void> {
  const workersWithoutKey = (await listWorkers(db)).filter(
    ({isAlive, keyIds}) => isAlive && keyIds.length > 0 && !keyIds.includes(keyId),
  );
  if (workersWithoutKey.length === 0) return;
  const names = workersWithoutKey.map(
    ({host, pid, keyIds}) => `${host}, pid ${pid}, has ${keyIds.join(', ')}`,
  );
  throw new FatalError(
    `installation reseal: expected every worker to have key ${keyId}: ${names.join('; ')}; ` +
      'restart each with both keys, FIELDMIRROR_KEY=NEW,OLD, then reseal; nothing was changed',
    {kind: 'key'},
  );
}

/**
 * Brings the schema of the warehouse up to date, and that of the queue if it is in Postgres;
 * nothing else.
 */
export async function migrate(config: Config, options: OutputOptions): Promise<number> {
  return await withWarehouse(
    config,
    {migrates: false, makes: true},
    async ({direct, directUrl, place}) => {
      const {applied} = await bringUpToDate(direct, true);
      // A worker may not create the tables of the queue; a login that may creates them here.
      if (config.redisUrl === null) {
        const {migrateQueue} = await import('../../jobs/queue.ts');
        await migrateQueue(directUrl, {report: printWait});
      }
      const appliedText = applied === 1 ? '1 migration' : `${applied} migrations`;
      const text = applied === 0 ? `${place}: up to date` : `${place}: ${appliedText} applied`;
      const roles = await checkRoles(direct);
      const problem = describeRoles(roles);
      print(options.json, {
        json: {applied, roles: {missing: roles.missing, statements: listRoleStatements(roles)}},
        text: problem === null ? text : `${text}\nroles: ${problem}`,
      });
      return 0;
    },
  );
}
