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
import {isExistingFile, readSettingsFile, write, writeActiveSettings} from './config-file.ts';
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
  if (file !== undefined && force !== true && (await isExistingFile(file)))
    throw new UsageError(
      `config export: ${file}: expected no file there, got one: its comments would be lost; ` +
        '--force replaces it',
    );
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    await refuseOldSchema(warehouse);
    const {text, settings} = await writeActiveSettings(warehouse.pool, file);
    const message = file === undefined ? text.trimEnd() : `${file} has the active settings`;
    print(json, {
      json: {file: file ?? null, settings},
      text: message,
      isDocument: file === undefined,
    });
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
    await refuseOldSchema(warehouse);
    const planned = await planSettings(warehouse.pool, settings, settingsEnvironment(config));
    refuse(planned.problems);
    const summary = {...describePlan(planned), costs: await describeCosts(warehouse.pool, planned)};
    const isSame = summary.differences.length === 0;
    print(json, {
      json: summary,
      text: formatSettingsPlan(summary, isSame ? 'nothing would change' : 'would change:'),
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
    const summary = {...describePlan(applied), costs};
    print(json, {
      json: summary,
      text: formatSettingsPlan(
        summary,
        summary.differences.length === 0 ? 'nothing to change' : 'changed:',
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

async function refuseOldSchema({pool, place}: Warehouse): Promise<void> {
  const {problem} = await checkMigrations(pool);
  if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
}

/** Describes the cost, in requests, of each freshness that a file would set: one line each. */
async function describeCosts(db: Queryable, {sections}: SettingsPlan): Promise<string[]> {
  const wantedFreshness = sections
    .filter(({section}) => section === freshnessSection)
    .flatMap(({differences}) => differences)
    .flatMap(({path: [account = '', stream = ''], to}) =>
      typeof to === 'string' ? [{account, stream, everyMs: intervalMs(to)}] : [],
    );
  if (wantedFreshness.length === 0) return [];
  const accounts = await listAccounts(db);
  const lines: string[] = [];
  for (const {account: name, ...entry} of wantedFreshness) {
    const account = accounts.find((known) => known.name === name);
    const costs = account === undefined ? [] : await listUsualCosts(db, [account.accountId]);
    const schedules = account === undefined ? [] : await listSchedules(db, account);
    lines.push(
      `${name}: ${describeFreshnessCost(entry, findFreshnessCost(entry, schedules, costs))}`,
    );
  }
  return lines;
}

/** If there are more places than this, only the number of the rest is printed. */
const mostPlaces = 20;

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

/** @param title - the line above the differences */
function formatSettingsPlan(
  {differences, overridden, unnamed, costs}: DescribedPlan,
  title: string,
): string {
  const rows = differences.map(({section, key, from, to}) => [
    section,
    key,
    formatSetting(from),
    formatSetting(to),
  ]);
  const table = rows.length === 0 ? [] : [fitTable(['section', 'key', 'from', 'to'], rows)];
  const overriddenLines = overridden.map(
    ({section, key, inFile, inEnvironment}) =>
      `${section} / ${key}: the environment takes precedence over the file: ` +
      `${formatSetting(inEnvironment)}, not ${formatSetting(inFile)}`,
  );
  return [
    title,
    ...table,
    ...costs.map((cost) => wrap(cost)),
    ...overriddenLines,
    ...formatUnnamed(unnamed),
  ].join('\n');
}

function formatUnnamed(unnamed: readonly string[]): string[] {
  if (unnamed.length === 0) return [];
  const rest = unnamed.length > mostPlaces ? ` and ${unnamed.length - mostPlaces} more` : '';
  return [
    `left alone, for the file does not name it: ${unnamed.slice(0, mostPlaces).join(', ')}${rest}`,
  ];
}

function formatSetting(value: SettingValue | null): string {
  if (value === null) return '(none)';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
