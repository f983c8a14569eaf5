// Subscribers of the feed that take nothing, as a person decides on them: `hooks retry` and
// `hooks skip` of the terminal.

import {z} from 'zod';
import {UsageError} from '../core/errors.ts';
import {
  deleteDeadLetter,
  readDeadLetter,
  refuseWaiting,
  retryHook,
  skipBatch,
} from '../feed/dead-letters.ts';
import {type FeedHook, listHooks} from '../feed/feed-hooks.ts';
import type {Queryable} from '../postgres/database.ts';
import {defineAction, type Order} from './action.ts';
import {notThere} from './refused.ts';

const nothing = z.object({});

/** A worker sends the message that was not taken again at once; one that was stopped goes on. */
export const sendAgain = defineAction({
  path: '/alerts/hooks/:hook/retry',
  name: 'hooks.retry',
  role: 'admin',
  form: nothing,
  act: async (db, {params}) => {
    const hook = await findHook(db, params);
    refuseWaiting(hook);
    await retryHook(db, hook.name, null);
    return {
      ...describe(hook),
      after: {state: 'due'},
      said: `${hook.name} is sent its message again at once.`,
    };
  },
});

/** The message that was not taken becomes a dead letter, and the subscriber goes on behind it. */
export const passOver = defineAction({
  path: '/alerts/hooks/:hook/skip',
  name: 'hooks.skip',
  role: 'admin',
  form: nothing,
  act: async (db, {params}) => {
    const hook = await findHook(db, params);
    const letterId = await skipBatch(db, hook.name);
    if (letterId === null)
      throw new UsageError(`expected a message that ${hook.name} does not take, got none`);
    return {
      ...describe(hook),
      after: {state: 'due', letter: letterId},
      said: `${hook.name} goes on behind the message, which is dead letter ${letterId} now.`,
    };
  },
});

/**
 * Sends a dead letter before the transaction: where it is not taken it stays, and nothing stands in
 * the audit.
 */
export const sendLetter = defineAction({
  path: '/alerts/hooks/:hook/letters/:letter/retry',
  name: 'hooks.retry-letter',
  role: 'admin',
  form: nothing,
  prepare: async ({params, doings}) =>
    await doings.sendLetter(params.hook ?? '', numberOfLetter(params)),
  act: async (db, {params}, answer) => {
    const hook = await findHook(db, params);
    const letterId = numberOfLetter(params);
    await deleteDeadLetter(db, letterId);
    return {
      subject: `dead letter ${letterId} of subscriber ${hook.name}`,
      accountId: hook.accountId,
      after: {answer},
      said: answer,
    };
  },
});

/** A dead letter is dropped for good. */
export const dropLetter = defineAction({
  path: '/alerts/hooks/:hook/letters/:letter/skip',
  name: 'hooks.skip-letter',
  role: 'admin',
  form: nothing,
  act: async (db, {params}) => {
    const hook = await findHook(db, params);
    const letterId = numberOfLetter(params);
    const letter = await readDeadLetter(db, {name: hook.name, letterId});
    if (letter === null) throw notThere(`dead letter ${letterId} of ${hook.name}`);
    await deleteDeadLetter(db, letterId);
    const {cursor, batchTo} = letter;
    return {
      subject: `dead letter ${letterId} of subscriber ${hook.name}`,
      accountId: hook.accountId,
      before: {after: cursor, to: batchTo},
      after: {state: 'dropped'},
      said: `Dead letter ${letterId} of ${hook.name} is dropped.`,
    };
  },
});

type Params = Order<unknown>['params'];

/** @throws {Refused} there is none of that name */
async function findHook(db: Queryable, {hook: name = ''}: Params): Promise<FeedHook> {
  const hook = (await listHooks(db)).find((each) => each.name === name);
  if (hook === undefined) throw notThere(`subscriber ${JSON.stringify(name)}`);
  return hook;
}

/** @throws {Refused} no number of a letter */
function numberOfLetter({letter = ''}: Params): string {
  if (!/^\d{1,18}$/.test(letter)) throw notThere(`dead letter ${JSON.stringify(letter)}`);
  return letter;
}

/** A subscriber before it is decided on, for the audit. */
function describe({name, accountId, cursor, attempts, stoppedAt, lastError}: FeedHook) {
  const state = stoppedAt === null ? 'failing' : 'stopped';
  return {
    subject: `subscriber ${name}`,
    accountId,
    before: {state, cursor, attempts, lastError},
  };
}
