// The verbs `changes retry|hold|release|cancel|accept|resolve|undo`. Functions of the warehouse
// carry out a person's decisions; they may be called in SQL as well. Changes that `undo` makes are
// held.

import {listAccounts} from '../accounts/accounts.ts';
import {readConflicts} from '../changes/change.ts';
import {
  type DecidableChange,
  type DecisionPreview,
  type DecisionRequest,
  decideChange,
  decideMany,
  listDecidable,
  listUndoable,
  maxDecidedAtOnce,
  type PlainVerb,
  previewDecision,
  readDecidable,
} from '../changes/decisions.ts';
import {type ConflictDecision, listDecisions} from '../changes/next-step.ts';
import type {ChangeState} from '../changes/states.ts';
import {findChange} from '../changes/story.ts';
import {nameUndo, previewUndo, type Undo, type UndoPreview, undoMany} from '../changes/undo.ts';
import {
  describeChangeCount,
  describeDecided,
  describeDecisions,
  describeGroup,
  nameChange,
} from '../changes/words.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {isId} from '../core/text.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {
  type ChangeFilters,
  type ChangeSelection,
  formatPlan,
  isFiltered,
  readFilters,
} from './changes.ts';
import {type OutputOptions, print, wrap} from './terminal.ts';
import {type Warehouse, withWarehouse} from './warehouse.ts';

interface DecideOptions extends ChangeSelection {
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly json: boolean;
}

interface ResolveOptions extends ChangeSelection {
  readonly dryRun?: boolean;
  readonly take?: 'service' | 'warehouse';
  readonly adopt?: string;
  readonly resend?: boolean;
  readonly json: boolean;
}

type DecisionResult = {readonly changeId: string} & (
  | {readonly state: ChangeState}
  | {readonly error: string}
);

/** SQLSTATEs by which the functions refuse a wrong number, state or decision. */
const noData = 'P0002';
const wrongState = '55000';
const wrongDecision = '22023';

/**
 * Applies the same decision to each change separately: a change that cannot be decided in this way
 * does not block the others.
 * @returns the exit code
 * @throws {UsageError} after all others are decided: the changes that could not be decided, and why
 */
export async function changesDecide(
  config: Config,
  {verb, ids}: {readonly verb: PlainVerb; readonly ids: readonly string[]},
  options: DecideOptions,
): Promise<number> {
  const deciding: DecisionRequest = {verb, argument: options.reason ?? null};
  const isByFilters = isFiltered(verb, ids, options);
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    if (options.dryRun === true) return await printPreview(warehouse, deciding, {...options, ids});
    if (isByFilters) return await decideFiltered(warehouse, deciding, options);
    return printResults(
      await decideAll(pool, ids, async (id) => await decideOne(pool, id, deciding)),
      options,
    );
  });
}

/**
 * Decides conflicts.
 * @returns the exit code
 * @throws {UsageError} no decision or several; a decision that a change does not allow; no such
 *   change, or it has no conflict
 */
export async function resolve(
  config: Config,
  ids: readonly string[],
  options: ResolveOptions,
): Promise<number> {
  const isByFilters = isFiltered('resolve', ids, options);
  const {decision, typed} = chooseDecision(ids, options);
  const deciding: DecisionRequest = {verb: 'resolve', argument: decision};
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    if (options.dryRun === true) return await printPreview(warehouse, deciding, {...options, ids});
    if (isByFilters) return await decideFiltered(warehouse, deciding, options);
    const resolveOne = async (id: string) => {
      try {
        return await decideOne(pool, id, deciding);
      } catch (error) {
        if (codeOf(error) !== wrongDecision) throw error;
        throw new UsageError(await describeOpenDecisions(pool, {id, typed}), {cause: error});
      }
    };
    return printResults(await decideAll(pool, ids, resolveOne), options);
  });
}

function chooseDecision(ids: readonly string[], {take, adopt, resend}: ResolveOptions) {
  const typedDecisions = [
    ...(take === undefined ? [] : [{decision: take, typed: `--take ${take}`}]),
    ...(adopt === undefined ? [] : [{decision: adopt, typed: `--adopt ${adopt}`}]),
    ...(resend === true ? [{decision: 'resend', typed: '--resend'}] : []),
  ];
  const [first] = typedDecisions;
  if (first === undefined || typedDecisions.length > 1)
    throw new UsageError(
      'changes resolve: expected one of --take service, --take warehouse, --adopt NUMBER, ' +
        `--resend, got ${typedDecisions.map(({typed}) => typed).join(' and ') || 'none'}; ` +
        `fieldmirror changes show ${ids[0] ?? 'NUMBER'} shows which one fits`,
    );
  if (adopt !== undefined && !isId(adopt))
    throw new UsageError(
      `changes resolve: --adopt: expected the number of a record, got "${adopt}"`,
    );
  if (adopt !== undefined && ids.length !== 1)
    throw new UsageError(
      'changes resolve: --adopt: expected one change, ' +
        `got ${ids.length === 0 ? 'a filter' : ids.length}`,
    );
  if (resend === true && ids.length === 0)
    throw new UsageError(
      'changes resolve: --resend: expected the numbers of changes, got a filter',
    );
  return first;
}

