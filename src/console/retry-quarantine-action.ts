import {z} from 'zod';
import {UsageError} from '../core/errors.ts';
import {requestSweep} from '../sweeps/sweeps.ts';
import {defineAction} from './action.ts';
import {findEntry} from './find-quarantined.ts';

/**
 * Asks for a record once more by its number, as `fieldmirror quarantine retry` does; a worker
 * carries it.
 */
export const retryQuarantine = defineAction({
  path: '/quarantine/:entry/retry',
  name: 'quarantine.retry',
  role: 'operator',
  form: z.object({}),
  act: async (db, {seen, params}) => {
    const entry = await findEntry(db, seen, params.entry);
    const {quarantineId, accountId, account, stream, number, resolvedAt} = entry;
    const state = seen.find((each) => each.accountId === accountId)?.state;
    if (resolvedAt !== null)
      throw new UsageError(
        `entry ${quarantineId} has left quarantine: ${stream} ${number} was read, or is gone`,
      );
    if (number === null)
      throw new UsageError(
        `entry ${quarantineId}: its number could not be read, so that it cannot be asked for; sweep ${stream} as a whole`,
      );
    if (state !== 'active')
      throw new UsageError(
        `account ${account} is ${state}, so nothing is asked for; resume it first`,
      );
    const {sweepId} = await requestSweep(db, {
      ...{accountId, stream, mode: 'record', recordNumber: number, requestedBy: 'command'},
    });
    return {
      subject: `quarantine ${quarantineId}`,
      accountId,
      after: {sweepId, stream, number},
      said: `Sweep ${sweepId} asks for ${stream} ${number} as soon as a worker is free; this page follows.`,
    };
  },
});
