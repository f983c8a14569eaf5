// Which database works for the accounts: shown, and told by a person where a copy is suspected.

import type {Config} from '../core/config.ts';
import {tellAside} from '../core/text.ts';
import {
  claimInstallation,
  describeCopy,
  type Installation,
  mendOfCopy,
  readInstallationRow,
} from '../health/installation.ts';
import {namePlace} from '../health/place-name.ts';
import {print} from './report.ts';
import {typeBack} from './type-back.ts';
import {withWarehouse} from './with-warehouse.ts';

interface Output {
  readonly json: boolean;
}

/** Shows whether the warehouse is the one that works for its accounts. */
export async function show(config: Config, {json}: Output): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const installation = await readInstallationRow(pool);
    const name = await namePlace(config);
    const copy = describeCopy(installation, name);
    const told = copy === null ? describe(installation) : `${copy}; ${mendOfCopy}`;
    print(json, {
      json: {...installation, name, copy},
      text: `warehouse ${place}, reached as ${name}\n${told}`,
    });
    return copy === null ? 0 : 1;
  });
}

/**
 * Makes the warehouse the one that works for its accounts. The name of the database is typed back.
 * @throws {UsageError} another name was typed
 */
export async function claim(
  config: Config,
  {json, moved}: Output & {readonly moved?: boolean},
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const installation = await readInstallationRow(pool);
    const {database} = installation;
    const name = await namePlace(config);
    tellAside(
      `${describeCopy(installation, name) ?? describe(installation)}\nFrom now on ${place} works for its accounts: changes are sent, sweeps are run. No other copy may do so any more.\n`,
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

function describe({names, claimedAt, claimedBy}: Installation): string {
  if (names === null)
    return 'No worker has begun here yet: the first one makes it the one that works.';
  return `It is the one that works for its accounts, since ${claimedAt}, by ${claimedBy}.`;
}

function describeClaim(place: string): string {
  return `${place} is the one that works for its accounts. A start that runs goes on within seconds.`;
}

function describeHeld(held: readonly string[]): string[] {
  if (held.length === 0) return [];
  const [first = ''] = held;
  const creates = held.length === 1 ? '1 create is held' : `${held.length} creates are held`;
  return [
    `${creates}, because the other database may have sent ${held.length === 1 ? 'it' : 'them'} since the copy was made: ${held.slice(0, 20).join(', ')}${held.length > 20 ? ', …' : ''}`,
    `After the next full sweep, look for each in the warehouse: fieldmirror changes show ${first}; then changes cancel where it is there, changes release where it is not`,
  ];
}
