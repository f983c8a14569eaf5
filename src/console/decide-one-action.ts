// Decisions about one change, each a form on its page. The functions of the warehouse refuse what
// came too late.

import type pg from 'pg';
import {z} from 'zod';
import type {ChangeState} from '../changes/change-states.ts';
import {tellDecided} from '../changes/change-words.ts';
import {readDecidable} from '../changes/decidable-changes.ts';
import {
  decideChange,
  resolveFields,
  type Side,
  type Verb,
  verbs,
} from '../changes/decide-changes.ts';
import {UsageError} from '../core/errors.ts';
import {type Action, defineAction, type Order, type Outcome} from './action.ts';
import {choices} from './change-choices.ts';
import {notThere} from './refused.ts';

const reason = z.string().trim().max(500).default('');

/** `changes.hold`, `changes.release` and so on. */
const plain = verbs
  .filter((verb) => verb !== 'resolve')
  .map((verb) =>
    defineAction({
      path: `/changes/:changeId/${verb}`,
      name: `changes.${verb}`,
      role: 'operator',
      form: z.object({reason}),
      act: async (db, order) => {
        const given = verb === 'cancel' && order.given.reason !== '' ? order.given.reason : null;
        const after = given === null ? {} : {reason: given};
        return await decide(db, order, {after, run: (id) => decideChange(db, id, {verb, given})});
      },
    }),
  );

const resolve = defineAction({
  path: '/changes/:changeId/resolve',
  name: 'changes.resolve',
  role: 'operator',
  form: z.looseObject({
    decision: z.enum(['service', 'warehouse', 'resend', 'adopt', 'fields']),
    number: z.string().trim().default(''),
  }),
  act: async (db, order) => {
    const {decision, number} = order.given;
    if (decision === 'fields') {
      const sides = readSides(order.given);
      return await decide(db, order, {after: {sides}, run: (id) => resolveFields(db, id, sides)});
    }
    if (decision === 'adopt' && !/^[1-9]\d{0,17}$/.test(number))
      throw new UsageError(`adopt: expected the number of a record, got ${JSON.stringify(number)}`);
    const given = decision === 'adopt' ? number : decision;
    return await decide(db, order, {
      after: {decision: given},
      run: (id) => decideChange(db, id, {verb: 'resolve', given}),
    });
  },
});

export const decideOne: readonly Action[] = [...plain, resolve];

interface Decided {
  /** For the audit, beside the state. */
  readonly after: object;
  readonly run: (changeId: string) => Promise<ChangeState>;
}

async function decide(
  db: pg.ClientBase,
  {seen, params}: Pick<Order<unknown>, 'seen' | 'params'>,
  {after, run}: Decided,
): Promise<Outcome> {
  const {changeId = ''} = params;
  const accountIds = seen.map(({accountId}) => accountId);
  const [change] = /^[1-9]\d{0,17}$/.test(changeId)
    ? await readDecidable(db, [changeId], accountIds)
    : [];
  if (change === undefined) throw notThere(`change ${JSON.stringify(changeId)}`);
  const state = await run(changeId);
  const told = tellDecided(changeId, state);
  return {
    subject: `change ${changeId}`,
    accountId: change.accountId,
    before: {state: change.state, reason: change.reason},
    after: {state, ...after},
    said: `${told.charAt(0).toUpperCase()}${told.slice(1)}.`,
  };
}

/**
 * `side.name`, or `side.street+city` of fields that move as one. @throws {UsageError} a field
 * without a side
 */
function readSides(given: Readonly<Record<string, unknown>>): Record<string, Side> {
  const sides: Record<string, Side> = {};
  for (const [name, side] of Object.entries(given)) {
    const [, fields] = /^side\.([\w+]{1,500})$/.exec(name) ?? [];
    if (fields === undefined) continue;
    if (side !== 'service' && side !== 'warehouse')
      throw new UsageError(`${fields}: expected service or warehouse, got ${JSON.stringify(side)}`);
    for (const field of fields.split('+')) sides[field] = side;
  }
  return sides;
}

/** The words on the button of a decision. */
export function labelOf(verb: Exclude<Verb, 'resolve'>): string {
  return choices.find(({name}) => name === verb)?.label ?? verb;
}
