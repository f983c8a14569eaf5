import {z} from 'zod';
import {pauseAccount, resumeAccount} from '../../../warehouse/accounts/accounts.ts';
import {defineAction} from '../action.ts';
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
