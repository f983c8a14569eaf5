import {expect, test} from 'vitest';
import {Outage} from '../../jobs/queue.ts';
import {poll} from '../../jobs/workers.ts';
import {NoRoomError, RetryableError} from '../../src/core/errors.ts';
import {createLogger} from '../../src/core/log.ts';

const outage = new Outage(createLogger({level: 'silent', secrets: []}));
/** Any failed round is one too many, unless failures do not count. */
const times = {roundMs: 0, outOfReachMs: -1};

test('a warehouse that is out of reach for too long ends the process', async () => {
  const round = async () => {
    throw new RetryableError('nothing listens there');
  };
  const {signal} = new AbortController();
  await expect(poll(round, {outage, signal, times})).rejects.toThrow(
    /out of reach.*nothing listens there/,
  );
});

test.each([
  ['whose disk is full', new NoRoomError('its disk is full')],
  [
    'that somebody else has locked',
    new RetryableError('a lock was not free in time', {kind: 'locked'}),
  ],
])('the poller keeps waiting for a warehouse %s', async (_what, failure) => {
  const stopping = new AbortController();
  const isBack = Promise.withResolvers<'is back'>();
  let rounds = 0;
  const round = async () => {
    if (++rounds <= 5) throw failure;
    isBack.resolve('is back');
  };
  const broken = poll(round, {outage, signal: stopping.signal, times});
  expect(await Promise.race([broken, isBack.promise])).toBe('is back');
  stopping.abort();
});