async function describeOpenDecisions(
  db: Queryable,
  {id, typed}: {readonly id: string; readonly typed: string},
) {
  const change = await findChange(db, id);
  const openDecisions = listDecisions(change, await readConflicts(db, id)).map(
    (decision: ConflictDecision) => `--${decision}`,
  );
  return `change ${id}: expected ${openDecisions.join(' or ')}, got ${typed}`;
}

/** Decides in the order typed, each change once; a word that is not a number is reported. */
async function decideAll(
  db: Queryable,
  ids: readonly string[],
  decideIt: (id: string) => Promise<ChangeState>,
): Promise<DecisionResult[]> {
  const results: DecisionResult[] = [];
  for (const changeId of new Set(ids)) {
    try {
      await findChange(db, changeId);
      results.push({changeId, state: await decideIt(changeId)});
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      results.push({changeId, error: error.message});
    }
  }
  return results;
}

async function decideOne(
  db: Queryable,
  id: string,
  deciding: DecisionRequest,
): Promise<ChangeState> {
  try {
    return await decideChange(db, id, deciding);
  } catch (error) {
    const code = codeOf(error);
    if (!(error instanceof Error) || (code !== noData && code !== wrongState)) throw error;
    const hint = 'hint' in error && typeof error.hint === 'string' ? `; ${error.hint}` : '';
    throw new UsageError(error.message + hint, {cause: error});
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function printResults(results: readonly DecisionResult[], {json}: OutputOptions): number {
  const done = results.flatMap((each) => ('state' in each ? [each] : []));
  const refused = results.flatMap((each) => ('error' in each ? [each.error] : []));
  const lines = done.map(({changeId, state}) => describeDecided(changeId, state));
  if (json || lines.length > 0) print(json, {json: {changes: results}, text: lines.join('\n')});
  if (refused.length > 0) throw new UsageError(refused.join('\n'));
  return 0;
}

const cutMessage =
  `More changes match: these are the first ${formatNumber(maxDecidedAtOnce)}. ` +
  'Type the same again for the rest.';

/**
 * Decides all matching changes, and leaves those that cannot be decided in this way.
 * @returns the exit code: 1 if some could not be decided
 */
async function decideFiltered(
  warehouse: Warehouse,
  deciding: DecisionRequest,
  {json, ...filters}: ChangeFilters & {readonly json: boolean},
): Promise<number> {
  const {pool} = warehouse;
  const decidable = await listDecidable(
    pool,
    await readFilters(warehouse, filters),
    maxDecidedAtOnce + 1,
  );
  const ids = decidable.slice(0, maxDecidedAtOnce).map(({changeId}) => changeId);
  const decided = await decideMany(pool, ids, deciding);
  const {done, left} = describeDecisions(decided);
  const isCut = decidable.length > maxDecidedAtOnce;
  const lines = [
    ids.length === 0 ? 'no change that can be decided matches' : done,
    left,
    isCut ? cutMessage : '',
  ].filter((line) => line !== '');
  const changes = decided.map(({changeId, state, refusal}) =>
    state === null ? {changeId, error: refusal} : {changeId, state},
  );
  print(json, {json: {changes, isCut}, text: lines.map(wrap).join('\n')});
  return left === '' ? 0 : 1;
}

/** Prints the effect of a decision without deciding. @param ids - empty if filters choose */
async function printPreview(
  warehouse: Warehouse,
  deciding: DecisionRequest,
  {
    ids,
    json,
    ...filters
  }: ChangeFilters & {readonly ids: readonly string[]; readonly json: boolean},
): Promise<number> {
  const preview = previewDecision(await findDecidable(warehouse, ids, filters), deciding);
  print(json, {json: preview, text: formatPreview(preview)});
  return 0;
}

async function findDecidable(
  warehouse: Warehouse,
  ids: readonly string[],
  filters: ChangeFilters,
): Promise<DecidableChange[]> {
  const {pool} = warehouse;
  if (ids.length === 0)
    return await listDecidable(pool, await readFilters(warehouse, filters), maxDecidedAtOnce + 1);
  const wrongId = ids.find((id) => !isId(id));
  if (wrongId !== undefined)
    throw new UsageError(`no change "${wrongId}"; fieldmirror changes list shows what there is`);
  const accounts = await listAccounts(pool);
  return await readDecidable(
    pool,
    ids,
    accounts.map(({accountId}) => accountId),
  );
}

function formatPreview({can, canCount, cannot, cannotCount, isCut}: DecisionPreview): string {
  const decided = `${formatNumber(canCount)} ${canCount === 1 ? 'change' : 'changes'}`;
  const lines = [
    `${decided} can be decided so:${canCount === 0 ? ' none' : ''}`,
    ...can.map((group) => `  ${formatNumber(group.count)}  ${describeGroup(group)}`),
    ...(cannotCount === 0 ? [] : [`${formatNumber(cannotCount)} cannot:`]),
    ...cannot.map((group) => `  ${formatNumber(group.count)}  ${describeGroup(group)}`),
    ...(isCut ? [cutMessage] : []),
    'nothing was done',
  ];
  return lines.map(wrap).join('\n');
}

interface UndoOptions extends ChangeSelection {
  readonly dryRun?: boolean;
  readonly json: boolean;
}

/**
 * Takes changes back: changes not sent yet are cancelled; for changes that are done, new held
 * changes are made.
 * @returns the exit code: 1 if some changes were left
 * @throws {UsageError} neither numbers nor filters, or both; more changes than can be taken back at
 *   once
 */
export async function undo(
  config: Config,
  ids: readonly string[],
  options: UndoOptions,
): Promise<number> {
  isFiltered('undo', ids, options);
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    const changeIds = await chooseUndoable(warehouse, ids, options);
    const batch = nameUndo(options.batch ?? null, new Date());
    const outcome =
      options.dryRun === true
        ? await previewUndo(pool, changeIds, batch)
        : await inTransaction(pool, async (client) => await undoMany(client, changeIds, batch));
    print(options.json, {json: outcome, text: formatUndo(outcome, changeIds.length)});
    return outcome.refused.length === 0 ? 0 : 1;
  });
}

