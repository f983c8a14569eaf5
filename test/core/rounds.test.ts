import {expect, test} from 'vitest';
import {FailureReasons, Pulse, Rounds} from '../../src/core/pauses.ts';

test('rounds report each reason of failure once, until a round is good', async () => {
  const outcomes: (string | null)[] = [
    'connect to port 50123',
    'connect to port 50124',
    'its disk is full',
    'connect to port 50125',
    null,
    'connect to port 50126',
  ];
  const reported: string[] = [];
  const rounds = new Rounds({
    everyMs: 0,
    pulse: new Pulse(),
    work: async () => {
      const reason = outcomes.shift() ?? null;
      if (reason !== null) throw new Error(reason);
    },
    onFailure: (error) => reported.push(String(error)),
  });
  for (let left = outcomes.length; left > 0; left--) {
    rounds.begin();
    await rounds.settled();
  }
  expect(reported).toEqual([
    'Error: connect to port 50123',
    'Error: its disk is full',
    'Error: connect to port 50126',
  ]);
});

test('of reasons that differ each time, the first hundred are new ones', () => {
  const reasons = new FailureReasons();
  const letters = [...'abcdefghijklmno'];
  const noted = letters
    .flatMap((one) => letters.map((other) => reasons.note(`${one}${other}`)))
    .filter((isNew) => isNew);
  expect(noted).toHaveLength(100);
  reasons.forget();
  expect(reasons.note('zz')).toBe(true);
});
