// A change that sets an employee's password bears a mask in its place: the sender opens the seal,
// for one request.

import {stopAccount} from '../accounts/accounts.ts';
import {isTokenOwner, readSealedLogin} from '../accounts/seals.ts';
import type {Secret} from '../core/secret.ts';
import type {ChangeValues} from '../rows/change-values.ts';
import {type Postponed, postpone, type Rejected} from './decision.ts';
import type {PushRun} from './push-run.ts';

/** The fields that go over the wire, and the fields as they may be kept. */
export interface Unmasked {
  readonly fields: ChangeValues;
  readonly shown: ChangeValues;
  /** Null where no password is sent. */
  readonly password: Secret | null;
}

/** The process that has the key is asked no later than this. */
const elsewhereDelayMs = 5_000;

/**
 * Puts the password in the place of its mask. A change whose password was dropped ends here; one
 * whose key another process has waits for that process.
 */
export async function unmask(
  {deps, change}: PushRun,
  fields: ChangeValues,
): Promise<Unmasked | Rejected | Postponed> {
  if (!('password' in fields)) return {fields, shown: fields, password: null};
  const password = (await deps.openPassword?.(change.changeId)) ?? null;
  if (password !== null)
    return {
      fields: {...fields, password: password.reveal()},
      shown: {...fields, password: '(set)'},
      password,
    };
  if ((await readSealedLogin(deps.pool, change.changeId)) !== null)
    return postpone('its password is sealed for another process, which sends it', elsewhereDelayMs);
  const words = 'the password was dropped after 15 minutes: set it again';
  return {what: 'reject', words, remote: null, attempt: null};
}

/**
 * A new password of the employee whose token is in use makes that token invalid: the account is
 * stopped before it is asked for anything more.
 * @returns whether the account was stopped
 */
export async function stopForNewToken({deps, change}: PushRun): Promise<boolean> {
  if (!(await isTokenOwner(deps.pool, change))) return false;
  await stopAccount(
    deps.pool,
    change.accountId,
    'the password of the employee whose token is in use was changed here, and the token with it: give the new token (fieldmirror accounts add, or FIELDMIRROR_API_TOKEN)',
  );
  return true;
}
