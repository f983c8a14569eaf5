import {FatalError} from '../core/errors.ts';
import {type SealingKey, unseal} from '../core/seal.ts';
import type {Secret} from '../core/secret.ts';
import type {Account, SealedToken} from './accounts.ts';

/**
 * The token of an account, from the seal it is kept under.
 * @throws {FatalError} there is no seal, or the keys do not open it; the message names the account
 *   and the step
 */
export function openToken(
  {
    accountId,
    name,
    sealed,
  }: Pick<Account, 'accountId' | 'name'> & {readonly sealed: SealedToken | null},
  keys: readonly SealingKey[],
): Secret {
  if (sealed === null) {
    throw new FatalError(
      `account ${name}: nobody knows its token here: give it once with fieldmirror accounts add ${name}, or in FIELDMIRROR_API_TOKEN beside FIELDMIRROR_API_URL`,
      {kind: 'key'},
    );
  }
  try {
    return unseal(sealed, keys, accountId);
  } catch (cause) {
    if (!(cause instanceof FatalError)) throw cause;
    throw new FatalError(`account ${name}: ${cause.message}`, {cause});
  }
}
