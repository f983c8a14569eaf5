// The next step of a change, what it depends on, and the commands that a person can give.

import {type Account, listRecoveryCommands} from '../accounts/accounts.ts';
import {formatAhead, showSecond} from '../core/format.ts';
import type {Queryable} from '../postgres/database.ts';
import {
  type Change,
  type FieldConflict,
  listOvertaken,
  readChanges,
  readConflictsOf,
} from './change.ts';
import type {PlainVerb} from './decisions.ts';
import {readAlterations, type SavedAlteration} from './move-changes.ts';
import {nameState} from './states.ts';

/** Facts about a change beside its row. */
export interface Circumstances {
  readonly account: Pick<Account, 'name' | 'state' | 'stateReason' | 'keyId'>;
  /** The change it waits for. */
  readonly blocker: Change | null;
  readonly conflicts: readonly FieldConflict[];
  readonly alterations: readonly SavedAlteration[];
  /** Whether a later change of the same record came after it. */
  readonly isOvertaken: boolean;
  /** ISO 8601, by the database's clock. */
  readonly now: string;
}

/** The action of a command, for an interface that has buttons and links in place of a terminal. */
type Move =
  | {readonly verb: PlainVerb}
  | {readonly decision: ConflictDecision}
  /** Shows another change. */
  | {readonly shows: string}
  /** Lists the changes of a state. */
  | {readonly lists: 'altered'};

export interface Command {
  readonly command: string;
  readonly does: string;
  /** Null for a command that is about more than changes. */
  readonly move: Move | null;
}

export interface NextStep {
  readonly text: string;
  /** Words of a person or of the service, shown behind ours; null if there are none. */
  readonly note: string | null;
  readonly commands: readonly Command[];
}

/** @returns null for a change that takes no further step */
export function findNextStep(change: Change, circumstances: Circumstances): NextStep | null {
  switch (change.state) {
    case 'done':
      return findStepWhenDone(change, circumstances);
    case 'held':
      return findStepWhenHeld(change);
    case 'pending':
      return findStepWhenPending(change, circumstances);
    case 'sending':
      return buildStep(
        isPast(change.leaseUntil, circumstances.now)
          ? 'its worker was lost: the next one finds out by reading whether it arrived'
          : 'its worker waits for the answer',
      );
    case 'in_doubt':
      return findStepInDoubt(change, circumstances);
    case 'conflict':
      return findStepInConflict(change, circumstances);
    case 'rejected':
      return findStepWhenRejected(change, circumstances);
    default:
      return null;
  }
}

/** A person's decision on a change in conflict, as sync.resolve_change takes it. */
export type ConflictDecision = 'take service' | 'take warehouse' | 'adopt NUMBER' | 'resend';

/** The decisions that are possible, the safest first. */
export function listDecisions(
  {operation}: Change,
  conflicts: readonly FieldConflict[],
): ConflictDecision[] {
  if (conflicts.some(({winner}) => winner === null)) return ['take service', 'take warehouse'];
  if (operation === 'create') return ['adopt NUMBER', 'resend', 'take service'];
  return operation === 'delete' ? ['take service', 'resend'] : ['take service'];
}

/** The fields that both sides changed and that no person has decided. */
export function listConflictingFields(conflicts: readonly FieldConflict[]): string[] {
  return conflicts.flatMap(({field, winner}) => (winner === null ? [field] : []));
}

function findStepInConflict(change: Change, {conflicts}: Circumstances): NextStep {
  const {changeId, fields} = change;
  const conflictingFields = listConflictingFields(conflicts);
  const hasOnlyConflicts = Object.keys(fields).every((field) => conflictingFields.includes(field));
  const meanings: Readonly<Record<ConflictDecision, string>> = {
    'take service':
      conflictingFields.length === 0 || hasOnlyConflicts
        ? 'gives this up, and keeps what the service holds'
        : `keeps the service's ${conflictingFields.join(', ')}, and sends the rest`,
    'take warehouse': 'sends what is wanted here all the same',
    'adopt NUMBER': 'says which record it became',
    resend: 'sends it again',
  };
  const decisions = listDecisions(change, conflicts);
  return buildStep(
    'a person decides',
    decisions.map((decision) =>
      buildCommand(`changes resolve ${changeId} --${decision}`, meanings[decision], {decision}),
    ),
  );
}

function findStepWhenPending(change: Change, {account, blocker, now}: Circumstances): NextStep {
  const {changeId, leaseUntil, dueAt} = change;
  if (leaseUntil !== null && !isPast(leaseUntil, now)) return buildStep('a worker has it');
  if (blocker !== null) return findStepWhenBlocked(changeId, blocker);
  if (account.state !== 'active') return findStepWhenIdle(account);
  if (isPast(dueAt, now))
    return buildStep('it is sent as soon as a worker takes it up', [
      buildCommand('push', 'sends it here and now'),
      buildCancel(changeId),
    ]);
  return buildStep(`tried again at ${showSecond(dueAt)} (${formatAhead(dueAt, now)})`, [
    buildDecision('retry', changeId, 'makes it due at once'),
    buildCancel(changeId),
  ]);
}

function findStepWhenBlocked(changeId: string, blocker: Change): NextStep {
  const show = buildCommand(`changes show ${blocker.changeId}`, 'shows what that change needs', {
    shows: blocker.changeId,
  });
  if (blocker.state === 'rejected')
    return buildStep(
      `change ${blocker.changeId} was refused: it is sent once that change is fixed and done`,
      [show, buildCancel(changeId)],
    );
  return buildStep(
    `it is sent once change ${blocker.changeId} is done, which is ${nameState(blocker.state)} now`,
    [show, buildCancel(changeId)],
  );
}

