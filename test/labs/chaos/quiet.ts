// After the storm: every line is mended, every part up, no author writes. Work under way must come
// to rest.

import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import {letTimePass, readNextDue} from '../push/fake-time.ts';
import {untilItAnswers} from './ledger.ts';
import {endWorkers, type Place, startWorkers} from './place.ts';

export interface Quiet {
  /** Changes by state when the storm was over, and when all was quiet. */
  readonly before: Readonly<Record<string, number>>;
  readonly after: Readonly<Record<string, number>>;
  /** The duration by the clock that was moved along. */
  readonly seconds: number;
  readonly isSettled: boolean;
}

const lookMs = 500;
/** Work due sooner is waited for. */
const soonSeconds = 4;
/** The longest time that the engine waits between two looks. */
const stepSeconds = 300;
/**
 * By the moved clock: the quarantine of a create without a trace, twice, and changes that wait for
 * it.
 */
const mostSeconds = 5_400;
/** By the real clock: a loaded machine takes its time. */
const mostMs = 1_800_000;

/**
 * Waits until no change is under way. The mended lines hold nothing back, so that hours of the
 * engine's patience can be skipped: while no worker runs, time is made to pass, as in the
 * laboratory of write-back.
 */
export async function comeToRest(place: Place, pool: pg.Pool): Promise<Quiet> {
  const before = await countStates(pool);
  const startedAt = performance.now();
  let passed = 0;
  const elapsed = () => passed + (performance.now() - startedAt) / 1_000;
  for (;;) {
    const seconds = await untilItAnswers(() => readNextDue(pool));
    const isOver = performance.now() - startedAt > mostMs || elapsed() > mostSeconds;
    if (seconds === null || isOver)
      return {
        before,
        after: await countStates(pool),
        seconds: elapsed(),
        isSettled: seconds === null,
      };
    if (seconds <= soonSeconds || (await isUnderWay(pool))) await wait(lookMs);
    else {
      const step = Math.max(seconds, stepSeconds);
      await endWorkers(place);
      await letTimePass({pool, mischief: {pass: async () => {}}}, step);
      passed += step;
      await startWorkers(place);
    }
  }
}

/** Whether a worker has a change in hand: it is left to finish, lest every try be cut off. */
async function isUnderWay(pool: pg.Pool): Promise<boolean> {
  const ask = () => pool.query('SELECT FROM sync.changes WHERE lease_until > now() LIMIT 1');
  return (await untilItAnswers(ask)).rowCount !== 0;
}

async function countStates(pool: pg.Pool): Promise<Record<string, number>> {
  const ask = () =>
    pool.query<{state: string; count: number}>(
      'SELECT state, count(*)::integer FROM sync.changes GROUP BY state ORDER BY state',
    );
  const {rows} = await untilItAnswers(ask);
  return Object.fromEntries(rows.map(({state, count}) => [state, count]));
}
