// A primary that hangs closes no connection: its replica takes its place all the same, and the
// queue goes on there.

import {test} from 'vitest';
import {startCluster} from '../support/redis-cluster.ts';
import {startSentinels} from '../support/redis-sentinels.ts';
import {isInstalled} from '../support/redis-server.ts';
import {strikePrimary} from './redis-failover.ts';

test.skipIf(!isInstalled()).each([
  ['a cluster', startCluster],
  ['sentinels', startSentinels],
])(
  'if the primary of %s hangs, no work is lost and the queue continues on its replica',
  {timeout: 240_000},
  async (_, start) => {
    const redises = await start();
    try {
      await strikePrimary(redises, 'SIGSTOP');
    } finally {
      await redises.stop();
    }
  },
);
