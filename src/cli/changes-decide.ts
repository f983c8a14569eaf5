// The verbs `changes retry|hold|release|cancel|accept|resolve`: a person's decisions are carried
// out by functions of the warehouse, which may be called in SQL as well.

import {readConflicts} from '../changes/change-log.ts';
import {type Decision, listDecisions} from '../changes/change-next.ts';
import type {ChangeState} from '../changes/change-states.ts';
import {findChange} from '../changes/change-story.ts';
import {tellDecided} from '../changes/change-words.ts';
import {type Deciding, decideChange, type Verb} from '../changes/decide-changes.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';
import {type Choosing, isFiltered} from './choose-changes.ts';
import {decideFiltered, previewFor} from './decide-filtered.ts';
import {print} from './report.ts';
import {withWarehouse} from './with-warehouse.ts';

export interface DecideOptions extends Choosing {
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly json: boolean;
}

export interface ResolveOptions extends Choosing {
  readonly dryRun?: boolean;
  readonly take?: 'service' | 'warehouse';
  readonly adopt?: string;
  readonly resend?: boolean;
  readonly json: boolean;
}

type Decided = {readonly changeId: string} & (
  | {readonly state: ChangeState}
  | {readonly error: string}
);

/** SQLSTATEs by which the functions refuse a wrong number, state or decision. */
const noData = 'P0002';
const wrongState = '55000';
const wrongDecision = '22023';

/**
 * Decides some changes alike, each by itself: a change that cannot be decided so holds up none of
 * the others.
 * @returns the exit code
 * @throws {UsageError} when all others are done: the changes that could not be decided, and why
 */
export async function decide(
  config: Config,
  {verb, ids}: {readonly verb: Exclude<Verb, 'resolve'>; readonly ids: readonly string[]},
  options: DecideOptions,
): Promise<number> {
  const deciding = {verb, given: options.reason ?? null};
  const filtered = isFiltered(verb, ids, options);
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    if (options.dryRun === true) return await previewFor(warehouse, deciding, {...options, ids});
    if (filtered) return await decideFiltered(warehouse, deciding, options);
    return finish(
      await decideAll(pool, ids, async (id) => await decideOne(pool, id, deciding)),
      options,
    );
  });
}

/**
 * Decides conflicts.
 * @returns the exit code
 * @throws {UsageError} no decision or several; one that is not open for a change; no such change,
 *   or it is in no conflict
 */
export async function resolve(
  config: Config,
  ids: readonly string[],
  options: ResolveOptions,
): Promise<number> {
  const filtered = isFiltered('resolve', ids, options);
  const {decision, typed} = chooseDecision(ids, options);
  const deciding = {verb: 'resolve', given: decision} as const;
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    if (options.dryRun === true) return await previewFor(warehouse, deciding, {...options, ids});
    if (filtered) return await decideFiltered(warehouse, deciding, options);
    const resolveOne = async (id: string) => {
      try {
        return await decideOne(pool, id, deciding);
      } catch (error) {
        if (codeOf(error) !== wrongDecision) throw error;
        throw new UsageError(await tellDecisions(pool, {id, typed}), {cause: error});
      }
    };
    return finish(await decideAll(pool, ids, resolveOne), options);
  });
}

function chooseDecision(ids: readonly string[], {take, adopt, resend}: ResolveOptions) {
  const given = [
    ...(take === undefined ? [] : [{decision: take, typed: `--take ${take}`}]),
    ...(adopt === undefined ? [] : [{decision: adopt, typed: `--adopt ${adopt}`}]),
    ...(resend === true ? [{decision: 'resend', typed: '--resend'}] : []),
  ];
  const [first] = given;
  if (first === undefined || given.length > 1)
    throw new UsageError(
      `changes resolve: expected one of --take service, --take warehouse, --adopt NUMBER, --resend, got ${first === undefined ? 'none' : given.map(({typed}) => typed).join(' and ')}; fieldmirror changes show ${ids[0] ?? 'NUMBER'} tells which fits`,
    );
  if (adopt !== undefined && !/^[1-9]\d{0,17}$/.test(adopt))
    throw new UsageError(
      `changes resolve: --adopt: expected the number of a record, got "${adopt}"`,
    );
  if (adopt !== undefined && ids.length !== 1)
    throw new UsageError(
      `changes resolve: --adopt: expected one change, got ${ids.length === 0 ? 'a filter' : ids.length}`,
    );
  if (resend === true && ids.length === 0)
    throw new UsageError(
      'changes resolve: --resend: expected the numbers of changes, got a filter',
    );
  return first;
}

async function tellDecisions(
  db: Queryable,
  {id, typed}: {readonly id: string; readonly typed: string},
) {
  const change = await findChange(db, id);
  const open = listDecisions(change, await readConflicts(db, id)).map(
    (each: Decision) => `--${each}`,
  );
  return `change ${id}: expected ${open.join(' or ')}, got ${typed}`;
}

/** In the order typed, each change once; a word that is no number is told. */
async function decideAll(
  db: Queryable,
  ids: readonly string[],
  decideIt: (id: string) => Promise<ChangeState>,
): Promise<Decided[]> {
  const decided: Decided[] = [];
  for (const changeId of new Set(ids)) {
    try {
      await findChange(db, changeId);
      decided.push({changeId, state: await decideIt(changeId)});
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      decided.push({changeId, error: error.message});
    }
  }
  return decided;
}

async function decideOne(db: Queryable, id: string, deciding: Deciding): Promise<ChangeState> {
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

function finish(decided: readonly Decided[], {json}: {readonly json: boolean}): number {
  const done = decided.flatMap((each) => ('state' in each ? [each] : []));
  const refused = decided.flatMap((each) => ('error' in each ? [each.error] : []));
  const lines = done.map(({changeId, state}) => tellDecided(changeId, state));
  if (json || lines.length > 0) print(json, {json: {changes: decided}, text: lines.join('\n')});
  if (refused.length > 0) throw new UsageError(refused.join('\n'));
  return 0;
}
