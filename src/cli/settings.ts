// The settings of the process and of the warehouse: listed, each with its source; and those of the
// warehouse as a file: exported, compared, applied.

import {existsSync} from 'node:fs';
import {listAccounts} from '../accounts/accounts.ts';
import type {ShownSetting} from '../console/page.ts';
import type {Config, Setting} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {demoName} from '../core/names.ts';
import {sequenceFeed} from '../feed/feed.ts';
import type {Queryable} from '../postgres/database.ts';
import {freshnessSection} from '../settings/mirror-sections.ts';
import {type Environment, intervalMs, type SettingValue} from '../settings/section.ts';
import {
  type ActiveSetting,
  applySettings,
  planSettings,
  readSettingsInForce,
  type SettingsPlan,
  toJsonSchema,
} from '../settings/settings.ts';
import {describeFreshnessCost, findFreshnessCost} from '../sweeps/freshness.ts';
import {listSchedules} from '../sweeps/schedules.ts';
import {listUsualCosts} from '../sweeps/story.ts';
import {fitTable, type OutputOptions, print, wrap} from './terminal.ts';
import {envFileOf, settingsFile} from './verb.ts';
import {requireMigrated, type Warehouse, withWarehouse} from './warehouse.ts';
import {isReplaced} from './write-file.ts';

/** Only a verb that reads or writes a file of settings loads the parser of YAML. */
const loadFile = () => import('./config-file.ts');

/** At most this many rows are printed, unless all are requested. */
const mostRows = 60;

interface SettingLists {
  readonly settings: readonly Setting[];
  readonly inForce: readonly ActiveSetting[];
}

/**
 * The settings of the environment and of the warehouse, each with its source.
 * @param all - those at their defaults, too, however many there are
 */
export function formatSettings(
  {settings, inForce}: SettingLists,
  {all}: {readonly all: boolean},
): string {
  const envFile = envFileOf(process.env);
  const allSettings = [
    ...settings.map((setting) => ({
      ...setting,
      isDefault: setting.source === 'default',
      file: setting.source === 'file' ? envFile : null,
    })),
    ...inForce.map((setting) => ({...setting, value: showValue(setting.value)})),
  ];
  // After `init` a file gives most values as they are by default: those are no news.
  const selected = all ? allSettings : allSettings.filter(({isDefault}) => !isDefault);
  const printed = all ? selected : selected.slice(0, mostRows);
  const rows = printed.map(({name, value, source, file}) => [name, value, file ?? source]);
  const table =
    selected.length === 0 ? 'no setting was set' : fitTable(['setting', 'value', 'from'], rows);
  const explicitDefaults = allSettings.filter(
    ({source, isDefault}) => isDefault && source !== 'default',
  );
  const notes = [
    ...(selected.length > printed.length
      ? [`${selected.length - printed.length} more are set`]
      : []),
    ...(allSettings.length > selected.length
      ? [describeDefaults(allSettings.length - selected.length, explicitDefaults)]
      : []),
  ];
  return notes.length === 0 ? table : `${table}\n${notes.join('; ')}: doctor --all shows them`;
}

/**
 * @param explicitDefaults - those of them that a source gives explicitly, although with the default
 *   value
 */
function describeDefaults(
  count: number,
  explicitDefaults: readonly {readonly source: string; readonly file: string | null}[],
): string {
  const sources = [...new Set(explicitDefaults.map(({source, file}) => file ?? source))];
  const sourceText =
    sources.length === 0
      ? ''
      : `, ${explicitDefaults.length} of them as ${sources.join(', ')} says`;
  return `${count} settings are at their defaults${sourceText}`;
}

/** The settings of this process, then those of the warehouse. */
export async function listSettings(
  config: Pick<Config, 'settings' | 'account' | 'timeZone'>,
  db: Queryable,
  file = settingsFile,
): Promise<ShownSetting[]> {
  const {inForce} = await compareSettings(config, db, file);
  return [
    ...config.settings.map((setting) => ({
      ...setting,
      file: setting.source === 'file' ? envFileOf(process.env) : null,
    })),
    ...inForce.map((setting) => ({...setting, value: showValue(setting.value)})),
  ];
}

/**
 * The settings of the warehouse, compared with the file in the folder that this process runs in.
 * @returns also the problem of that file, which is then ignored
 */
export async function compareSettings(
  config: Pick<Config, 'account' | 'timeZone'>,
  db: Queryable,
  file = settingsFile,
): Promise<{readonly inForce: readonly ActiveSetting[]; readonly problem: string | null}> {
  const environment = settingsEnvironment(config);
  if (!existsSync(file))
    return {inForce: await readSettingsInForce(db, environment, null), problem: null};
  const {readSettingsFile} = await loadFile();
  const result = await readSettingsFile(file).catch((error: unknown) => {
    if (error instanceof UsageError) return error;
    throw error;
  });
  const isRead = !(result instanceof UsageError);
  const inForce = await readSettingsInForce(db, environment, isRead ? result : null);
  return {inForce, problem: isRead ? null : result.message};
}

/** A text as it is, anything else as JSON. */
function showValue(value: SettingValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The settings that take precedence over a file of settings. */
export function settingsEnvironment({
  account,
  timeZone,
}: Pick<Config, 'account' | 'timeZone'>): Environment {
  return {account: account === null ? null : {apiUrl: account.apiUrl, timeZone}, demo: demoName};
}

/**
 * Exports the settings in force as a file: prints it, or writes it.
 * @throws {UsageError} the file exists and must not be replaced, or it cannot be written
 */
export async function exportConfig(
  config: Config,
  file: string | undefined,
  {json, force}: OutputOptions & {readonly force?: boolean},
): Promise<number> {
  const {writeActiveSettings} = await loadFile();
  if (file !== undefined && force !== true && (await isReplaced(file)))
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
  {json, check}: OutputOptions & {readonly check?: boolean},
): Promise<number> {
  const {readSettingsFile} = await loadFile();
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
export async function apply(config: Config, file: string, {json}: OutputOptions): Promise<number> {
  const {readSettingsFile} = await loadFile();
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

/**
 * Exports the JSON Schema of the file: prints it, or writes it.
 * @throws {UsageError} another file is there, or the file cannot be written
 */
export async function configSchema(
  file: string | undefined,
  {json}: OutputOptions,
): Promise<number> {
  const shape = toJsonSchema();
  const text = JSON.stringify(shape, null, 2);
  if (file !== undefined) {
    const {refuseOtherFile, write} = await loadFile();
    await refuseOtherFile(file);
    await write(file, `${text}\n`);
  }
  print(json, {
    json: shape,
    text: file === undefined ? text : `${file} has the schema`,
    isDocument: file === undefined,
  });
  return 0;
}

async function refuseOldSchema({pool, place}: Warehouse): Promise<void> {
  await requireMigrated(pool, place);
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
  return value === null ? '(none)' : showValue(value);
}
