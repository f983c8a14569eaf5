// How the same is asked in a terminal and in SQL.

import pg from 'pg';
import type {Wanted} from '../changes/wanted-changes.ts';
import {quoteWord} from '../core/text.ts';
import {readWanted} from './changes-filter.ts';
import type {Asked, Elsewhere} from './page.ts';

export function tellListElsewhere(asked: Omit<Asked, 'db' | 'doings'>): Elsewhere {
  const wanted = readWanted(asked);
  const isNeedy = wanted.state === 'needy';
  return {
    command: isNeedy
      ? 'fieldmirror status --check'
      : `fieldmirror changes list${writeOptions(asked)}`,
    sql: `SELECT * FROM sync.changes\n WHERE ${conditionsOf(wanted).join('\n   AND ')}\n ORDER BY change_id DESC LIMIT 50;`,
  };
}

/** The filters as the options of a command: ` --state held --batch 'import 4711'`. */
export function writeOptions(asked: Pick<Asked, 'accounts' | 'query'>): string {
  const {state, table, by, batch, transaction, within} = readWanted(asked);
  const {account = null, age = null} = asked.query;
  const options = Object.entries({
    state,
    table,
    by,
    since: within === null ? null : age,
    batch,
    transaction,
    account,
  });
  return options
    .flatMap(([name, value]) => (value === null ? [] : [` --${name} ${quoteWord(value)}`]))
    .join('');
}

function conditionsOf(wanted: Wanted): string[] {
  const {accountIds, state, table, by, within, before, batch, transaction} = wanted;
  const literal = (text: string) => pg.escapeLiteral(text);
  return [
    `account_id IN (${accountIds.length === 0 ? 'NULL' : accountIds.join(', ')})`,
    ...(state === null ? [] : [conditionOfState(state)]),
    ...(table === null ? [] : [`table_name = ${literal(table)}`]),
    ...(by === null ? [] : [`${literal(by)} IN (requested_by, application)`]),
    ...(within === null ? [] : [`requested_at >= now() - interval ${literal(within)}`]),
    ...(before === null ? [] : [`requested_at < now() - interval ${literal(before)}`]),
    ...(batch === null ? [] : [`batch = ${literal(batch)}`]),
    ...(transaction === null ? [] : [`transaction_id = ${transaction}`]),
  ];
}

function conditionOfState(state: NonNullable<Wanted['state']>): string {
  if (state === 'altered') return `state = 'done' AND result ? 'altered'`;
  if (state === 'needy') return `state IN ('conflict', 'rejected', 'in_doubt', 'held')`;
  return `state = ${pg.escapeLiteral(state)}`;
}
