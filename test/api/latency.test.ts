import {describe, expect, test} from 'vitest';
import {classifyRequest, Latency} from '../../src/api/concurrency.ts';

/** Takes in one answer after another; true when the last one is slow. */
function takeIn(
  latency: Latency,
  running: number,
  answers: readonly number[],
  kind = 'list',
): boolean {
  return answers.map((ms) => latency.isSlow(kind, ms, running)).at(-1) ?? false;
}

const eight = (ms: number) => Array.from({length: 8}, () => ms);

describe('latency', () => {
  test('is slow above twice the best, if more requests run than at the best', () => {
    const latency = new Latency();
    takeIn(latency, 4, eight(1_000));
    expect(takeIn(latency, 8, eight(1_900))).toBe(false);
    expect(takeIn(latency, 8, eight(2_000))).toBe(false);
    expect(takeIn(latency, 8, eight(2_100))).toBe(true);
  });

  test('is compared with the best, even if that is only a bit better than the one before', () => {
    const latency = new Latency();
    takeIn(latency, 4, eight(1_000));
    takeIn(latency, 4, eight(900));
    expect(takeIn(latency, 8, eight(1_950))).toBe(true);
  });

  test('is never slow if it is less than half a second above the best', () => {
    const latency = new Latency();
    takeIn(latency, 4, eight(1));
    expect(takeIn(latency, 8, eight(500))).toBe(false);
    expect(takeIn(latency, 8, eight(502))).toBe(true);
  });

  test('that rises without more requests becomes the new reference', () => {
    const latency = new Latency();
    takeIn(latency, 8, eight(300));
    expect(takeIn(latency, 8, eight(3_000))).toBe(false);
    expect(takeIn(latency, 16, eight(5_000))).toBe(false);
    expect(takeIn(latency, 16, eight(7_000))).toBe(true);
  });

  test('that rises is slow if fewer requests were about as fast as the best', () => {
    const latency = new Latency();
    takeIn(latency, 8, eight(300));
    takeIn(latency, 4, eight(320));
    expect(takeIn(latency, 8, eight(3_000))).toBe(true);
  });

  test.each([
    ['a quarter more', 1_250, true],
    ['a quarter more and a little', 1_251, false],
  ])('with fewer requests that took %s counts as about the best: %#', (_, ms, isBest) => {
    const latency = new Latency();
    takeIn(latency, 8, eight(1_000));
    latency.forgetRecent();
    takeIn(latency, 4, eight(ms));
    expect(takeIn(latency, 6, eight(3_000))).toBe(isBest);
  });

  test('that falls by a fifth with more requests was about the best with fewer', () => {
    const latency = new Latency();
    takeIn(latency, 4, eight(1_000));
    takeIn(latency, 8, eight(800));
    expect(takeIn(latency, 6, eight(3_000))).toBe(true);
  });

  test('is judged by the median of eight answers, not by one', () => {
    const latency = new Latency();
    takeIn(latency, 4, eight(300));
    expect(takeIn(latency, 8, [9_000, 300, 300, 9_000, 300, 9_000, 300, 300])).toBe(false);
    latency.forgetRecent();
    expect(takeIn(latency, 8, [9_000, 9_000, 9_000, 300, 300, 300, 9_000, 9_000])).toBe(true);
    latency.forgetRecent();
    expect(takeIn(latency, 8, eight(9_000).slice(1))).toBe(false);
    expect(takeIn(latency, 8, [9_000])).toBe(true);
  });

  test('of one kind of request does not affect another kind', () => {
    const latency = new Latency();
    takeIn(latency, 1, eight(10), 'record');
    expect(takeIn(latency, 8, eight(3_000), 'list')).toBe(false);
  });

  test.each([
    ['GET', '/jobs/17.xml', {include: 'notes'}, 'GET /jobs/N.xml?include'],
    ['GET', '/jobs.xml', {page: '9', include: 'notes'}, 'GET /jobs.xml?include&page'],
    ['PUT', '/jobs/17/notes/4.xml', {}, 'PUT /jobs/N/notes/N.xml?'],
  ])(
    'the kind of %s %s %j leaves out record numbers and query values',
    (method, path, query, kind) => {
      expect(classifyRequest(method, path, query)).toBe(kind);
    },
  );
});
