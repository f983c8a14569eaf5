import {beforeEach, describe, expect, test} from 'vitest';
import {StoppedKinds} from '../../src/push/run.ts';
import {factsOf} from './facts.ts';

let stops: StoppedKinds;

/** Claims a change, which tells the kinds stopped by then. */
function learn(minute: number, stoppedKinds: readonly string[] = []): void {
  const claimedAt = `2027-03-01T12:0${minute}:00Z`;
  stops.learn(factsOf({claimedAt, stoppedKinds}).change);
}

beforeEach(() => {
  stops = new StoppedKinds();
  learn(1);
});

describe('a kind that was stopped while changes wait for their turn', () => {
  test('stops the changes that contain it, and no others', () => {
    expect(stops.areAmong(['instant'])).toBe(false);
    stops.add(['instant']);
    expect(stops.areAmong(['ids', 'instant'])).toBe(true);
    expect(stops.areAmong(['ids'])).toBe(false);
    expect(stops.areAmong([])).toBe(false);
  });

  test.each([
    [
      'is sent again when a change that was claimed later has no stop: a person has checked',
      2,
      [],
      false,
    ],
    ['stays stopped while later changes have the stop', 2, ['instant'], true],
    ['stays stopped if a change that was claimed just before has no stop yet', 1, [], true],
    ['stays stopped if a change that was claimed long before has no stop', 0, [], true],
  ])('%s', (_, minute, kinds, isStopped) => {
    stops.add(['instant']);
    learn(minute, kinds);
    expect(stops.areAmong(['instant'])).toBe(isStopped);
  });
});
