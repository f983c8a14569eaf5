import {AccessError, RetryableError} from '../core/errors.ts';
import type {AccountApi} from './account-api.ts';

/**
 * Judges the refusal of a token: if the token was replaced while in use, the refusal says nothing
 * of the new one.
 * @returns the error to go on with, which says how the account gets another token
 */
export async function judgeAccess(error: unknown, {token}: AccountApi): Promise<unknown> {
  if (!(error instanceof AccessError) || token === undefined) return error;
  if (await token.isReplaced())
    return new RetryableError(
      `${error.message}; the account has another token by now, which is tried next`,
      {
        cause: error,
        retryAfterMs: 0,
      },
    );
  return new AccessError(`${error.message}; ${token.mend}`, {cause: error});
}
