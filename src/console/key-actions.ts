import {z} from 'zod';
import {addApiKey, revokeApiKey} from '../accounts/access.ts';
import {roles} from '../accounts/roles.ts';
import {UsageError} from '../core/errors.ts';
import {checkShortName} from '../core/names.ts';
import {defineAction} from './action.ts';
import {findSeen} from './find-seen.ts';

/** The key itself is in one answer alone. */
export const addKey = defineAction({
  path: '/keys/add',
  name: 'keys.add',
  role: 'admin',
  form: z.object({
    name: z.string().trim(),
    role: z.enum(roles),
    account: z.string().default(''),
    masks: z.enum(['', 'yes']).default(''),
  }),
  act: async (db, {seen, given: {name, role, account, masks}}) => {
    checkShortName(name, 'name');
    const accountId = account === '' || role === 'admin' ? null : findSeen(seen, account).accountId;
    const key = await addApiKey(db, {name, role, accountId, masks: masks === 'yes'});
    if (key === null) throw new UsageError(`there is a key ${name} already, in use or revoked`);
    return {
      subject: `key ${name}`,
      accountId,
      after: {role, masks: masks === 'yes'},
      said: `This is the key ${name}, for a ${role}.`,
      once: key.reveal(),
      to: '/accounts',
    };
  },
});

export const revokeKey = defineAction({
  path: '/keys/:key/revoke',
  name: 'keys.revoke',
  role: 'admin',
  form: z.object({}),
  act: async (db, {params: {key = ''}}) => {
    if (!(await revokeApiKey(db, key))) throw new UsageError(`no key ${key} is in use`);
    return {
      subject: `key ${key}`,
      accountId: null,
      after: {state: 'revoked'},
      said: `Key ${key} opens nothing any more, and its sessions are over.`,
    };
  },
});
