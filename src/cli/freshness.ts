// How fresh a stream is to be: what it costs is shown, and it is set once that was confirmed.

import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {applySettings} from '../settings/apply-settings.ts';
import {freshnessSection} from '../settings/freshness-section.ts';
import {formatInterval} from '../settings/interval.ts';
import {planSettings} from '../settings/plan-settings.ts';
import {findStream} from '../streams/all.ts';
import {findFreshnessCost, tellFreshnessCost} from '../sweeps/freshness.ts';
import {listSchedules} from '../sweeps/schedules.ts';
import {listUsualCosts} from '../sweeps/story.ts';
import {chooseAccount} from './choose-account.ts';
import {environmentOf} from './config-environment.ts';
import {print} from './report.ts';
import {withWarehouse} from './with-warehouse.ts';
import {wrap} from './wrap-text.ts';

/** A freshness that is wished for. */
export interface WantedFreshness {
  readonly everyMs: number;
  /** Whether its cost was seen, and taken. */
  readonly yes: boolean;
  readonly account?: string | undefined;
  readonly json: boolean;
}

/**
 * Shows what a freshness of a stream costs in requests, and sets it where that was confirmed.
 * @param name - of the stream
 * @returns the exit code: 1 where it was not confirmed
 * @throws {UsageError} no such stream, or so often that no pass ends in time; nothing is set
 */
export async function setFreshness(
  config: Config,
  name: string,
  {everyMs, yes, account: given, json}: WantedFreshness,
): Promise<number> {
  const stream = findStream(name).name;
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const account = await chooseAccount({pool}, given);
    const wanted = {stream, everyMs};
    const costs = await listUsualCosts(pool, [account.accountId]);
    const cost = findFreshnessCost(wanted, await listSchedules(pool, account), costs);
    const every = formatInterval(everyMs);
    const read = freshnessSection.schema.safeParse({[account.name]: {[stream]: every}});
    if (!read.success) throw refuse(read.error.issues.map(({message}) => message));
    const patch = {freshness: read.data};
    const {problems} = yes
      ? await applySettings(pool, {patch, file: null}, environmentOf(config))
      : await planSettings(pool, patch, environmentOf(config));
    if (problems.length > 0) throw refuse(problems.map(({text}) => text));
    const done = yes
      ? `set for ${account.name}: the first look is due now`
      : `nothing was set yet. To set it: fieldmirror schedules set ${stream} --fresh ${every} --yes`;
    const text = [wrap(tellFreshnessCost(wanted, cost)), done].join('\n');
    print(json, {json: {account: account.name, stream, every, cost, isSet: yes}, text});
    return yes ? 0 : 1;
  });
}

function refuse(flaws: readonly string[]): UsageError {
  return new UsageError(`schedules: --fresh: ${flaws.join('; ')}; nothing was set`);
}
