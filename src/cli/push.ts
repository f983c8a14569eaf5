// The verb `push`: carries the due changes here and now; or shows the requests, and sends nothing.

import {reportChange} from '../../jobs/report-outcome.ts';
import {type Account, listAccounts} from '../accounts/accounts.ts';
import {countChanges} from '../changes/change-health.ts';
import {listNeedy} from '../changes/change-log.ts';
import {maskChange} from '../changes/change-words.ts';
import {readHeldChanges} from '../changes/claim-changes.ts';
import {countMovingChanges} from '../changes/moving-changes.ts';
import type {Config} from '../core/config.ts';
import {pushAccount} from '../push/push.ts';
import type {Carried} from '../push/push-deps.ts';
import {chooseAccount, requireActive} from './choose-account.ts';
import {drawPushed, type Pushed} from './draw-pushed.ts';
import {type PushProgress, watchPush} from './progress.ts';
import {printPlan} from './push-plan.ts';
import {print} from './report.ts';
import {describeUnopened, listServed, requireOpened, type Served} from './served-accounts.ts';
import {withWarehouse} from './with-warehouse.ts';
import {type World, withWorld} from './world.ts';

export interface PushOptions {
  readonly account?: string;
  readonly dryRun?: boolean;
  readonly json: boolean;
}

/**
 * Carries every change that is due, of one account or of all whose tokens are known here, in this
 * process and without the queue; or shows the requests.
 * @returns the exit code: 1 when the service refused or altered a change, or a change needs a
 *   decision; 3
 *   when an account could not be served
 */
export async function push(
  config: Config,
  options: PushOptions,
  signal: AbortSignal,
): Promise<number> {
  const {account: name, json} = options;
  if (options.dryRun === true)
    return await withWarehouse(config, {migrates: false}, async (warehouse) => {
      const {pool} = warehouse;
      const accounts =
        name === undefined ? await listAccounts(pool) : [await chooseAccount(warehouse, name)];
      await printPlan(pool, accounts, json);
      return 0;
    });
  return await withWorld(
    config,
    async (world) => {
      const {active, unopened} = await listPushed(world, name);
      const progress = watchPush(json);
      const pushed = await pushAll(world, active, {signal, progress}).finally(() =>
        progress.close(),
      );
      // A key that ends with this process would seal passwords that no other process opens.
      if (world.passwords.isKept) await world.passwords.makeReady();
      const text = [drawPushed(pushed), ...describeUnopened(unopened)].join('\n');
      print(json, {json: {...pushed, unopened}, text});
      if (unopened.length > 0) return 3;
      return pushed.needy.length > 0 ? 1 : 0;
    },
    {signal},
  );
}

async function listPushed(
  world: World,
  name: string | undefined,
): Promise<Pick<Served, 'active' | 'unopened'>> {
  if (name === undefined) return await listServed(world);
  const account = requireActive(await chooseAccount(world, name));
  await requireOpened(world, account);
  return {active: [account], unopened: []};
}

/**
 * Carries the due changes of some accounts, one account after the other. @param watch - the
 * progress is left open
 */
export async function pushAll(
  world: Pick<World, 'pool' | 'databaseUrl' | 'openAccount' | 'openPassword' | 'log'>,
  accounts: readonly Account[],
  {signal, progress}: {readonly signal: AbortSignal; readonly progress?: PushProgress},
): Promise<Pushed> {
  const {pool} = world;
  const [clock] = (await pool.query<{now: string}>('SELECT clock_timestamp() AS now')).rows;
  const counted = [];
  for (const {accountId, name} of accounts) {
    const [moving] = await countMovingChanges(pool, [accountId]);
    progress?.begin(name, moving?.left ?? 0);
    const onCarried = (carried: Carried) => {
      reportChange(world.log, carried);
      // The others come round again.
      if (carried.end !== 'postponed' && carried.end !== 'in_doubt') progress?.advance();
    };
    const counts = await pushAccount({...world, onCarried}, accountId, signal);
    const open = await countChanges(pool, [accountId]);
    const held = await readHeldChanges(pool, accountId);
    counted.push({
      account: name,
      ...counts,
      open: open.map(({state, count}) => ({state, count})),
      held,
    });
  }
  const accountIds = accounts.map(({accountId}) => accountId);
  const needy = await listNeedy(pool, {accountIds, since: clock?.now ?? ''});
  return {accounts: counted, needy: needy.map(maskChange)};
}
