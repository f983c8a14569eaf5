import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {type Every, Lease, Leases} from '../../src/core/lease.ts';

const leaseMs = 30_000;

/**
 * The two clocks: the monotonic one stands still while the machine sleeps, the wall clock may be
 * set.
 */
let monotonicMs: number;
let wallMs: number;
const clocks = () => [monotonicMs, wallMs];

function pass(ms: number): void {
  monotonicMs += ms;
  wallMs += ms;
}

beforeEach(() => {
  monotonicMs = 1_000;
  wallMs = 1_800_000_000_000;
});

describe('a lease', () => {
  const take = () => new Lease(clocks, {since: clocks(), leaseMs});

  test.each([
    ['at once', 0, 0, true],
    ['until just before its end', leaseMs - 1, leaseMs - 1, true],
    ['not at its end', leaseMs, leaseMs, false],
    [
      'not when the machine was suspended past its end, and only the wall clock advanced',
      5,
      leaseMs,
      false,
    ],
    [
      'not when the wall clock was set back, and the monotonic clock reached its end',
      leaseMs,
      -3_600_000,
      false,
    ],
    ['when the wall clock was set back and little time passed', 5, -3_600_000, true],
  ])('is held %s', (_, monotonic, wall, isHeld) => {
    const lease = take();
    monotonicMs += monotonic;
    wallMs += wall;
    expect(lease.isHeld()).toBe(isHeld);
  });

  test('runs from before its claim was sent, so a slow claim does not extend it', () => {
    const since = clocks();
    pass(leaseMs - 1_000);
    const lease = new Lease(clocks, {since, leaseMs});
    expect(lease.isHeld()).toBe(true);
    pass(1_000);
    expect(lease.isHeld()).toBe(false);
  });

  test('that expired is not lost, and is held again after a renewal', () => {
    const lease = take();
    pass(2 * leaseMs);
    expect(lease.isHeld()).toBe(false);
    expect(lease.lost.aborted).toBe(false);
    lease.renew(clocks());
    expect(lease.isHeld()).toBe(true);
  });

  test('is not shortened by an older renewal that arrives late', () => {
    const lease = take();
    const early = clocks();
    pass(20_000);
    lease.renew(clocks());
    lease.renew(early);
    pass(20_000);
    expect(lease.isHeld()).toBe(true);
  });

  test('that is lost stays lost, and aborts its work with the reason', () => {
    const lease = take();
    lease.lose(new Error('another worker has it'));
    lease.renew(clocks());
    expect(lease.isHeld()).toBe(false);
    expect(() => lease.lost.throwIfAborted()).toThrow('another worker has it');
  });
});

describe('leases that are renewed together', () => {
  /** A question to the database, with an answer that the test gives. */
  interface Asked extends PromiseWithResolvers<readonly (boolean | null)[]> {
    readonly things: readonly string[];
  }
  let asked: Asked[];
  let periods: number[];
  let tick: (() => void) | null;
  let leases: Leases<string>;

  const every: Every = (ms, work) => {
    periods.push(ms);
    tick = work;
    return () => {
      tick = null;
    };
  };

  beforeEach(() => {
    asked = [];
    periods = [];
    leases = new Leases<string>({
      leaseMs,
      clocks,
      every,
      renew: async (things) => {
        const question = {things, ...Promise.withResolvers<readonly (boolean | null)[]>()};
        asked.push(question);
        return await question.promise;
      },
      toLoss: (thing) => new Error(`${thing} was lost`),
    });
  });
  afterEach(() => leases.close());

  /** Lets a renewal be requested, and its answer be taken in. */
  async function renew(answer: readonly (boolean | null)[] | Error): Promise<void> {
    tick?.();
    const question = asked.at(-1);
    if (answer instanceof Error) question?.reject(answer);
    else question?.resolve(answer);
    await new Promise(setImmediate);
  }

  test('are renewed three times per lease time, in one request', async () => {
    tick?.();
    expect(asked).toEqual([]);
    leases.hold('change 1', clocks());
    leases.hold('change 2', clocks());
    tick?.();
    expect(periods).toEqual([leaseMs / 3]);
    expect(asked.map(({things}) => things)).toEqual([['change 1', 'change 2']]);
  });

  test('run from the request of the renewal, not from its answer', async () => {
    const lease = leases.hold('change 1', clocks());
    pass(10_000);
    tick?.();
    pass(15_000);
    asked[0]?.resolve([true]);
    await new Promise(setImmediate);
    pass(10_000);
    expect(lease.isHeld()).toBe(true);
    pass(5_000);
    expect(lease.isHeld()).toBe(false);
  });

  test('are neither extended nor lost when a renewal fails', async () => {
    const lease = leases.hold('change 1', clocks());
    pass(20_000);
    await renew(new Error('no connection'));
    expect([lease.isHeld(), lease.lost.aborted]).toEqual([true, false]);
    pass(10_000);
    expect([lease.isHeld(), lease.lost.aborted]).toEqual([false, false]);
    await renew([true]);
    expect([lease.isHeld(), lease.lost.aborted]).toEqual([true, false]);
  });

  test('are neither extended nor lost if the database cannot decide now', async () => {
    const [one, other] = ['change 1', 'change 2'].map((thing) => leases.hold(thing, clocks()));
    pass(20_000);
    await renew([null, true]);
    pass(10_000);
    expect([one?.isHeld(), one?.lost.aborted, other?.isHeld()]).toEqual([false, false, true]);
  });

  test('abort only the work whose lease the database gave to another holder', async () => {
    const [one, other] = ['change 1', 'change 2'].map((thing) => leases.hold(thing, clocks()));
    await renew([false, true]);
    expect(one?.lost.reason).toEqual(new Error('change 1 was lost'));
    expect([one?.isHeld(), other?.isHeld(), other?.lost.aborted]).toEqual([false, true, false]);
  });

  test('that expired during sleep are held again if the database confirms them', async () => {
    const [one, other] = ['change 1', 'change 2'].map((thing) => leases.hold(thing, clocks()));
    wallMs += 10 * leaseMs;
    expect([one?.isHeld(), other?.isHeld()]).toEqual([false, false]);
    await renew([true, false]);
    expect([one?.isHeld(), other?.isHeld()]).toEqual([true, false]);
    expect([one?.lost.aborted, other?.lost.aborted]).toEqual([false, true]);
  });

  test('are not renewed after a release, and none is renewed after closing', async () => {
    leases.hold('change 1', clocks());
    leases.hold('change 2', clocks());
    leases.release('change 1');
    tick?.();
    expect(asked.map(({things}) => things)).toEqual([['change 2']]);
    leases.close();
    expect(tick).toBeNull();
  });
});
