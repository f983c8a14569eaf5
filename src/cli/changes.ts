// The verbs `changes list` and `changes show`: the changes made here, and their outcomes.

import {listAccounts} from '../accounts/accounts.ts';
import {listChanges} from '../changes/change-log.ts';
import {readStory} from '../changes/change-story.ts';
import {maskChange} from '../changes/change-words.ts';
import type {Config} from '../core/config.ts';
import {type ChangeFilters, readFilters} from './choose-changes.ts';
import {drawChange} from './draw-change.ts';
import {drawChanges} from './draw-changes.ts';
import {print} from './report.ts';
import {withWarehouse} from './with-warehouse.ts';

export interface ListOptions extends ChangeFilters {
  readonly limit: number;
  readonly json: boolean;
}

/**
 * The changes that are not over, conflicts before the rest and the oldest first; then the others,
 * the latest first.
 * @returns the exit code
 * @throws {UsageError} no such state, table or account
 */
export async function list(config: Config, options: ListOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    const wanted = await readFilters(warehouse, options);
    const changes = (await listChanges(pool, wanted, options.limit)).map(maskChange);
    print(options.json, {json: {changes}, text: drawChanges(changes, await listAccounts(pool))});
    return 0;
  });
}

/** One change: its story, line by line, and its next step. @returns the exit code */
export async function show(
  config: Config,
  id: string,
  options: {readonly json: boolean},
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const story = await readStory(pool, id);
    print(options.json, {json: story, text: drawChange(story)});
    return 0;
  });
}
