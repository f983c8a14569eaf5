// The states of a change and its transitions: which state follows which, and why.
// sync.change_transitions holds them, and a trigger of sync.changes refuses any other step, to a
// worker, a function in SQL and the owner alike.

import type pg from 'pg';

/** The states of an open change; the column `is_open` of sync.changes is made from this list. */
export const openStates = ['held', 'pending', 'sending', 'in_doubt', 'conflict'] as const;

export const settledStates = ['done', 'rejected', 'cancelled'] as const;
export const changeStates = [...openStates, ...settledStates] as const;

export type OpenState = (typeof openStates)[number];

export type SettledState = (typeof settledStates)[number];

export type ChangeState = (typeof changeStates)[number];

/** How a writing request ends; `not-sent`: nothing was written. */
export const attemptOutcomes = ['done', 'refused', 'not-sent', 'in-doubt'] as const;

/** The most characters in the name of a transaction. */
export const longestBatch = 200;

export function nameState(state: ChangeState): string {
  return state.replace('_', ' ');
}

interface Transition {
  /** `new` is a change that is being made. */
  readonly from: ChangeState | 'new';
  readonly to: ChangeState;
  readonly why: string;
}

export const transitions: readonly Transition[] = [
  {from: 'new', to: 'pending', why: 'a row was written'},
  {
    from: 'new',
    to: 'held',
    why: 'a row was written with fieldmirror.mode = hold, or deleted by whose deletes are held',
  },
  {from: 'held', to: 'pending', why: 'it is released, or what it was held for is accepted'},
  {from: 'held', to: 'cancelled', why: 'it is given up, or changed back'},
  {
    from: 'pending',
    to: 'held',
    why: 'a person holds it, its kind of value is stopped, or its transaction is large',
  },
  {from: 'pending', to: 'sending', why: 'its request is about to go out'},
  {
    from: 'pending',
    to: 'conflict',
    why: 'both sides changed a field, or its record no longer exists',
  },
  {from: 'pending', to: 'done', why: 'the service holds it already'},
  {from: 'pending', to: 'rejected', why: 'it cannot be sent as it is'},
  {from: 'pending', to: 'cancelled', why: 'it is given up, or changed back'},
  {from: 'sending', to: 'pending', why: 'nothing was written for certain'},
  {from: 'sending', to: 'in_doubt', why: 'no answer came, or its worker was lost'},
  {
    from: 'sending',
    to: 'conflict',
    why: 'its record no longer exists, or is that of another change',
  },
  {from: 'sending', to: 'done', why: 'the service has written it'},
  {from: 'sending', to: 'rejected', why: 'the service refuses it'},
  {from: 'in_doubt', to: 'pending', why: 'it never arrived'},
  {from: 'in_doubt', to: 'sending', why: 'an update or a delete is sent again'},
  {from: 'in_doubt', to: 'conflict', why: 'only a person can tell what became of it'},
  {from: 'in_doubt', to: 'done', why: 'a reading shows that it was written'},
  {from: 'conflict', to: 'pending', why: 'a person lets it be sent'},
  {from: 'conflict', to: 'in_doubt', why: 'a person says which record it became'},
  {from: 'conflict', to: 'cancelled', why: 'it is given up'},
  {from: 'rejected', to: 'pending', why: 'a person tries it again'},
  {from: 'rejected', to: 'cancelled', why: 'it is given up'},
];

/** Brings sync.change_transitions in line with `transitions`. */
export async function applyTransitions(client: pg.ClientBase): Promise<void> {
  const rows = transitions.map(({from, to, why}) => ({from_state: from, to_state: to, why}));
  await replaceRows(client, 'sync.change_transitions', rows);
}

/**
 * Brings a table in line with the code: its rows are these and no others. @param rows - values by
 * column
 */
export async function replaceRows(
  client: pg.ClientBase,
  table: 'sync.captured_tables' | 'sync.change_transitions',
  rows: readonly object[],
): Promise<void> {
  await client.query(`DELETE FROM ${table}`);
  await client.query(
    `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`,
    [JSON.stringify(rows)],
  );
}