function findStepWhenIdle(account: Circumstances['account']): NextStep {
  const {name, state, stateReason} = account;
  const commands = listRecoveryCommands(account).map(([command, does]) =>
    buildCommand(command, does),
  );
  return {
    ...buildStep(`account ${name} is ${state}: nothing of it is sent`, commands),
    note: stateReason,
  };
}

function findStepInDoubt({changeId, dueAt}: Change, {account, now}: Circumstances): NextStep {
  if (account.state !== 'active') return findStepWhenIdle(account);
  if (isPast(dueAt, now))
    return buildStep('a worker reads whether it arrived, as soon as one takes it up', [
      buildCommand('push', 'checks here and now'),
    ]);
  return buildStep(
    `a worker checks at ${showSecond(dueAt)} (${formatAhead(dueAt, now)}) whether it arrived`,
    [buildDecision('retry', changeId, 'has it checked at once')],
  );
}

function findStepWhenDone(
  {changeId, table}: Change,
  {alterations}: Circumstances,
): NextStep | null {
  const openAlterations = alterations.filter(({acceptedAt}) => acceptedAt === null);
  if (openAlterations.length === 0) return null;
  const stoppedKinds = openAlterations.flatMap(({kind, isStop}) => (isStop ? [kind] : []));
  const holdText =
    stoppedKinds.length === 0
      ? ''
      : `; further changes of ${stoppedKinds.join(', ')} are held until then`;
  return buildStep(
    `a person checks whether the service understood it${holdText}. To put it right: ` +
      `UPDATE warehouse.${table} again`,
    [buildDecision('accept', changeId, 'says that a person has checked it')],
  );
}

function findStepWhenHeld(change: Change): NextStep {
  const {changeId, heldFor, isLarge, transactionId} = change;
  if (heldFor !== null) return findStepWhenStopped(change);
  const transactionFilter = `--state held --transaction ${transactionId}`;
  return buildStep('nothing is sent until a person releases it', [
    buildDecision('release', changeId, 'sends it'),
    buildCancel(changeId),
    ...(isLarge !== true
      ? []
      : [
          buildCommand(
            `changes release ${transactionFilter}`,
            'sends all that its transaction changed',
          ),
          buildCommand(
            `changes cancel ${transactionFilter}`,
            'gives up all that its transaction changed',
          ),
        ]),
  ]);
}

function findStepWhenStopped({changeId, heldFor}: Change): NextStep {
  return buildStep(`it is sent once a person has checked what the service made of ${heldFor}`, [
    buildCommand('changes list --state altered', 'shows what it altered', {lists: 'altered'}),
    buildCancel(changeId),
  ]);
}

function findStepWhenRejected(
  {changeId, table, operation}: Change,
  {isOvertaken}: Circumstances,
): NextStep {
  if (isOvertaken)
    return buildStep('nothing: a later change of the record came after it', [
      buildCancel(changeId),
    ]);
  const nextStep =
    operation === 'create'
      ? `UPDATE the row in warehouse.${table}: it is created as it is then`
      : `the row holds what it held before; UPDATE warehouse.${table} to try something else`;
  return buildStep(nextStep, [
    buildDecision('retry', changeId, 'sends the same again'),
    buildCancel(changeId),
  ]);
}

function buildCancel(changeId: string): Command {
  return buildDecision('cancel', changeId, 'gives it up');
}

function buildDecision(verb: PlainVerb, changeId: string, does: string): Command {
  return buildCommand(`changes ${verb} ${changeId}`, does, {verb});
}

/** @param command - without the name of the program */
function buildCommand(command: string, does: string, move: Move | null = null): Command {
  return {command: `fieldmirror ${command}`, does, move};
}

function isPast(instant: string | null, now: string): boolean {
  return instant === null || Date.parse(instant) <= Date.parse(now);
}

function buildStep(text: string, commands: readonly Command[] = []): NextStep {
  return {text, note: null, commands};
}

/**
 * Reads what the next steps of changes depend on, by change: a few statements for all of them.
 * @param accounts - at least those of the changes
 */
export async function readCircumstances(
  db: Queryable,
  changes: readonly Change[],
  accounts: readonly Account[],
): Promise<ReadonlyMap<string, Circumstances>> {
  const ids = changes.map(({changeId}) => changeId);
  const blockers = await readChanges(
    db,
    changes.flatMap(({waitsFor}) => (waitsFor === null ? [] : [waitsFor])),
  );
  const conflicts = await readConflictsOf(db, ids);
  const alterations = await readAlterations(db, ids);
  const overtaken = await listOvertaken(db, ids);
  const {rows} = await db.query<{now: string}>('SELECT now() AS now');
  return new Map(
    changes.map(({changeId, accountId, waitsFor}) => {
      const account = accounts.find((candidate) => candidate.accountId === accountId);
      if (account === undefined)
        throw new TypeError(`change ${changeId}: every change has its account`);
      const circumstances = {
        account,
        blocker: waitsFor === null ? null : (blockers.get(waitsFor) ?? null),
        conflicts: conflicts.get(changeId) ?? [],
        alterations: alterations.get(changeId) ?? [],
        isOvertaken: overtaken.has(changeId),
        now: rows[0]?.now ?? '',
      };
      return [changeId, circumstances];
    }),
  );
}
