// A business that goes on while the service runs: by the clock, or so many times faster.

import type pg from 'pg';
import type {Logger} from '../core/log.ts';
import type {Scale} from './business-plan.ts';
import {inTransaction, openDatabase} from './database.ts';
import {Player} from './player.ts';

export interface LiveOptions {
  /** 1 is the clock itself. */
  readonly speed: number;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  readonly log?: Logger | undefined;
}

const tickMs = 1_000;

/** The moment without a fraction of a second, as the service writes it. */
const toInstant = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/**
 * Plays the business that is there up to a moment, once: of several that play at once, each waits
 * for the one before.
 * @returns how many records were written; null where no business was made up here
 */
export async function playUntil(
  database: pg.Pool,
  player: Player,
  to: string,
): Promise<number | null> {
  return await inTransaction(database, async (client) => {
    const {rows} = await client.query<{from: string}>(
      `SELECT to_char(played_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "from" FROM service.business WHERE played_until IS NOT NULL FOR UPDATE`,
    );
    const [held] = rows;
    if (held === undefined) return null;
    const written = await player.play(client, held.from, to);
    await client.query('UPDATE service.business SET played_until = greatest(played_until, $1)', [
      to,
    ]);
    return written;
  });
}

/** A business that is played on when it is told to. */
export interface Life {
  /**
   * `2026-11-02T12:59:00Z`, how far it was played when it was opened; null where no business was
   * made up.
   */
  readonly playedUntil: string | null;
  playUntil(moment: string): Promise<void>;
  close(): Promise<void>;
}

/** @throws {FatalError} the database cannot be used */
export async function openLife(databaseUrl: string): Promise<Life> {
  const database = await openDatabase(databaseUrl);
  const business = await readBusiness(database);
  const player = business === null ? null : new Player(business.scale);
  return {
    playedUntil: business === null ? null : toInstant(business.playedMs),
    playUntil: async (moment) => {
      if (player !== null) await playUntil(database, player, moment);
    },
    close: () => database.end(),
  };
}

/** Begins to play, each second what has happened since. */
export async function startLive(
  database: pg.Pool,
  {speed, now = Date.now, log}: LiveOptions,
): Promise<{stop(): Promise<void>}> {
  const business = await readBusiness(database);
  if (business === null) return {stop: async () => {}};
  const player = new Player(business.scale);
  const begun = now();
  // By the clock what was missed is made up for; faster, it goes on from where it stood.
  const first = speed === 1 ? Math.max(business.playedMs, begun) : business.playedMs;
  const play = async () => {
    const to = toInstant(first + (now() - begun) * speed);
    const written = await playUntil(database, player, to);
    if (written !== 0)
      log?.info({event: 'service.went_on', to, written}, 'reference service: the business went on');
  };
  await play();
  let underWay: Promise<void> = Promise.resolve();
  let isBusy = false;
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    underWay = play()
      .catch((error: unknown) =>
        log?.error(
          {event: 'service.stands_still', err: error},
          'reference service: the business stands still',
        ),
      )
      .finally(() => {
        isBusy = false;
      });
  }, tickMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await underWay;
    },
  };
}

/** The business and where it stands: where it was made up, until it is played. */
async function readBusiness(
  database: pg.Pool,
): Promise<{readonly scale: Scale; readonly playedMs: number} | null> {
  const {rows} = await database.query<Scale & {playedMs: number}>(
    `UPDATE service.business SET played_until = coalesce(played_until, (today + time '07:59') AT TIME ZONE time_zone)
      RETURNING seed, customers, jobs, today::text AS today, time_zone AS "timeZone", extract(epoch FROM played_until)::float * 1000 AS "playedMs"`,
  );
  const [held] = rows;
  if (held === undefined) return null;
  const {playedMs, ...scale} = held;
  return {scale, playedMs};
}
