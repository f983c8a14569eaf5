// The troubles on the lines between worker, Postgres, Redis and service.

import type {Random} from '../../../src/service/vocabulary.ts';
import {type Draw, noTrouble, type Trouble, type TroubleKind} from '../../support/faulty-line.ts';

/** The chance that some bytes of a client are struck, and the weight of each trouble. */
interface Weather {
  readonly chance: (chunk: Buffer) => number;
  readonly kinds: Readonly<Record<TroubleKind, number>>;
}

/** All but a last answer: a query would wait for the next one as long as the client lets it. */
const every = {
  ...noTrouble(),
  delay: 6,
  drop: 1,
  truncate: 2,
  reset: 3,
  'half-close': 2,
  drip: 2,
  slow: 1,
  'lose-reply': 4,
};

export const weathers = {
  /** A write is struck more often than a read: the engine must find out its fate. */
  service: {
    chance: (chunk) => (/^(POST|PUT|DELETE) /.test(start(chunk)) ? 0.15 : 0.02),
    kinds: every,
  },
  /** The answer to a COMMIT is lost: a read must find out whether it was done. */
  commit: {
    chance: (chunk) => (chunk.includes('COMMIT\0') ? 0.03 : 0),
    kinds: {...noTrouble(), 'lose-reply': 1},
  },
  database: {chance: () => 0.0006, kinds: {...every, 'half-close': 1}},
  redis: {chance: () => 0.001, kinds: every},
} as const satisfies Record<string, Weather>;

/** Draws troubles: the first weather that strikes decides. */
export function drawFrom(random: Random, ...some: readonly Weather[]): Draw {
  return (chunk) => {
    const weather = some.find(({chance}) => random.isTrue(chance(chunk)));
    return weather === undefined ? null : draw(random, weather.kinds, chunk.length);
  };
}

function draw(random: Random, odds: Readonly<Record<TroubleKind, number>>, size: number): Trouble {
  const kinds = Object.keys(odds) as TroubleKind[];
  const kind = kinds[random.weighted(kinds.map((name) => odds[name]))] ?? 'reset';
  switch (kind) {
    case 'delay':
      return {kind, ms: random.integer(20, 4_000)};
    case 'drop':
      return {kind, ms: random.integer(1_000, 20_000)};
    case 'truncate':
      return {kind, bytes: random.integer(0, 400)};
    case 'reset':
      return {kind, forwarded: random.integer(0, size - 1)};
    case 'drip':
      return {kind, bytes: random.integer(10, 300), everyMs: random.integer(1, 20)};
    case 'slow':
      return {kind, bytesASecond: random.integer(20_000, 200_000)};
    default:
      return {kind};
  }
}

function start(chunk: Buffer): string {
  return chunk.subarray(0, 8).toString('latin1');
}
