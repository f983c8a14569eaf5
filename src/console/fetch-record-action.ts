import {z} from 'zod';
import {UsageError} from '../core/errors.ts';
import {requestSweep} from '../sweeps/sweeps.ts';
import {defineAction} from './action.ts';
import {readAddress} from './find-record.ts';
import {findSeen} from './find-seen.ts';

/** Asks for a sweep of one record, as `fieldmirror sync STREAM --record N` does. */
export const fetchRecord = defineAction({
  path: '/records/:stream/:number/fetch',
  name: 'records.fetch',
  role: 'operator',
  form: z.object({account: z.string()}),
  act: async (db, {seen, params, given}) => {
    const {stream, ...place} = readAddress(params);
    const {accountId, name, state} = findSeen(seen, given.account);
    if (!('number' in place))
      throw new UsageError(`row ${place.rowId} of ${stream.name} has no number yet to ask for`);
    if (state !== 'active')
      throw new UsageError(`account ${name} is ${state}, so nothing is asked for; resume it first`);
    const {number: recordNumber} = place;
    const sweep = await requestSweep(db, {
      ...{accountId, stream: stream.name, mode: 'record', recordNumber, requestedBy: 'command'},
    });
    return {
      subject: `${stream.name} ${recordNumber}`,
      accountId,
      after: {sweepId: sweep.sweepId},
      said: `Sweep ${sweep.sweepId} fetches it as soon as a worker is free; this page follows.`,
    };
  },
});
