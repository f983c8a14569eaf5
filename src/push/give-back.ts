// A change that an error stopped is given back. The meaning of an answer is decided in
// ../decide/postponements.ts.

import {stopAccount} from '../accounts/accounts.ts';
import type {ClaimedChange} from '../changes/claim-changes.ts';
import {giveBackChange} from '../changes/move-changes.ts';
import {AccessError, RetryableError} from '../core/errors.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {backOffMs} from './back-off-ms.ts';
import {failureDelayMs} from './postponements.ts';
import type {PushDeps, PushEnd} from './push-deps.ts';

/**
 * Notes the error in the row. A change that was being sent is in doubt: only an answer makes it
 * certain.
 */
export async function giveBackFailed(
  deps: PushDeps,
  change: ClaimedChange,
  failed: {readonly error: unknown; readonly isShutdown: boolean},
): Promise<PushEnd> {
  const {isShutdown} = failed;
  const error = explainDatabaseError(failed.error, deps.databaseUrl);
  const retryAfterMs = error instanceof RetryableError ? error.retryAfterMs : null;
  const isFailure = !isShutdown && !(error instanceof AccessError);
  const delayMs = isFailure ? failureDelayMs(backOffMs(change.failures), retryAfterMs) : 0;
  try {
    if (error instanceof AccessError) await stopAccount(deps.pool, change.accountId, error.message);
    const state = await giveBackChange(deps.pool, change, {
      delayMs,
      isFailure,
      reason: error.message,
    });
    return state === 'in_doubt' ? 'in_doubt' : 'postponed';
  } catch (unsettled) {
    // The error could not be written, or another worker has the change by now: our lease expires.
    deps.log.debug(
      {event: 'change.left', ...factsOf(change), reason: String(unsettled)},
      'a change is left to its lease',
    );
    return 'postponed';
  } finally {
    deps.log.debug(
      {event: 'change.given_back', ...factsOf(change), reason: error.message},
      'a change is given back',
    );
  }
}

function factsOf({accountName, changeId}: ClaimedChange) {
  return {account: accountName, change: changeId};
}