async function chooseUndoable(
  warehouse: Warehouse,
  ids: readonly string[],
  options: UndoOptions,
): Promise<string[]> {
  const wrongId = ids.find((id) => !isId(id));
  if (wrongId !== undefined)
    throw new UsageError(`no change "${wrongId}"; fieldmirror changes list shows what there is`);
  const changeIds =
    ids.length > 0
      ? [...new Set(ids)].toSorted((left, right) => Number(BigInt(left) - BigInt(right)))
      : await listUndoable(
          warehouse.pool,
          await readFilters(warehouse, options),
          maxDecidedAtOnce + 1,
        );
  if (changeIds.length > maxDecidedAtOnce)
    throw new UsageError(
      `changes undo: expected at most ${formatNumber(maxDecidedAtOnce)} changes at once, ` +
        'got more: ' +
        'narrow the filter, for example by --table or --since',
    );
  return changeIds;
}

function formatUndo(outcome: Undo | UndoPreview, count: number): string {
  if (count === 0) return 'no change that could be taken back matches';
  const requests = 'requests' in outcome ? outcome.requests : null;
  const isPreview = requests !== null;
  return [
    ...describeDone(outcome, isPreview),
    ...(outcome.refused.length === 0 ? [] : ['Left, and why:']),
    ...outcome.refused.map((group) =>
      wrap(`  ${formatNumber(group.count)}  ${describeGroup(group)}`),
    ),
    ...outcome.created.flatMap((change, index) => {
      const request = requests?.[index];
      return request === undefined
        ? []
        : ['', `${nameChange(change)}:`, ...formatPlan(request).map((line) => `  ${line}`)];
    }),
    ...(isPreview ? ['', 'nothing was done'] : []),
  ].join('\n');
}

function describeDone(
  {cancelledCount, undoneCount, created: newChanges, batch}: Undo,
  isPreview: boolean,
): string[] {
  const getVerb = (count: number) => (isPreview ? 'would be' : count === 1 ? 'is' : 'are');
  const lines = [];
  if (cancelledCount > 0)
    lines.push(
      `${describeChangeCount(cancelledCount)}, not sent yet: ${getVerb(cancelledCount)} given up`,
    );
  if (undoneCount > 0)
    lines.push(
      `${describeChangeCount(undoneCount)}, done: ${getVerb(undoneCount)} taken back by ` +
        `${describeChangeCount(newChanges.length)}, held until released`,
    );
  if (undoneCount > 0 && !isPreview) lines.push(...formatNextCommands(batch));
  if (lines.length === 0) lines.push(`nothing ${isPreview ? 'would be' : 'was'} taken back`);
  return lines;
}

/** The lines can be copied whole: a shell ignores the text after `#`. */
function formatNextCommands(batch: string): string[] {
  const releaseCommand = `fieldmirror changes release --batch ${quote(batch)}`;
  const rehearseCommand = 'fieldmirror push --dry-run'.padEnd(releaseCommand.length);
  return [
    `  ${rehearseCommand}  # shows the requests, and sends none`,
    `  ${releaseCommand}  # lets them go`,
  ];
}

/** A name, quoted for a shell. */
function quote(name: string): string {
  return `'${name.replaceAll("'", `'\\''`)}'`;
}
