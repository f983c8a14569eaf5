import {listAccounts} from '../accounts/accounts.ts';
import type {Queryable} from '../postgres/database.ts';
import {freshnessSection} from '../settings/freshness-section.ts';
import {intervalMs} from '../settings/interval.ts';
import type {SettingsPlan} from '../settings/plan-settings.ts';
import {findFreshnessCost, tellFreshnessCost} from '../sweeps/freshness.ts';
import {listSchedules} from '../sweeps/schedules.ts';
import {listUsualCosts} from '../sweeps/story.ts';

/** Tells what the freshness costs that a file would set, in requests: a line each. */
export async function tellCosts(db: Queryable, {sections}: SettingsPlan): Promise<string[]> {
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
    told.push(`${name}: ${tellFreshnessCost(each, findFreshnessCost(each, schedules, costs))}`);
  }
  return told;
}
