// Settings as a file: exported, compared, applied.

import {listAccounts} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {sequenceFeed} from '../feed/feed.ts';
import type {Queryable} from '../postgres/database.ts';
import {checkMigrations} from '../schema/checks.ts';
import {freshnessSection} from '../settings/mirror-sections.ts';
import {intervalMs, type SettingValue} from '../settings/section.ts';
import {
  applySettings,
  planSettings,
  type SettingsPlan,
  toJsonSchema,
} from '../settings/settings.ts';
import {describeFreshnessCost, findFreshnessCost} from '../sweeps/freshness.ts';
import {listSchedules} from '../sweeps/schedules.ts';
import {listUsualCosts} from '../sweeps/story.ts';
import {isThere, readSettingsFile, write, writeInForce} from './config-file.ts';
import {settingsEnvironment} from './settings.ts';
import {fitTable, print, wrap} from './terminal.ts';
import {type Warehouse, withWarehouse} from './warehouse.ts';

interface Output {
  readonly json: boolean;
}

/**
 * Exports the settings in force as a file: prints it, or writes it.
 * @throws {UsageError} the file exists and must not be replaced, or it cannot be written
 */
export async function exportConfig(
  config: Config,
  file: string | undefined,
  {json, force}: Output & {readonly force?: boolean},
): Promise<number> {
  if (file !== undefined && force !== true && (await isThere(file)))
    throw new UsageError(
      `config export: ${file}: expected no file there, got one: its comments would be lost; ` +
        '--force replaces it',
    );
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    await refuseOld(warehouse);
    const {text, settings} = await writeInForce(warehouse.pool, file);
    const told = file === undefined ? text.trimEnd() : `${file} has the active settings`;
    print(json, {json: {file: file ?? null, settings}, text: told, isDocument: file === undefined});
    return 0;
  });
}

/**
 * Prints the changes that a file would make, and changes nothing.
 * @returns the exit code: with `check` 1 if something would change
 * @throws {UsageError} mistakes in the file, each with its line and column
 */
export async function configPlan(
  config: Config,
  file: string,
  {json, check}: Output & {readonly check?: boolean},
): Promise<number> {
  const {settings, refuse} = await readSettingsFile(file);
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    await refuseOld(warehouse);
    const planned = await planSettings(warehouse.pool, settings, settingsEnvironment(config));
    refuse(planned.problems);
    const told = {...describePlan(planned), costs: await describeCosts(warehouse.pool, planned)};
    const isSame = told.differences.length === 0;
    print(json, {
      json: told,
      text: formatSettingsPlan(told, isSame ? 'nothing would change' : 'would change:'),
    });
    return check === true && !isSame ? 1 : 0;
  });
}

/**
 * Applies a file to the warehouse: all of it, or nothing.
 * @throws {UsageError} mistakes in the file, each with its line and column
 */
export async function apply(config: Config, file: string, {json}: Output): Promise<number> {
  const {settings, refuse} = await readSettingsFile(file);
  return await withWarehouse(config, {migrates: true}, async ({pool}) => {
    const environment = settingsEnvironment(config);
    const costs = await describeCosts(pool, await planSettings(pool, settings, environment));
    // A new subscriber begins at the end of the feed: entries that are committed already come
    // before it.
    if (settings.hooks !== undefined) await sequenceFeed(pool);
    const applied = await applySettings(pool, {file: settings, isFile: true}, environment);
    refuse(applied.problems);
    const told = {...describePlan(applied), costs};
    print(json, {
      json: told,
      text: formatSettingsPlan(
        told,
        told.differences.length === 0 ? 'nothing to change' : 'changed:',
      ),
    });
    return 0;
  });
}

/** Exports the JSON Schema of the file: prints it, or writes it. */
export async function configSchema(file: string | undefined, {json}: Output): Promise<number> {
  const shape = toJsonSchema();
  const text = JSON.stringify(shape, null, 2);
  if (file !== undefined) await write(file, `${text}\n`);
  print(json, {
    json: shape,
    text: file === undefined ? text : `${file} has the schema`,
    isDocument: file === undefined,
  });
  return 0;
}

async function refuseOld({pool, place}: Warehouse): Promise<void> {
  const {problem} = await checkMigrations(pool);
  if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
}

/** Describes the cost, in requests, of each freshness that a file would set: one line each. */
async function describeCosts(db: Queryable, {sections}: SettingsPlan): Promise<string[]> {
  const wanted = sections
    .filter(({section}) => section === freshnessSection)
    .flatMap(({differences}) => differences)
    .flatMap(({path: [account = '', stream = ''], to}) =>
      typeof to === 'string' ? [{account, stream, everyMs: intervalMs(to)}] : [],
    );
  if (wanted.length === 0) return [];
  const accounts = await listAccounts(db);
  const told: string[] = [];
  for (const {account: name, ...each} of wanted) {
    const account = accounts.find((known) => known.name === name);
    const costs = account === undefined ? [] : await listUsualCosts(db, [account.accountId]);
    const schedules = account === undefined ? [] : await listSchedules(db, account);
    told.push(`${name}: ${describeFreshnessCost(each, findFreshnessCost(each, schedules, costs))}`);
  }
  return told;
}

/** If there are more places than this, only the number of the rest is printed. */
const fewPlaces = 20;

/** The contents of a plan, for a program and for the text. */
function describePlan({sections}: SettingsPlan) {
  return {
    differences: sections.flatMap(({section, differences}) =>
      differences.map(({path, from, to}) => ({
        section: section.name,
        key: path.join(' / '),
        from,
        to,
      })),
    ),
    overridden: sections.flatMap(({section, overridden}) =>
      overridden.map(({path, inFile, inEnvironment}) => ({
        section: section.name,
        key: path.join(' / '),
        inFile,
        inEnvironment,
      })),
    ),
    unnamed: sections.flatMap(({section, unnamed}) =>
      unnamed.map((path) => [section.name, ...path].join(' / ')),
    ),
  };
}

/** A plan as it is printed. */
interface DescribedPlan extends ReturnType<typeof describePlan> {
  /** Sentences on the requests that the plan costs. */
  readonly costs: readonly string[];
}

/** @param done - the line above the differences */
function formatSettingsPlan(
  {differences, overridden, unnamed, costs}: DescribedPlan,
  done: string,
): string {
  const rows = differences.map(({section, key, from, to}) => [section, key, show(from), show(to)]);
  const changes = rows.length === 0 ? [] : [fitTable(['section', 'key', 'from', 'to'], rows)];
  const stronger = overridden.map(
    ({section, key, inFile, inEnvironment}) =>
      `${section} / ${key}: the environment takes precedence over the file: ` +
      `${show(inEnvironment)}, not ${show(inFile)}`,
  );
  return [
    done,
    ...changes,
    ...costs.map((cost) => wrap(cost)),
    ...stronger,
    ...formatUnnamed(unnamed),
  ].join('\n');
}

function formatUnnamed(unnamed: readonly string[]): string[] {
  if (unnamed.length === 0) return [];
  const rest = unnamed.length > fewPlaces ? ` and ${unnamed.length - fewPlaces} more` : '';
  return [
    `left alone, for the file does not name it: ${unnamed.slice(0, fewPlaces).join(', ')}${rest}`,
  ];
}

function show(value: SettingValue | null): string {
  if (value === null) return '(none)';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
