// How the same is asked in a terminal and in SQL.

import pg from 'pg';
import type {Wanted} from '../../../../warehouse/changes/reads/browse-changes.ts';
import type {Asked, Elsewhere} from '../../page.ts';
import {readWanted} from './filter.ts';

export function tellListElsewhere(asked: Omit<Asked, 'db' | 'doings'>): Elsewhere {
  const wanted = readWanted(asked);
  const {state, table} = wanted;
  const {account} = asked.query;
  const options = Object.entries({state: state === 'needy' ? null : state, table, account: account ?? null});
  const typed = options.flatMap(([name, value]) => (value === null ? [] : [` --${name} ${quote(value)}`]));
  return {
    command: state === 'needy' ? 'fieldmirror status --check' : `fieldmirror changes list${typed.join('')}`,
    sql: `SELECT * FROM sync.changes\n WHERE ${conditionsOf(wanted).join('\n   AND ')}\n ORDER BY change_id DESC LIMIT 50;`,
  };
}

function conditionsOf({accountIds, state, table, by, within, before}: Wanted): string[] {
  const literal = (text: string) => pg.escapeLiteral(text);
  return [
    `account_id IN (${accountIds.length === 0 ? 'NULL' : accountIds.join(', ')})`,
    ...(state === null ? [] : [conditionOfState(state)]),
    ...(table === null ? [] : [`table_name = ${literal(table)}`]),
    ...(by === null ? [] : [`${literal(by)} IN (requested_by, application)`]),
    ...(within === null ? [] : [`requested_at >= now() - interval ${literal(within)}`]),
    ...(before === null ? [] : [`requested_at < now() - interval ${literal(before)}`]),
  ];
}

function conditionOfState(state: NonNullable<Wanted['state']>): string {
  if (state === 'altered') return `state = 'done' AND result ? 'altered'`;
  if (state === 'needy') return `state IN ('conflict', 'rejected', 'in_doubt', 'held')`;
  return `state = ${pg.escapeLiteral(state)}`;
}

/** A word as a shell takes it. */
function quote(word: string): string {
  return /^[\w.-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
