// The settings of the process and of the warehouse, each with its source.

import {existsSync} from 'node:fs';
import type {SettingTold} from '../console/services.ts';
import type {Config, Setting} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {demoName} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';
import type {Environment} from '../settings/section.ts';
import {readSettingsInForce, type SettingInForce} from '../settings/settings.ts';
import {fitTable} from './terminal.ts';
import {envFileOf, settingsFile} from './verb.ts';

/** At most this many rows are printed, unless all are requested. */
const mostRows = 60;

interface Shown {
  readonly settings: readonly Setting[];
  readonly inForce: readonly SettingInForce[];
}

/**
 * The settings of the environment and of the warehouse, each with its source.
 * @param all - those at their defaults, too, however many there are
 */
export function formatSettings({settings, inForce}: Shown, {all}: {readonly all: boolean}): string {
  const envFile = envFileOf(process.env);
  const told = [
    ...settings.map((each) => ({
      ...each,
      ...{isDefault: each.source === 'default', file: each.source === 'file' ? envFile : null},
    })),
    ...inForce.map((each) => ({...each, value: showValue(each.value)})),
  ];
  // After `init` a file gives most values as they are by default: those are no news.
  const set = all ? told : told.filter(({isDefault}) => !isDefault);
  const shown = all ? set : set.slice(0, mostRows);
  const rows = shown.map(({name, value, source, file}) => [name, value, file ?? source]);
  const table =
    set.length === 0 ? 'no setting was set' : fitTable(['setting', 'value', 'from'], rows);
  const given = told.filter(({source, isDefault}) => isDefault && source !== 'default');
  const notes = [
    ...(set.length > shown.length ? [`${set.length - shown.length} more are set`] : []),
    ...(told.length > set.length ? [describeDefaults(told.length - set.length, given)] : []),
  ];
  return notes.length === 0 ? table : `${table}\n${notes.join('; ')}: doctor --all shows them`;
}

/** @param given - those of them that a source gives explicitly, although with the default value */
function describeDefaults(
  count: number,
  given: readonly {readonly source: string; readonly file: string | null}[],
): string {
  const by = [...new Set(given.map(({source, file}) => file ?? source))];
  const told = by.length === 0 ? '' : `, ${given.length} of them as ${by.join(', ')} says`;
  return `${count} settings are at their defaults${told}`;
}

/** The settings of this process, then those of the warehouse. */
export async function listSettings(
  config: Pick<Config, 'settings' | 'account' | 'timeZone'>,
  db: Queryable,
  file = settingsFile,
): Promise<SettingTold[]> {
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
): Promise<{readonly inForce: readonly SettingInForce[]; readonly problem: string | null}> {
  const environment = settingsEnvironment(config);
  if (!existsSync(file))
    return {inForce: await readSettingsInForce(db, environment, null), problem: null};
  const {readSettingsFile} = await import('./config-file.ts');
  const read = await readSettingsFile(file).catch((error: unknown) => {
    if (error instanceof UsageError) return error;
    throw error;
  });
  const isRead = !(read instanceof UsageError);
  const inForce = await readSettingsInForce(db, environment, isRead ? read : null);
  return {inForce, problem: isRead ? null : read.message};
}

/** A text as it is, anything else as JSON. */
function showValue(value: SettingInForce['value']): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The settings that take precedence over a file of settings. */
export function settingsEnvironment({
  account,
  timeZone,
}: Pick<Config, 'account' | 'timeZone'>): Environment {
  return {account: account === null ? null : {apiUrl: account.apiUrl, timeZone}, demo: demoName};
}
