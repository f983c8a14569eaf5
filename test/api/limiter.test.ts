import {describe, expect, test} from 'vitest';
import {Limiter, type Urgency} from '../../src/api/concurrency.ts';
import {gateSleep, turnOfLoop} from './gates.ts';

/** A limiter with the test's clock and pauses, and requests that run until the test ends them. */
function openLimiter(concurrency: number) {
  const {sleep, slept, wake} = gateSleep();
  const clock = {ms: 0};
  const limiter = new Limiter({concurrency, now: () => clock.ms, sleep});
  const started: string[] = [];
  const running: (() => void)[] = [];
  const run = (name: string, urgency?: Urgency, signal?: AbortSignal) => {
    const request = async () => {
      started.push(name);
      await new Promise<void>((resolve) => running.push(resolve));
      return name;
    };
    return limiter.run(request, {urgency, signal});
  };
  /** Ends the request that has run longest. */
  const endOne = async () => {
    running.shift()?.();
    await turnOfLoop();
  };
  return {limiter, clock, slept, wake, started, running, run, endOne};
}

describe('waiting requests', () => {
  test('start by urgency, and in order of arrival within one urgency', async () => {
    const {started, run, endOne} = openLimiter(1);
    const all = [
      run('first', 'full'),
      run('full 1', 'full'),
      run('fresh 1'),
      run('write 1', 'write-back'),
      run('full 2', 'full'),
      run('write 2', 'write-back'),
      run('fresh 2', 'fresh'),
    ];
    for (let n = 0; n < all.length; n++) await endOne();
    await Promise.all(all);
    expect(started).toEqual([
      'first',
      'write 1',
      'write 2',
      'fresh 1',
      'fresh 2',
      'full 1',
      'full 2',
    ]);
  });

  test('of a full sweep do not delay a write that arrives later', async () => {
    const {started, run, endOne, running} = openLimiter(2);
    const sweep = Array.from({length: 100}, (_, n) => run(`full ${n}`, 'full'));
    await endOne();
    const write = run('write', 'write-back');
    await endOne();
    expect(started).toEqual(['full 0', 'full 1', 'full 2', 'write']);
    while (running.length > 0) await endOne();
    await Promise.all([write, ...sweep]);
  });

  test('fail at once with the reason when they are aborted, and never start', async () => {
    const {started, run, endOne} = openLimiter(1);
    const stop = new AbortController();
    const first = run('first');
    const second = run('second', 'fresh', stop.signal);
    const third = run('third');
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    expect(started).toEqual(['first']);
    await endOne();
    await endOne();
    await Promise.all([first, third]);
    expect(started).toEqual(['first', 'third']);
  });

  test('fail and never start if their signal was already aborted', async () => {
    const {started, run} = openLimiter(1);
    await expect(run('late', 'fresh', AbortSignal.abort(new Error('enough')))).rejects.toThrow(
      'enough',
    );
    await turnOfLoop();
    expect(started).toEqual([]);
  });

  test('are removed when they are aborted: a hold does not pause for them', async () => {
    const {limiter, run, endOne, slept} = openLimiter(1);
    const stop = new AbortController();
    const first = run('first');
    const second = run('second', 'fresh', stop.signal);
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    limiter.hold(5_000);
    await endOne();
    await first;
    expect(slept).toEqual([]);
  });

  test('that already run are not ended by the limiter when their signal aborts', async () => {
    const {run, endOne, started} = openLimiter(1);
    const stop = new AbortController();
    const first = run('first', 'fresh', stop.signal);
    const second = run('second');
    stop.abort(new Error('enough'));
    await turnOfLoop();
    expect(started).toEqual(['first']);
    await endOne();
    expect(await first).toBe('first');
    await endOne();
    await second;
  });

  test('start when the limit rises, and only once fewer run than it allows', async () => {
    const {limiter, started, run, endOne} = openLimiter(2);
    const all = Array.from({length: 6}, (_, n) => run(String(n)));
    expect(started).toHaveLength(2);
    limiter.concurrency = 4;
    expect(started).toHaveLength(4);
    limiter.concurrency = 1;
    for (let n = 0; n < 3; n++) await endOne();
    expect(started).toHaveLength(4);
    await endOne();
    expect(started).toHaveLength(5);
    await endOne();
    await endOne();
    await Promise.all(all);
  });
});

