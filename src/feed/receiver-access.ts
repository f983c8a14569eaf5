// The whole address of a receiver and what signs or opens it, sealed as the tokens of accounts are.

import {FatalError, UsageError} from '../core/errors.ts';
import {boundOf, type Sealed, type SealingKey, Secret, seal, unseal} from '../core/secret.ts';

/** What is sealed of a receiver. */
export interface Access {
  /** The whole address: of a webhook, of Slack, of a ping, of a server of e-mail. */
  readonly address: string;
  /** What signs the messages to a webhook. */
  readonly secret?: string;
}

/** Whose access it is: a rule of alerts, or a subscriber of the feed. */
export interface Owner {
  readonly kind: 'alert_rules' | 'feed_hooks';
  readonly name: string;
}

const verbs = {alert_rules: 'alerts', feed_hooks: 'hooks'} as const;

/** Seals an access for its owner, with the first of the keys. */
export function sealAccess(access: Access, key: SealingKey, {kind, name}: Owner): Sealed {
  return seal(new Secret(JSON.stringify(access)), key, boundOf[kind](name));
}

/**
 * Opens the access of its owner.
 * @throws {UsageError} no key opens it
 * @throws {FatalError} it is damaged
 */
export function openAccess(
  sealed: Sealed,
  keys: readonly SealingKey[],
  {kind, name}: Owner,
): Access {
  const owner = boundOf[kind](name);
  if (!keys.some(({id}) => id === sealed.keyId))
    throw new UsageError(
      `${owner}: it is sealed with key ${sealed.keyId}, expected that key in FIELDMIRROR_KEY, got ${keys.length === 0 ? 'none' : 'another'}`,
    );
  try {
    // Sealed by us, and bound to its owner: what opens is what was sealed.
    return JSON.parse(unseal(sealed, keys, owner).reveal()) as Access;
  } catch (cause) {
    const mend = `fieldmirror ${verbs[kind]} remove ${name}, then fieldmirror ${verbs[kind]} add ${name}`;
    throw new FatalError(`${owner}: what is sealed of it is damaged; ${mend}`, {
      cause,
      kind: 'key',
    });
  }
}
