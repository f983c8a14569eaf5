// A preview must not promise what the warehouse refuses, nor the other way round: both are asked
// about every state.

import {expect, test} from 'vitest';
import {
  type DecisionRequest,
  decideChanges,
  judgeDecision,
  readDecidable,
  verbs,
} from '../../src/changes/decisions.ts';
import {changeStates} from '../../src/changes/states.ts';
import {
  addCustomer,
  editPhone,
  pool,
  putInConflict,
  set,
  useChangesPlace,
} from './changes-place.ts';

useChangesPlace();

const decidings: readonly DecisionRequest[] = [
  ...verbs.filter((verb) => verb !== 'resolve').map((verb) => ({verb})),
  ...['service', 'warehouse', 'resend', '77'].map((argument) => ({
    verb: 'resolve' as const,
    argument,
  })),
];

const settled = ['done', 'rejected', 'cancelled'];

/** A change in a state, as a worker leaves it. */
async function makeIn(state: string, make: () => Promise<string>): Promise<string> {
  const id = await make();
  if (state === 'pending') return id;
  const sending = `state = 'sending', sends = 1, sent_at = now(),
    lease_until = now() + interval '1 h'`;
  if (state !== 'held' && state !== 'cancelled') await set(id, sending);
  const over = settled.includes(state)
    ? `, settled_at = now(), number = coalesce(number, 900 + change_id)`
    : '';
  if (state !== 'sending')
    await set(id, `state = '${state}', reason = 'why', lease_until = NULL${over}`);
  return id;
}

/** Kinds of changes on which a decision depends beside the state. */
const kinds: readonly (readonly [string, () => Promise<readonly string[]>])[] = [
  ...changeStates.flatMap((state) => [
    [`update, ${state}`, async () => [await makeIn(state, () => editPhone(1))]] as const,
    [`create, ${state}`, async () => [await makeIn(state, () => addCustomer())]] as const,
  ]),
  [
    'conflict of a field',
    async () => {
      const id = await editPhone(2);
      await putInConflict(id);
      return [id];
    },
  ],
  [
    'conflict of a delete',
    async () => {
      await pool.query('DELETE FROM warehouse.customers WHERE customer_number = 3');
      const {rows} = await pool.query('SELECT max(change_id) AS id FROM sync.changes');
      await set(rows[0].id, `state = 'conflict', reason = 'why'`);
      return [rows[0].id];
    },
  ],
  [
    'held for a kind of value',
    async () => {
      const id = await editPhone(4);
      await set(
        id,
        `state = 'held', held_for = 'customers.phone_number', reason = 'somebody looks first'`,
      );
      return [id];
    },
  ],
  [
    'pending, and a worker has it',
    async () => {
      const id = await editPhone(5);
      await set(id, `lease_until = now() + interval '1 h'`);
      return [id];
    },
  ],
  [
    'refused, and overtaken',
    async () => {
      const id = await editPhone(6);
      await set(id, `state = 'rejected', settled_at = now(), reason = 'no'`);
      await editPhone(6, '555-0200');
      return [id];
    },
  ],
  [
    'altered by the service',
    async () => {
      const id = await editPhone(7);
      await set(id, `state = 'done', settled_at = now()`);
      await pool.query(
        `INSERT INTO sync.alterations (change_id, account_id, field, kind, sent, got, is_stop)
         SELECT change_id, account_id, 'phone_number', 'customers.phone_number', '"1"', '"2"', true
         FROM sync.changes WHERE change_id = $1`,
        [id],
      );
      return [id];
    },
  ],
];

test.each(kinds)(
  'judgeDecision predicts how the warehouse decides on a change: %s',
  async (_, make) => {
    const [id = ''] = await make();
    const {rows} = await pool.query('SELECT array_agg(account_id) AS ids FROM sync.accounts');
    const [change] = await readDecidable(pool, [id], rows[0].ids);
    if (change === undefined) throw new Error('the change is there');
    const client = await pool.connect();
    try {
      for (const deciding of decidings) {
        await client.query('BEGIN');
        const [decided] = await decideChanges(client, [id], deciding);
        await client.query('ROLLBACK');
        const refusal =
          decided?.refusal?.replace(`change ${id}: `, '').replace(/; .*$/, '') ?? null;
        expect({deciding, refusal: judgeDecision(change, deciding)}).toEqual({deciding, refusal});
      }
    } finally {
      client.release();
    }
  },
);
