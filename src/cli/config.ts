// Settings as a file: told, compared, applied.

import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {sequenceFeed} from '../feed/read-feed.ts';
import {checkMigrations} from '../schema/migration-check.ts';
import {applySettings} from '../settings/apply-settings.ts';
import {toJsonSchema} from '../settings/file-schema.ts';
import {planSettings} from '../settings/plan-settings.ts';
import {tellCosts} from './config-costs.ts';
import {environmentOf} from './config-environment.ts';
import {drawPlan, tellPlan} from './draw-config-plan.ts';
import {readSettingsFile} from './read-config-file.ts';
import {print} from './report.ts';
import {type Warehouse, withWarehouse} from './with-warehouse.ts';
import {isThere, write, writeInForce} from './write-config-in-force.ts';

interface Output {
  readonly json: boolean;
}

/**
 * Tells the settings in force as a file: prints it, or writes it.
 * @throws {UsageError} the file is there, and is not to be replaced; or cannot be written
 */
export async function exportConfig(
  config: Config,
  file: string | undefined,
  {json, force}: Output & {readonly force?: boolean},
): Promise<number> {
  if (file !== undefined && force !== true && (await isThere(file)))
    throw new UsageError(
      `config export: ${file}: expected no file there, got one: its comments would be lost; --force replaces it`,
    );
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    await refuseOld(warehouse);
    const {text, settings} = await writeInForce(warehouse.pool, file);
    const told = file === undefined ? text.trimEnd() : `${file} has the settings in force`;
    print(json, {json: {file: file ?? null, settings}, text: told});
    return 0;
  });
}

/**
 * Tells what a file would change, and changes nothing.
 * @returns the exit code: with `check` 1 when something would change
 * @throws {UsageError} mistakes in the file, each with its line and column
 */
export async function plan(
  config: Config,
  file: string,
  {json, check}: Output & {readonly check?: boolean},
): Promise<number> {
  const {patch, refuse} = await readSettingsFile(file);
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    await refuseOld(warehouse);
    const planned = await planSettings(warehouse.pool, patch, environmentOf(config));
    refuse(planned.problems);
    const told = {...tellPlan(planned), costs: await tellCosts(warehouse.pool, planned)};
    const isSame = told.differences.length === 0;
    print(json, {
      json: told,
      text: drawPlan(told, isSame ? 'nothing would change' : 'would change:'),
    });
    return check === true && !isSame ? 1 : 0;
  });
}

/**
 * Brings the warehouse in line with a file: all of it, or nothing.
 * @throws {UsageError} mistakes in the file, each with its line and column
 */
export async function apply(config: Config, file: string, {json}: Output): Promise<number> {
  const {patch, refuse, name} = await readSettingsFile(file);
  return await withWarehouse(config, {migrates: true}, async ({pool}) => {
    const environment = environmentOf(config);
    const costs = await tellCosts(pool, await planSettings(pool, patch, environment));
    // A new subscriber begins at the end of the feed: what is committed already is before it.
    if (patch.hooks !== undefined) await sequenceFeed(pool);
    const applied = await applySettings(pool, {patch, file: name}, environment);
    refuse(applied.problems);
    const told = {...tellPlan(applied), costs};
    print(json, {
      json: told,
      text: drawPlan(told, told.differences.length === 0 ? 'nothing to change' : 'changed:'),
    });
    return 0;
  });
}

/** Tells the JSON Schema of the file: prints it, or writes it. */
export async function schema(file: string | undefined, {json}: Output): Promise<number> {
  const shape = toJsonSchema();
  const text = JSON.stringify(shape, null, 2);
  if (file !== undefined) await write(file, `${text}\n`);
  print(json, {json: shape, text: file === undefined ? text : `${file} has the schema`});
  return 0;
}

async function refuseOld({pool, place}: Warehouse): Promise<void> {
  const {problem} = await checkMigrations(pool);
  if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
}
