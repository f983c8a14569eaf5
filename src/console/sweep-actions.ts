import {z} from 'zod';
import {allStreams} from '../streams/all.ts';
import {letThrough, readSweep, requestSweep, tellLetThrough} from '../sweeps/sweeps.ts';
import {defineAction} from './action.ts';
import {findSeen} from './find-seen.ts';
import {notThere} from './refused.ts';

const streams = allStreams.map(({name}) => name);

export const sweepNow = defineAction({
  path: '/accounts/:account/sweep',
  name: 'sweeps.request',
  role: 'operator',
  form: z.object({stream: z.enum(streams as [string, ...string[]])}),
  act: async (db, {seen, params, given: {stream}}) => {
    const account = findSeen(seen, params.account);
    const {sweepId} = await requestSweep(db, {
      ...{accountId: account.accountId, stream, mode: 'full', requestedBy: 'command'},
    });
    return {
      subject: `sweep ${sweepId} of ${stream}`,
      accountId: account.accountId,
      after: {sweepId, stream, mode: 'full'},
      said: `Sweep ${sweepId} of ${stream} is due: a worker takes it up within seconds.`,
      to: `/sweeps/${sweepId}`,
    };
  },
});

export const approve = defineAction({
  path: '/sweeps/:sweepId/approve',
  name: 'sweeps.approve',
  role: 'operator',
  form: z.object({}),
  act: async (db, {seen, params}) => {
    const sweepId = params.sweepId ?? '';
    const sweep = /^[1-9]\d{0,17}$/.test(sweepId) ? await readSweep(db, sweepId) : null;
    if (sweep === null || !seen.some(({accountId}) => accountId === sweep.accountId))
      throw notThere(`sweep ${JSON.stringify(sweepId)}`);
    const approved = await letThrough(db, sweep);
    return {
      subject: `sweep ${sweepId}`,
      accountId: sweep.accountId,
      before: {state: sweep.state, reasons: sweep.reasons},
      after: {state: approved.state},
      said: `${tellLetThrough(approved)}.`,
    };
  },
});
