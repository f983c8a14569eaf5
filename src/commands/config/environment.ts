import type {Config} from '../../base/config.ts';
import type {Environment} from '../../sync/settings/section.ts';
import {demoName} from '../../views/demo-name.ts';

/** What goes before a file of settings. */
export function environmentOf({account, timeZone}: Pick<Config, 'account' | 'timeZone'>): Environment {
  return {account: account === null ? null : {apiUrl: account.apiUrl, timeZone}, demo: demoName};
}
