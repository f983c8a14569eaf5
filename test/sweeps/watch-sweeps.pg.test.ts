import {afterAll, beforeAll, expect, test} from 'vitest';
import {pauseAccount, resumeAccount, stopAccount} from '../../src/accounts/accounts.ts';
import {watchProgress} from '../../src/cli/progress.ts';
import {watchSweeps} from '../../src/cli/sync.ts';
import {requestSweep} from '../../src/sweeps/sweeps.ts';
import {openWorld, type TestWorld} from '../support/world.ts';

let world: TestWorld;

beforeAll(async () => {
  world = await openWorld({url: 'http://127.0.0.1:9', token: 'nobody'});
});

afterAll(async () => await world.close());

test.each([
  ['stopped', 'the token was refused', /^the token was refused$/],
  ['paused', null, /^account test is paused; fieldmirror accounts resume test$/],
])(
  'sync does not wait for a sweep of an account that was %s before the request',
  async (_, reason, words) => {
    const {pool, account} = world;
    const {accountId} = account;
    await resumeAccount(pool, accountId);
    await (reason === null
      ? pauseAccount(pool, accountId, null)
      : stopAccount(pool, accountId, reason));
    const asked = {accountId, stream: 'jobs', mode: 'full', requestedBy: 'command'} as const;
    const {sweepId} = await requestSweep(pool, asked);
    const watch = {progress: watchProgress(true), signal: AbortSignal.timeout(20_000)};
    expect(await watchSweeps(world, [sweepId], watch)).toMatchObject([
      {state: 'failed', error: expect.stringMatching(words)},
    ]);
  },
);
