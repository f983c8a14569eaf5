import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {
  type BegunCall,
  type ConcurrencyBounds,
  DEFAULT_CONCURRENCY,
  LearnedConcurrency,
  type Load,
} from '../../src/api/concurrency.ts';

const KIND = 'GET /jobs.xml';

/** A learned concurrency, and requests that fill it: as each ends, the next begins. */
function fullLine(limits: Partial<ConcurrencyBounds> = {}) {
  const learned = new LearnedConcurrency({...DEFAULT_CONCURRENCY, ...limits});
  const running: BegunCall[] = [];
  let nowMs = 0;
  const fill = () => {
    while (running.length < learned.concurrency) running.push(learned.begin(nowMs));
  };
  fill();
  /** Ends so many of the oldest requests, each after so long, and fills up. */
  const end = (count: number, load: Load = 'in-time', ms = 50) => {
    for (let n = 0; n < count; n++) {
      const begun = running.shift();
      if (begun === undefined) throw new Error('nothing is running');
      nowMs = Math.max(nowMs, begun.atMs + ms);
      learned.end(begun, {load, kind: KIND}, begun.atMs + ms);
      fill();
    }
    return learned.concurrency;
  };
  return {learned, running, end};
}

/** Grows the concurrency so far. */
function grownTo(concurrency: number) {
  const full = fullLine({max: concurrency});
  while (full.learned.concurrency < concurrency) full.end(1);
  return full;
}

describe('the learned concurrency of an account', () => {
  test('begins at four, or at a lower maximum', () => {
    expect(new LearnedConcurrency(DEFAULT_CONCURRENCY).concurrency).toBe(4);
    expect(new LearnedConcurrency({...DEFAULT_CONCURRENCY, max: 2}).concurrency).toBe(2);
  });

  test('grows by one with every second answer in time until the first overload', () => {
    const {end} = fullLine();
    expect(end(1)).toBe(4);
    expect(end(1)).toBe(5);
    expect(end(22)).toBe(16);
  });

  test('after an overload, grows by one after as many timely answers as it allows', () => {
    const {end} = grownTo(8);
    end(8, 'too-much');
    expect(end(3)).toBe(4);
    expect(end(1)).toBe(5);
    expect(end(4)).toBe(5);
    expect(end(1)).toBe(6);
  });

  test('grows to its maximum and no further', () => {
    const {end} = fullLine({max: 6});
    expect(end(100)).toBe(6);
  });

  test('does not grow while fewer requests run than it allows', () => {
    const learned = new LearnedConcurrency(DEFAULT_CONCURRENCY);
    for (let n = 0; n < 100; n++)
      learned.end(learned.begin(n), {load: 'in-time', kind: KIND}, n + 1);
    expect(learned.concurrency).toBe(4);
  });

  test('does not grow while one request less runs than it allows', () => {
    const learned = new LearnedConcurrency(DEFAULT_CONCURRENCY);
    const running = [1, 2, 3].map((n) => learned.begin(n));
    for (let n = 4; n < 100; n++) {
      const oldest = running.shift();
      if (oldest !== undefined) learned.end(oldest, {load: 'in-time', kind: KIND}, n);
      running.push(learned.begin(n));
    }
    expect(learned.concurrency).toBe(4);
  });

  test('answers in time before an overload do not count after it', () => {
    const {end} = fullLine();
    end(1);
    expect(end(1, 'too-much')).toBe(2);
    // The requests that had begun earlier.
    end(3, 'unknown');
    expect(end(1)).toBe(2);
    expect(end(1)).toBe(3);
  });

  test('halves on each overload, down to one', () => {
    const {learned, running, end} = grownTo(9);
    const levels: number[] = [];
    while (levels.length < 5) {
      levels.push(end(1, 'too-much'));
      // The requests that began before end, too, and say nothing new.
      end(running.length, 'unknown');
    }
    expect(levels).toEqual([4, 2, 1, 1, 1]);
    expect(learned.concurrency).toBe(1);
  });

  test('halves once for a burst of refusals: earlier requests do not count again', () => {
    const {end} = grownTo(16);
    expect(end(16, 'too-much')).toBe(8);
    expect(end(1, 'too-much')).toBe(4);
  });

  test('does not grow on answers to requests that began before it halved', () => {
    const {end} = grownTo(8);
    expect(end(1, 'too-much')).toBe(4);
    expect(end(7)).toBe(4);
    expect(end(4)).toBe(5);
  });

  test('does not change on answers with an unknown load', () => {
    expect(fullLine().end(100, 'unknown')).toBe(4);
  });

  test('halves when answers become slow as it grows, and settles near the capacity', () => {
    // A service that works on five at once, in 400 ms each: further ones only wait for one another.
    const {running, end} = fullLine();
    const levels: number[] = [];
    for (let n = 0; n < 2_000; n++)
      levels.push(end(1, 'in-time', 400 * Math.max(1, running.length / 5)));
    const settled = levels.slice(levels.findIndex((level, at) => level < (levels[at - 1] ?? 0)));
    expect(Math.max(...settled)).toBeGreaterThanOrEqual(8);
    expect(Math.max(...settled)).toBeLessThanOrEqual(13);
    expect(Math.min(...levels.slice(500))).toBeGreaterThanOrEqual(4);
  });

  test('does not halve when answers slow down from 1 ms to 200 ms', () => {
    const {end} = fullLine();
    end(20, 'in-time', 1);
    expect(end(1_000, 'in-time', 200)).toBe(16);
  });

  test('stays in bounds, grows by one and halves once a round for any sequence of answers', () => {
    const step = fc.record({
      isBegin: fc.boolean(),
      which: fc.nat(),
      load: fc.constantFrom<Load>('in-time', 'in-time', 'in-time', 'too-much', 'unknown'),
      ms: fc.nat({max: 5_000}),
      kind: fc.constantFrom('a', 'b'),
    });
    const limits = fc.record({
      initial: fc.integer({min: 1, max: 20}),
      max: fc.integer({min: 1, max: 20}),
    });
    fc.assert(
      fc.property(limits, fc.array(step, {maxLength: 400}), (bounds, steps) => {
        const learned = new LearnedConcurrency(bounds);
        const running: {begun: BegunCall; halvings: number}[] = [];
        let halvings = 0;
        for (const [nowMs, {isBegin, which, load, ms, kind}] of steps.entries()) {
          if (isBegin || running.length === 0) {
            running.push({begun: learned.begin(nowMs), halvings});
            continue;
          }
          const [ended] = running.splice(which % running.length, 1);
          if (ended === undefined) continue;
          const before = learned.concurrency;
          learned.end(ended.begun, {load, kind}, ended.begun.atMs + ms);
          const after = learned.concurrency;
          expect(after).toBeGreaterThanOrEqual(1);
          expect(after).toBeLessThanOrEqual(bounds.max);
          if (load === 'unknown' || ended.halvings !== halvings) expect(after).toBe(before);
          else if (load === 'too-much') expect(after).toBe(Math.max(1, Math.floor(before / 2)));
          else expect([before, before + 1, Math.max(1, Math.floor(before / 2))]).toContain(after);
          if (load === 'too-much' && ended.halvings === halvings) halvings++;
          else if (after < before) halvings++;
        }
      }),
    );
  });
});
