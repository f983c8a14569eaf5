import type {Setting} from '../../base/config.ts';
import type {SettingInForce} from '../../sync/settings/settings-in-force.ts';
import {envFileOf} from '../config/env-file.ts';
import {drawTable} from '../terminal/report.ts';
import {showValue} from './list-settings.ts';

/** More rows than these are for a program to read. */
const mostRows = 60;

/** The settings of the environment, and those of the warehouse that are not at their defaults. */
export function drawSettings(settings: readonly Setting[], inForce: readonly SettingInForce[]): string {
  const set = inForce.filter(({source}) => source !== 'default');
  const envFile = envFileOf(process.env);
  const rows = [
    ...settings.map(({name, value, source}) => [name, value, source === 'file' ? envFile : source]),
    ...set.slice(0, mostRows).map(({name, value, source, file}) => [name, showValue(value), file ?? source]),
  ];
  const table = drawTable(['setting', 'value', 'from'], rows);
  const atDefault = inForce.length - set.length;
  const notes = [
    ...(set.length > mostRows ? [`${set.length - mostRows} more are set in the warehouse`] : []),
    ...(atDefault > 0 ? [`${atDefault} settings of the warehouse are at their defaults`] : []),
  ];
  return notes.length === 0 ? table : `${table}\n${notes.join('; ')}: doctor --json lists all`;
}
