import type {SettingTold} from '../console/doings.ts';
import type {Config} from '../core/config.ts';
import type {Queryable} from '../postgres/database.ts';
import {readSettingsInForce, type SettingInForce} from '../settings/settings-in-force.ts';
import {environmentOf} from './config-environment.ts';
import {envFileOf} from './env-file.ts';

/** The settings of this process, then those of the warehouse. */
export async function listSettings(
  config: Pick<Config, 'settings' | 'account' | 'timeZone'>,
  db: Queryable,
): Promise<SettingTold[]> {
  const inForce = await readSettingsInForce(db, environmentOf(config));
  return [
    ...config.settings.map((setting) => ({
      ...setting,
      file: setting.source === 'file' ? envFileOf(process.env) : null,
    })),
    ...inForce.map((setting) => ({...setting, value: showValue(setting.value)})),
  ];
}

/** A text as it is, anything else as JSON. */
export function showValue(value: SettingInForce['value']): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
