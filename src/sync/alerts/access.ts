// The whole address of a receiver and what signs or opens it, sealed as the tokens of accounts are.

import {FatalError, UsageError} from '../../base/errors.ts';
import {boundOf, type SealingKey, seal, unseal} from '../../base/seal.ts';
import {Secret} from '../../base/secret.ts';
import type {SealedAccess} from '../../warehouse/alerts/alert-rules.ts';

/** What is sealed of a rule. */
export interface Access {
  /** The whole address: of a webhook, of Slack, of a ping, of a server of e-mail. */
  readonly address: string;
  /** What signs the messages to a webhook. */
  readonly secret?: string;
}

/** Seals the access of the rule of that name, with the first of the keys. */
export function sealAccess(access: Access, key: SealingKey, rule: string): SealedAccess {
  return seal(new Secret(JSON.stringify(access)), key, boundOf.alert_rules(rule));
}

/**
 * Opens the access of a rule.
 * @throws {UsageError} no key opens it
 * @throws {FatalError} it is damaged
 */
export function openAccess(sealed: SealedAccess, keys: readonly SealingKey[], rule: string): Access {
  if (!keys.some(({id}) => id === sealed.keyId))
    throw new UsageError(
      `alert rule ${rule}: it is sealed with key ${sealed.keyId}, expected that key in FIELDMIRROR_KEY, got ${keys.length === 0 ? 'none' : 'another'}`,
    );
  try {
    // Sealed by us, and bound to the rule: what opens is what was sealed.
    return JSON.parse(unseal(sealed, keys, boundOf.alert_rules(rule)).reveal()) as Access;
  } catch (cause) {
    const mend = `fieldmirror alerts remove ${rule}, then fieldmirror alerts add ${rule}`;
    throw new FatalError(`alert rule ${rule}: what is sealed of it is damaged; ${mend}`, {cause});
  }
}
