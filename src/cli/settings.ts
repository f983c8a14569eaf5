// The settings of the process and of the warehouse, each with its source.

import {existsSync} from 'node:fs';
import type {ShownSetting} from '../console/services.ts';
import type {Config, Setting} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {demoName} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';
import type {Environment} from '../settings/section.ts';
import {type ActiveSetting, readSettingsInForce} from '../settings/settings.ts';
import {fitTable} from './terminal.ts';
import {envFileOf, settingsFile} from './verb.ts';

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
  const {readSettingsFile} = await import('./config-file.ts');
  const result = await readSettingsFile(file).catch((error: unknown) => {
    if (error instanceof UsageError) return error;
    throw error;
  });
  const isRead = !(result instanceof UsageError);
  const inForce = await readSettingsInForce(db, environment, isRead ? result : null);
  return {inForce, problem: isRead ? null : result.message};
}

/** A text as it is, anything else as JSON. */
function showValue(value: ActiveSetting['value']): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The settings that take precedence over a file of settings. */
export function settingsEnvironment({
  account,
  timeZone,
}: Pick<Config, 'account' | 'timeZone'>): Environment {
  return {account: account === null ? null : {apiUrl: account.apiUrl, timeZone}, demo: demoName};
}
