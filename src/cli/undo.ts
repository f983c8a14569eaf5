// The verb `changes undo`: takes back what was written and should not have been. What it makes is
// held.

import {maskChange, nameChange} from '../changes/change-words.ts';
import {listUndoable} from '../changes/decidable-changes.ts';
import {mostDecided} from '../changes/decide-many.ts';
import {tellGroup} from '../changes/decided-words.ts';
import {nameUndo} from '../changes/undo-changes.ts';
import {previewUndo, type Undo, type UndoPreview, undoMany} from '../changes/undo-many.ts';
import {countChanges} from '../changes/undo-words.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {inTransaction} from '../postgres/database.ts';
import {type Choosing, isFiltered, readFilters} from './choose-changes.ts';
import {drawPlan} from './draw-change.ts';
import {print} from './report.ts';
import {type Warehouse, withWarehouse} from './with-warehouse.ts';
import {wrap} from './wrap-text.ts';

export interface UndoOptions extends Choosing {
  readonly dryRun?: boolean;
  readonly json: boolean;
}

/**
 * Takes changes back: those not sent are given up, those done get held changes of their own.
 * @returns the exit code: 1 where something was left
 * @throws {UsageError} neither numbers nor filters, or more than can be taken back at once
 */
export async function undo(
  config: Config,
  ids: readonly string[],
  options: UndoOptions,
): Promise<number> {
  isFiltered('undo', ids, options);
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    const chosen = await choose(warehouse, ids, options);
    const batch = nameUndo(options.batch ?? null, new Date());
    const done =
      options.dryRun === true
        ? await previewUndo(pool, chosen, batch)
        : await inTransaction(pool, async (client) => await undoMany(client, chosen, batch));
    const json = {...done, made: done.made.map(maskChange)};
    print(options.json, {json, text: draw(done, chosen.length)});
    return done.left.length === 0 ? 0 : 1;
  });
}

async function choose(
  warehouse: Warehouse,
  ids: readonly string[],
  options: UndoOptions,
): Promise<string[]> {
  const wrong = ids.find((id) => !/^[1-9]\d{0,17}$/.test(id));
  if (wrong !== undefined)
    throw new UsageError(`no change "${wrong}"; fieldmirror changes list shows what there is`);
  const found =
    ids.length > 0
      ? [...new Set(ids)].toSorted((one, other) => Number(BigInt(one) - BigInt(other)))
      : await listUndoable(warehouse.pool, await readFilters(warehouse, options), mostDecided + 1);
  if (found.length > mostDecided)
    throw new UsageError(
      `changes undo: expected at most ${formatNumber(mostDecided)} changes at once, got more: narrow the filter, for example by --table or --since`,
    );
  return found;
}

function draw(undo: Undo | UndoPreview, count: number): string {
  if (count === 0) return 'no change that could be taken back matches';
  const requests = 'requests' in undo ? undo.requests : null;
  const isPreview = requests !== null;
  return [
    ...tellDone(undo, isPreview),
    ...(undo.left.length === 0 ? [] : ['Left, and why:']),
    ...undo.left.map((group) => wrap(`  ${formatNumber(group.count)}  ${tellGroup(group)}`)),
    ...undo.made.flatMap((change, at) => {
      const request = requests?.[at];
      return request === undefined
        ? []
        : ['', `${nameChange(change)}:`, ...drawPlan(request).map((line) => `  ${line}`)];
    }),
    ...(isPreview ? ['', 'nothing was done'] : []),
  ].join('\n');
}

function tellDone({cancelledCount, undoneCount, made, batch}: Undo, isPreview: boolean): string[] {
  const will = (count: number) => (isPreview ? 'would be' : count === 1 ? 'is' : 'are');
  const lines = [];
  if (cancelledCount > 0)
    lines.push(`${countChanges(cancelledCount)}, not sent yet: ${will(cancelledCount)} given up`);
  if (undoneCount > 0)
    lines.push(
      `${countChanges(undoneCount)}, done: ${will(undoneCount)} taken back by ${countChanges(made.length)}, held until released`,
    );
  if (undoneCount > 0 && !isPreview) lines.push(...tellNext(batch));
  if (lines.length === 0) lines.push(`nothing ${isPreview ? 'would be' : 'was'} taken back`);
  return lines;
}

/** The lines can be copied whole: a shell leaves out what follows the mark. */
function tellNext(batch: string): string[] {
  const release = `fieldmirror changes release --batch ${quote(batch)}`;
  return [
    `  ${'fieldmirror push --dry-run'.padEnd(release.length)}  # shows the requests, and sends none`,
    `  ${release}  # lets them go`,
  ];
}

/** A name as a shell takes it. */
function quote(name: string): string {
  return `'${name.replaceAll("'", `'\\''`)}'`;
}
