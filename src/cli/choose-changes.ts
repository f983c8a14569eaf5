// Which changes a verb is about: those whose numbers were typed, or all that match its filters.

import {listAccounts} from '../accounts/accounts.ts';
import {changeStates} from '../changes/change-states.ts';
import {everyChange, type Wanted} from '../changes/wanted-changes.ts';
import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import {allWrites} from '../streams/all.ts';
import {chooseAccount} from './choose-account.ts';
import type {Warehouse} from './with-warehouse.ts';

/** The filters, as they were typed. */
export interface ChangeFilters {
  readonly state?: string;
  readonly table?: string;
  readonly by?: string;
  readonly since?: {readonly within: string} | {readonly since: string};
  readonly transaction?: string;
  readonly batch?: string;
  readonly account?: string;
}

/** Numbers or filters; `all` stands for no filter at all. */
export interface Choosing extends ChangeFilters {
  readonly all?: boolean;
}

const states = ['needy', ...changeStates, 'altered'] as const;
const tables = allWrites.map(({table}) => table.name);
const filterNames = ['state', 'table', 'by', 'since', 'transaction', 'batch', 'account'] as const;

/** The changes that match. @throws {UsageError} no such state, table or account */
export async function readFilters(warehouse: Warehouse, filters: ChangeFilters): Promise<Wanted> {
  const {by = null, since = {}, transaction = null, batch = null} = filters;
  const state = filters.state === undefined ? null : checkState(filters.state);
  const table = filters.table === undefined ? null : checkTable(filters.table);
  const accounts =
    filters.account === undefined
      ? await listAccounts(warehouse.pool)
      : [await chooseAccount(warehouse, filters.account)];
  const every = everyChange(accounts.map(({accountId}) => accountId));
  return {...every, state, table, by, ...since, transaction, batch};
}

/**
 * Whether the changes are chosen by filters, rather than by their numbers.
 * @throws {UsageError} neither was typed, or both
 */
export function isFiltered(verb: string, ids: readonly string[], choosing: Choosing): boolean {
  const typed = filterNames
    .filter((name) => choosing[name] !== undefined)
    .map((name) => `--${name}`);
  if (choosing.all === true) typed.push('--all');
  if (ids.length === 0 && typed.length === 0)
    throw new UsageError(
      `changes ${verb}: expected the numbers of changes, or a filter: ${filterNames.map((name) => `--${name}`).join(', ')}, or --all; --dry-run shows what it would do`,
    );
  if (ids.length > 0 && typed.length > 0)
    throw new UsageError(
      `changes ${verb}: expected the numbers of changes or filters, got both: ${ids[0]} and ${typed.join(', ')}`,
    );
  return typed.length > 0;
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
