// The verb `deliver`: a snapshot of the star to its targets, now.

import {endDeadLeases} from '../accounts/dead-leases.ts';
import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import {tellStep} from '../core/text.ts';
import type {StorageAccess} from '../delivery/bucket-store.ts';
import type {Delivered, DeliveryDeps} from '../delivery/deliver-star.ts';
import {listTargetSettings} from '../delivery/targets.ts';
import {namePlace, refuseCopy} from '../health/installation.ts';
import {checkMigrations} from '../schema/checks.ts';
import {fitTable, print} from './terminal.ts';
import {withWarehouse} from './warehouse.ts';

interface DeliverOptions {
  /** Name of the only target; left out: every target. */
  readonly target?: string;
  readonly json: boolean;
}

/**
 * Delivers one snapshot to each target, one after the other.
 * @returns the exit code
 * @throws {UsageError} there is no target, or none of that name
 * @throws {RetryableError} a target does not take it; the targets before it have theirs
 * @throws {FatalError} another process delivers to it, or the warehouse is a copy or of another
 *   version
 */
export async function deliverStar(
  config: Config,
  {target, json}: DeliverOptions,
  signal: AbortSignal,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
    await refuseCopy(pool, await namePlace(config));
    await endDeadLeases(pool);
    const names = (await listTargetSettings(pool)).map(({name}) => name);
    const onStep = (name: string, step: string) => {
      if (!json) tellStep(`${name}: ${step}`);
    };
    const delivered: Delivered[] = [];
    for (const name of choose(names, target))
      delivered.push(await deliverOne({pool, storage: toStorage(config), signal, onStep}, name));
    print(json, {
      json: delivered.map(({snapshot, ...each}) => ({...each, ...snapshot})),
      text: draw(delivered),
    });
    return 0;
  });
}

/** What this process has to reach storage. */
export function toStorage({
  storageKeys: keys,
  allowsHttp,
  allowsLinkLocal,
}: Pick<Config, 'storageKeys' | 'allowsHttp' | 'allowsLinkLocal'>): StorageAccess {
  return {keys, allowsHttp, allowsLinkLocal};
}

function choose(names: readonly string[], wanted: string | undefined): readonly string[] {
  if (names.length === 0)
    throw new UsageError(
      'deliver: expected a target, got none; add one to the section delivery of a file of ' +
        'settings, and run fieldmirror config apply',
    );
  if (wanted === undefined) return names;
  if (names.includes(wanted)) return [wanted];
  throw new UsageError(
    `deliver: no target "${wanted}"${nearest(wanted, names)}; there are ${names.join(', ')}`,
  );
}

async function deliverOne(deps: DeliveryDeps, name: string): Promise<Delivered> {
  const {deliverTo} = await import('../delivery/deliver-star.ts');
  const outcome = await deliverTo(deps, name);
  if (outcome === null)
    throw new FatalError(
      `deliver: another process delivers to ${name} at the moment; fieldmirror status shows it`,
    );
  if ('error' in outcome) throw outcome.error;
  return outcome;
}

function draw(delivered: readonly Delivered[]): string {
  const table = fitTable(
    ['target', 'snapshot', 'files', 'rows', 'bytes', 'old ones removed'],
    delivered.map(({target, snapshot: {name, files, rows, bytes}, removed}) => [
      ...[target, name, files.length, rows, bytes, removed],
    ]),
  );
  const notes = delivered.flatMap(({target, snapshot: {brokenTies}, trouble}) => [
    ...(brokenTies.length === 0
      ? []
      : [`${target}: these tie-outs do not hold: ${brokenTies.join(', ')}; fieldmirror check`]),
    ...(trouble === null ? [] : [`${target}: old snapshots could not be removed: ${trouble}`]),
  ]);
  return [table, ...notes].join('\n');
}
