import {RetryableError} from '../core/errors.ts';
import type {PushDeps} from './push-deps.ts';

/** A pause is noticed within this time. */
const lookEveryMs = 400;

/**
 * Looks now and then whether the account of a run is still active. A person who pauses it wants the
 * changes in hand to stop as well: those whose requests wait for their turn, not those on their
 * way.
 */
export function watchPause(
  {pool, log}: Pick<PushDeps, 'pool' | 'log'>,
  accountId: string,
): {readonly paused: AbortSignal; readonly close: () => void} {
  const stop = new AbortController();
  let isLooking = false;
  const look = async () => {
    if (isLooking || stop.signal.aborted) return;
    isLooking = true;
    try {
      const {rows} = await pool.query<{name: string; state: string}>(
        'SELECT name, state FROM sync.accounts WHERE account_id = $1',
        [accountId],
      );
      const [account] = rows;
      if (account !== undefined && account.state !== 'active')
        stop.abort(new RetryableError(`account ${account.name}: it is ${account.state}`));
    } catch (error) {
      // The run meets a database that is away by itself.
      log.debug(
        {event: 'push.pause_unread', reason: String(error)},
        'whether the account is paused could not be read',
      );
    } finally {
      isLooking = false;
    }
  };
  const timer = setInterval(() => void look(), lookEveryMs);
  timer.unref();
  return {paused: stop.signal, close: () => clearInterval(timer)};
}
