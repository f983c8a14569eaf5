// The verbs `changes list` and `changes show`: the changes made here, and their outcomes.

import type {Config} from '../../base/config.ts';
import {UsageError} from '../../base/errors.ts';
import {nearest} from '../../base/spelling/nearest.ts';
import {allWrites} from '../../streams/all.ts';
import {readStory} from '../../views/changes/change-story.ts';
import {maskChange} from '../../views/changes/change-words.ts';
import {listAccounts} from '../../warehouse/accounts/accounts.ts';
import {changeStates} from '../../warehouse/changes/change-states.ts';
import {listChanges} from '../../warehouse/changes/reads/change-log.ts';
import {chooseAccount} from '../accounts/choose-account.ts';
import {print} from '../terminal/report.ts';
import {withWarehouse} from '../warehouse.ts';
import {drawChange} from './draw-change.ts';
import {drawChanges} from './draw-changes.ts';

export interface ListOptions {
  readonly state?: string;
  readonly table?: string;
  readonly account?: string;
  readonly limit: number;
  readonly json: boolean;
}

const states = [...changeStates, 'altered'] as const;
const tables = allWrites.map(({table}) => table.name);

/**
 * The changes that are not over, conflicts before the rest and the oldest first; then the others, the latest first.
 * @returns the exit code
 * @throws {UsageError} no such state, table or account
 */
export async function list(config: Config, options: ListOptions): Promise<number> {
  const state = options.state === undefined ? null : checkState(options.state);
  const table = options.table === undefined ? null : checkTable(options.table);
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    const account = options.account === undefined ? null : await chooseAccount(warehouse, options.account);
    const accountIds = account === null ? null : [account.accountId];
    const changes = (await listChanges(pool, {accountIds, state, table, limit: options.limit})).map(
      maskChange,
    );
    print(options.json, {json: {changes}, text: drawChanges(changes, await listAccounts(pool))});
    return 0;
  });
}

/** One change: its story, line by line, and its next step. @returns the exit code */
export async function show(config: Config, id: string, options: {readonly json: boolean}): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const story = await readStory(pool, id);
    print(options.json, {json: story, text: drawChange(story)});
    return 0;
  });
}

/** States may be typed as they are printed: `in doubt`, or `in-doubt`. */
function checkState(typed: string): (typeof states)[number] {
  const name = typed.toLowerCase().replaceAll(/[ -]/g, '_');
  const state = states.find((known) => known === name);
  if (state !== undefined) return state;
  throw new UsageError(
    `changes: no state "${typed}"${nearest(typed, states)}; there are ${states.join(', ')}`,
  );
}

function checkTable(typed: string): string {
  if (tables.includes(typed)) return typed;
  throw new UsageError(
    `changes: no table "${typed}"${nearest(typed, tables)} that can be written back; there are ${tables.join(', ')}`,
  );
}
