// A decision about all changes that match a filter, and what it would do.

import {listAccounts} from '../accounts/accounts.ts';
import {type DecidableChange, listDecidable, readDecidable} from '../changes/decidable-changes.ts';
import type {Deciding} from '../changes/decide-changes.ts';
import {decideMany, mostDecided} from '../changes/decide-many.ts';
import {tellGroup, tellMany} from '../changes/decided-words.ts';
import {type DecisionPreview, previewDecision} from '../changes/preview-decision.ts';
import {UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {type ChangeFilters, readFilters} from './choose-changes.ts';
import {print} from './report.ts';
import type {Warehouse} from './with-warehouse.ts';
import {wrap} from './wrap-text.ts';

const cut = `More changes match: these are the first ${formatNumber(mostDecided)}. Type the same again for the rest.`;

/**
 * Decides all that match, and leaves what cannot be decided so.
 * @returns the exit code: 1 where some could not be
 */
export async function decideFiltered(
  warehouse: Warehouse,
  deciding: Deciding,
  {json, ...filters}: ChangeFilters & {readonly json: boolean},
): Promise<number> {
  const {pool} = warehouse;
  const found = await listDecidable(pool, await readFilters(warehouse, filters), mostDecided + 1);
  const ids = found.slice(0, mostDecided).map(({changeId}) => changeId);
  const decided = await decideMany(pool, ids, deciding);
  const {done, left} = tellMany(decided);
  const isCut = found.length > mostDecided;
  const lines = [
    ids.length === 0 ? 'no change that can be decided matches' : done,
    left,
    isCut ? cut : '',
  ].filter((line) => line !== '');
  const changes = decided.map(({changeId, state, refusal}) =>
    state === null ? {changeId, error: refusal} : {changeId, state},
  );
  print(json, {json: {changes, isCut}, text: lines.map(wrap).join('\n')});
  return left === '' ? 0 : 1;
}

/** Prints what a decision would do; nothing is done. @param ids - none where filters choose */
export async function previewFor(
  warehouse: Warehouse,
  deciding: Deciding,
  {
    ids,
    json,
    ...filters
  }: ChangeFilters & {readonly ids: readonly string[]; readonly json: boolean},
): Promise<number> {
  const preview = previewDecision(await find(warehouse, ids, filters), deciding);
  print(json, {json: preview, text: drawPreview(preview)});
  return 0;
}

async function find(
  warehouse: Warehouse,
  ids: readonly string[],
  filters: ChangeFilters,
): Promise<DecidableChange[]> {
  const {pool} = warehouse;
  if (ids.length === 0)
    return await listDecidable(pool, await readFilters(warehouse, filters), mostDecided + 1);
  const wrong = ids.find((id) => !/^[1-9]\d{0,17}$/.test(id));
  if (wrong !== undefined)
    throw new UsageError(`no change "${wrong}"; fieldmirror changes list shows what there is`);
  const accounts = await listAccounts(pool);
  return await readDecidable(
    pool,
    ids,
    accounts.map(({accountId}) => accountId),
  );
}

function drawPreview({can, canCount, cannot, cannotCount, isCut}: DecisionPreview): string {
  const lines = [
    `${formatNumber(canCount)} ${canCount === 1 ? 'change' : 'changes'} can be decided so:${canCount === 0 ? ' none' : ''}`,
    ...can.map((group) => `  ${formatNumber(group.count)}  ${tellGroup(group)}`),
    ...(cannotCount === 0 ? [] : [`${formatNumber(cannotCount)} cannot:`]),
    ...cannot.map((group) => `  ${formatNumber(group.count)}  ${tellGroup(group)}`),
    ...(isCut ? [cut] : []),
    'nothing was done',
  ];
  return lines.map(wrap).join('\n');
}
