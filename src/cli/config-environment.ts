import type {Config} from '../core/config.ts';
import {demoName} from '../core/names.ts';
import type {Environment} from '../settings/section.ts';

/** What goes before a file of settings. */
export function environmentOf({
  account,
  timeZone,
}: Pick<Config, 'account' | 'timeZone'>): Environment {
  return {account: account === null ? null : {apiUrl: account.apiUrl, timeZone}, demo: demoName};
}
