// Decisions about many changes over HTTP, within the key's account: in one transaction, with one
// answer at its end.

import type pg from 'pg';
import {z} from 'zod';
import {changeStates} from '../changes/change-states.ts';
import {type DecidableChange, listDecidable, readDecidable} from '../changes/decidable-changes.ts';
import {verbs} from '../changes/decide-changes.ts';
import {decideMany, mostDecided} from '../changes/decide-many.ts';
import {noteDecision} from '../changes/note-decision.ts';
import {inTransaction} from '../postgres/database.ts';
import type {AccountKey} from './authentication.ts';
import {type Asked, chosenShape, isOneChosen, listUnknown, oneOf} from './chosen-changes.ts';
import {auditKey, decideAs} from './key-decides.ts';
import {lineOf, toWanted} from './wanted-query.ts';

export const decideRequestSchema = z
  .strictObject({
    decision: z.enum(verbs),
    ...chosenShape,
    reason: lineOf(500).optional().describe('Of cancel: why.'),
    take: z.enum(['service', 'warehouse']).optional().describe('Of resolve: whose value counts.'),
  })
  .refine(isOneChosen, oneOf)
  .refine(({decision, take}) => (decision === 'resolve') === (take !== undefined), {
    error: 'expected take with resolve, and with nothing else',
  });

/** A request for decisions. */
export type DecideAsked = Asked<typeof decideRequestSchema>;

export const decidedChangeSchema = z.object({
  change_id: z.string(),
  state: z.enum(changeStates).nullable().describe('Null where it could not be decided so.'),
  refusal: z.string().nullable().describe('Why not.'),
});

export const isCutSchema = z
  .boolean()
  .describe(`More match than the ${mostDecided} that are decided at once: send the same again.`);

export const decidedSchema = z.object({changes: z.array(decidedChangeSchema), is_cut: isCutSchema});

type DecidedAnswer = z.infer<typeof decidedChangeSchema>;

/** Decides what can be decided, in one transaction. */
export async function decideOverHttp(
  pool: pg.Pool,
  key: AccountKey,
  asked: DecideAsked,
): Promise<z.infer<typeof decidedSchema>> {
  const {change_ids: ids, filter = {}} = asked.body;
  return await inTransaction(pool, async (client) => {
    await decideAs(client, key);
    const found =
      ids === undefined
        ? await listDecidable(client, toWanted(key.accountId, filter), mostDecided + 1)
        : await readDecidable(client, ids, [key.accountId]);
    const chosen = found.slice(0, mostDecided);
    const changes = await decideFound(client, key, {...asked, found: chosen});
    const unknown = listUnknown(
      ids ?? [],
      chosen.map(({changeId}) => changeId),
    );
    return {changes: [...changes, ...unknown], is_cut: found.length > mostDecided};
  });
}

/**
 * Decides those that are given, and what is not among those found is told; in a transaction of its
 * own.
 */
export async function decideBatch(
  pool: pg.Pool,
  key: AccountKey,
  {ids, ...asked}: DecideAsked & {readonly ids: readonly string[]},
): Promise<DecidedAnswer[]> {
  return await inTransaction(pool, async (client) => {
    await decideAs(client, key);
    const found = await readDecidable(client, ids, [key.accountId]);
    const changes = await decideFound(client, key, {...asked, found});
    const known = found.map(({changeId}) => changeId);
    return [...changes, ...listUnknown(ids, known)];
  });
}

async function decideFound(
  client: pg.ClientBase,
  key: AccountKey,
  {
    body: {decision: verb, reason, take},
    address,
    found,
  }: DecideAsked & {readonly found: readonly DecidableChange[]},
): Promise<DecidedAnswer[]> {
  if (found.length === 0) return [];
  const deciding = {verb, given: take ?? reason ?? null};
  const known = found.map(({changeId}) => changeId);
  const decided = await decideMany(client, known, deciding);
  const note = noteDecision(found, decided, deciding);
  await auditKey(client, key, {...note, action: 'changes.decide', address});
  return decided.map(({changeId, state, refusal}) => ({change_id: changeId, state, refusal}));
}
