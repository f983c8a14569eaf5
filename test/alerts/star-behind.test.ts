import {expect, test} from 'vitest';
import {findStarProblems} from '../../src/alerts/installation-problems.ts';

const now = '2026-11-02T12:00:00Z';

test.each([
  ['holds all', null, 0],
  ['is being written', '2026-11-02T11:51:00Z', 0],
  ['is behind for longer than a refresh takes', '2026-11-02T11:40:00Z', 1],
])('a star that %s, since %s, has %i problems', (_kind, since, count) => {
  expect(findStarProblems(since, now)).toHaveLength(count);
});

test('the problem shows how long the star is behind, and the next step', () => {
  const [problem] = findStarProblems('2026-11-02T09:40:00Z', now);
  expect(problem).toMatchObject({
    kind: 'star-behind',
    text: 'the figures of mart lack what changed in the last 2 h 20 min',
    next: expect.stringContaining('fieldmirror sync'),
  });
});
