// Decisions about many changes over HTTP, and changes taken back: by their numbers or by a filter, within the key's account.

import type pg from 'pg';
import {z} from 'zod';
import {type AuditEntry, writeAudit} from '../../../warehouse/accounts/access/audit.ts';
import {changeStates} from '../../../warehouse/changes/change-states.ts';
import {verbs} from '../../../warehouse/changes/decisions/decide-changes.ts';
import {decideMany, mostDecided} from '../../../warehouse/changes/decisions/decide-many.ts';
import {noteDecision, noteUndo} from '../../../warehouse/changes/decisions/note-decision.ts';
import {nameUndo, undoChanges} from '../../../warehouse/changes/decisions/undo-changes.ts';
import {
  listDecidable,
  listUndoable,
  readDecidable,
} from '../../../warehouse/changes/reads/decidable-changes.ts';
import {inTransaction} from '../../../warehouse/postgres/database.ts';
import type {AccountKey} from '../authentication.ts';
import {Problem} from '../problems/problem.ts';
import {changeNumber, filterShape, lineOf, toWanted} from './wanted-query.ts';

const filter = z.strictObject(filterShape);
const chosen = {
  change_ids: z.array(changeNumber).min(1).max(mostDecided).optional(),
  filter: filter.optional().describe('Every change that matches; {} means every one of the account.'),
};
const oneOf = {error: 'expected either change_ids or filter'};
const isOneChosen = (body: {change_ids?: unknown; filter?: unknown}) =>
  (body.change_ids === undefined) !== (body.filter === undefined);

export const decideRequestSchema = z
  .strictObject({
    decision: z.enum(verbs),
    ...chosen,
    reason: lineOf(500).optional().describe('Of cancel: why.'),
    take: z.enum(['service', 'warehouse']).optional().describe('Of resolve: whose value counts.'),
  })
  .refine(isOneChosen, oneOf)
  .refine(({decision, take}) => (decision === 'resolve') === (take !== undefined), {
    error: 'expected take with resolve, and with nothing else',
  });

export const decidedSchema = z.object({
  changes: z.array(
    z.object({
      change_id: z.string(),
      state: z.enum(changeStates).nullable().describe('Null where it could not be decided so.'),
      refusal: z.string().nullable().describe('Why not.'),
    }),
  ),
  is_cut: z
    .boolean()
    .describe(`More match than the ${mostDecided} that are decided at once: send the same again.`),
});

export const undoRequestSchema = z.strictObject(chosen).refine(isOneChosen, oneOf);

export const undoneSchema = z.object({
  batch: z.string().describe('The name of the changes that were made: release them by it.'),
  changes: z.array(
    z.object({
      change_id: z.string(),
      outcome: z
        .enum(['cancelled', 'held'])
        .nullable()
        .describe('cancelled: it was not sent; held: undone_by takes it back; null: nothing was done.'),
      undone_by: z.string().nullable(),
      fields: z.array(z.string()).describe('The fields that are written.'),
      refusal: z.string().nullable().describe('What was left, and why.'),
    }),
  ),
});

/** A request, as it was sent. */
interface Asked<Schema extends z.ZodType> {
  readonly body: z.infer<Schema>;
  /** The address it came from. */
  readonly address: string;
}

/** Decides what can be decided, in one transaction. */
export async function decideOverHttp(
  pool: pg.Pool,
  key: AccountKey,
  {
    body: {decision: verb, change_ids: ids, filter: filters = {}, reason, take},
    address,
  }: Asked<typeof decideRequestSchema>,
): Promise<z.infer<typeof decidedSchema>> {
  const {accountId} = key;
  return await inTransaction(pool, async (client) => {
    await decideAs(client, key);
    const found =
      ids === undefined
        ? await listDecidable(client, toWanted(accountId, filters), mostDecided + 1)
        : await readDecidable(client, ids, [accountId]);
    const chosen = found.slice(0, mostDecided);
    const known = chosen.map(({changeId}) => changeId);
    const deciding = {verb, given: take ?? reason ?? null};
    const decided = await decideMany(client, known, deciding);
    const note = noteDecision(chosen, decided, deciding);
    if (known.length > 0) await auditKey(client, key, {...note, action: 'changes.decide', address});
    const changes = decided.map(({changeId, state, refusal}) => ({change_id: changeId, state, refusal}));
    return {changes: [...changes, ...listUnknown(ids ?? [], known)], is_cut: found.length > mostDecided};
  });
}

/** Takes changes back, in one transaction. @throws {Problem} more match than can be taken back at once */
export async function undoOverHttp(
  pool: pg.Pool,
  key: AccountKey,
  {body: {change_ids: ids, filter: filters = {}}, address}: Asked<typeof undoRequestSchema>,
): Promise<z.infer<typeof undoneSchema>> {
  const {accountId} = key;
  return await inTransaction(pool, async (client) => {
    await decideAs(client, key);
    const wanted = ids ?? (await listUndoable(client, toWanted(accountId, filters), mostDecided + 1));
    if (wanted.length > mostDecided)
      throw new Problem(422, 'too-many', {
        detail: `expected at most ${mostDecided} changes at once, and more match`,
        hint: 'Narrow the filter, for example by table or since. Nothing was done.',
      });
    const chosen = await readDecidable(client, wanted, [accountId]);
    const found = chosen.map(({changeId}) => changeId);
    const batch = nameUndo(filters.batch ?? null, new Date());
    const changes = await undoChanges(client, found, batch);
    const note = noteUndo(chosen, {batch, changes});
    if (found.length > 0) await auditKey(client, key, {...note, action: 'changes.undo', address});
    const told = changes.map(({changeId, outcome, undoId, fields, refusal}) => ({
      ...{change_id: changeId, outcome, undone_by: undoId, fields: [...fields], refusal},
    }));
    const unknown = listUnknown(ids ?? [], found).map(({change_id, refusal}) => ({
      ...{change_id, outcome: null, undone_by: null, fields: [], refusal},
    }));
    return {batch, changes: [...told, ...unknown]};
  });
}

/** The key decides, and is an author like any other. */
async function decideAs(client: pg.ClientBase, {name}: AccountKey): Promise<void> {
  await client.query(
    `SELECT set_config('fieldmirror.writer', '', true), set_config('fieldmirror.batch', '', true),
            set_config('fieldmirror.person', $1, true), set_config('application_name', $1, true)`,
    [`http: ${name}`],
  );
}

type Entry = Pick<AuditEntry, 'action' | 'subject' | 'address' | 'before' | 'after'>;

/** The entry of the audit is written in the transaction that decides. */
async function auditKey(
  client: pg.ClientBase,
  {name, role, accountId}: AccountKey,
  entry: Entry,
): Promise<void> {
  await writeAudit(client, {...entry, sessionId: null, name: `http: ${name}`, role, accountId});
}

function listUnknown(asked: readonly string[], known: readonly string[]) {
  const found = new Set(known);
  return [...new Set(asked)]
    .filter((id) => !found.has(id))
    .map((id) => ({change_id: id, state: null, refusal: `change ${id}: there is none of that number`}));
}