describe('a hold', () => {
  test('delays all requests, even urgent ones, which then start by urgency', async () => {
    const {limiter, started, run, endOne, wake, slept} = openLimiter(1);
    limiter.hold(5_000);
    const all = [run('full', 'full'), run('write', 'write-back')];
    await turnOfLoop();
    expect(started).toEqual([]);
    expect(slept).toEqual([5_000]);
    wake();
    await turnOfLoop();
    await endOne();
    await endOne();
    await Promise.all(all);
    expect(started).toEqual(['write', 'full']);
  });

  test('also delays requests that waited before it, and then releases them', async () => {
    const {limiter, started, run, endOne, wake, slept} = openLimiter(1);
    const all = [run('runs'), run('waits')];
    limiter.hold(5_000);
    await endOne();
    expect(started).toEqual(['runs']);
    expect(slept).toEqual([5_000]);
    wake();
    await turnOfLoop();
    await endOne();
    await Promise.all(all);
    expect(started).toEqual(['runs', 'waits']);
  });

  test('lasts until the latest end that was requested', async () => {
    const {limiter, clock, started, run, endOne, wake, slept} = openLimiter(1);
    limiter.hold(5_000);
    const one = run('one');
    clock.ms = 1_000;
    limiter.hold(3_000);
    limiter.hold(9_000);
    clock.ms = 5_000;
    wake();
    await turnOfLoop();
    expect(started).toEqual([]);
    expect(slept).toEqual([5_000, 5_000]);
    wake();
    await turnOfLoop();
    await endOne();
    expect(await one).toBe('one');
  });

  test.each([[[9_000, 5_000, 3_000]], [[5_000, 9_000, 3_000]], [[3_000, 5_000, 9_000]]])(
    'of %j ms lasts 9 s, in any order of requests',
    async (holds) => {
      const {limiter, started, run, endOne, wake, slept} = openLimiter(1);
      for (const ms of holds) limiter.hold(ms);
      const one = run('one');
      await turnOfLoop();
      expect(slept).toEqual([9_000]);
      expect(started).toEqual([]);
      wake();
      await turnOfLoop();
      await endOne();
      expect(await one).toBe('one');
    },
  );

  test('that delayed no request ends without a pause', async () => {
    const {limiter, clock, started, run, endOne, slept} = openLimiter(1);
    limiter.hold(5_000);
    clock.ms = 5_000;
    const one = run('one');
    await turnOfLoop();
    expect(started).toEqual(['one']);
    await endOne();
    await one;
    expect(slept).toEqual([]);
  });

  test('that follows an ended one delays requests again', async () => {
    const {limiter, clock, started, run, endOne, wake, slept} = openLimiter(1);
    for (const at of [0, 60_000]) {
      clock.ms = at;
      limiter.hold(5_000);
      const one = run(`at ${at}`);
      await turnOfLoop();
      expect(started).not.toContain(`at ${at}`);
      clock.ms = at + 5_000;
      wake();
      await turnOfLoop();
      await endOne();
      await one;
    }
    expect(slept).toEqual([5_000, 5_000]);
  });

  test('does not delay the failure of an aborted request', async () => {
    const {limiter, run} = openLimiter(1);
    limiter.hold(5_000);
    const stop = new AbortController();
    const one = run('one', 'fresh', stop.signal);
    stop.abort(new Error('enough'));
    await expect(one).rejects.toThrow('enough');
  });
});

describe('a stop', () => {
  test('fails waiting and later requests with one error, and lets running ones end', async () => {
    const {limiter, started, run, endOne} = openLimiter(2);
    const runs = [run('a'), run('b')];
    const waits = Array.from({length: 50}, (_, n) => run(`waits ${n}`));
    const error = new Error('the account is stopped');
    limiter.stop(error);
    limiter.stop(new Error('a second reason'));
    for (const one of waits) await expect(one).rejects.toBe(error);
    await expect(run('later', 'write-back')).rejects.toBe(error);
    await endOne();
    await endOne();
    expect(await Promise.all(runs)).toEqual(['a', 'b']);
    expect(started).toEqual(['a', 'b']);
  });

  test('also fails requests that a hold delays, and none of them starts', async () => {
    const {limiter, started, run, wake} = openLimiter(4);
    limiter.hold(1_000);
    const waits = Array.from({length: 8}, (_, n) => run(`waits ${n}`));
    const error = new Error('the account is stopped');
    const failures = waits.map((one) => expect(one).rejects.toBe(error));
    limiter.stop(error);
    wake();
    await Promise.all(failures);
    expect(started).toEqual([]);
  });
});
