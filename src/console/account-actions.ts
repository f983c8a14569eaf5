import {z} from 'zod';
import {pauseAccount, resumeAccount} from '../accounts/accounts.ts';
import {UsageError} from '../core/errors.ts';
import {defineAction} from './action.ts';
import {findSeen} from './find-seen.ts';

export const pause = defineAction({
  path: '/accounts/:account/pause',
  name: 'accounts.pause',
  role: 'operator',
  form: z.object({reason: z.string().trim().max(500).default('')}),
  act: async (db, {viewer, seen, params, given}) => {
    const account = findSeen(seen, params.account);
    const reason = given.reason === '' ? `paused by ${viewer.name}` : given.reason;
    await pauseAccount(db, account.accountId, reason);
    return {
      subject: `account ${account.name}`,
      accountId: account.accountId,
      before: {state: account.state},
      after: {state: 'paused', reason},
      said: `Account ${account.name} is paused: nothing more of it is begun.`,
    };
  },
});

export const resume = defineAction({
  path: '/accounts/:account/resume',
  name: 'accounts.resume',
  role: 'operator',
  form: z.object({}),
  act: async (db, {seen, params}) => {
    const account = findSeen(seen, params.account);
    await resumeAccount(db, account.accountId);
    return {
      subject: `account ${account.name}`,
      accountId: account.accountId,
      before: {state: account.state, reason: account.stateReason},
      after: {state: 'active'},
      said: `Account ${account.name} goes on.`,
    };
  },
});

/** Asks the service; what was stopped and is answered goes on. */
export const check = defineAction({
  path: '/accounts/:account/check',
  name: 'accounts.check',
  role: 'operator',
  form: z.object({}),
  prepare: async ({seen, params, doings}) =>
    await doings.checkAccount(findSeen(seen, params.account).name),
  act: async (_db, {seen, params}, found) => {
    const {name, accountId} = findSeen(seen, params.account);
    return {subject: `account ${name}`, accountId, after: {found}, said: found};
  },
});

const text = z.string().trim();
const optional = text.transform((given) => (given === '' ? null : given)).default(null);

/**
 * Adds an account, or gives one a new token; the token is tried before it is stored, and is in no
 * answer and no entry.
 */
export const addAccount = defineAction({
  path: '/accounts/add',
  name: 'accounts.add',
  role: 'admin',
  form: z.object({name: text, url: optional, timeZone: optional, token: text}),
  prepare: async ({given, doings}) => {
    if (given.token === '') throw new UsageError('API token: expected one, got nothing');
    return await doings.tryAccount(given);
  },
  act: async (db, _order, {keep, tell}) => {
    const account = await keep(db);
    const {name, accountId, apiUrl, timeZone} = account;
    return {
      subject: `account ${name}`,
      accountId,
      after: {name, apiUrl, timeZone},
      said: `${tell(account)}.`,
    };
  },
});
