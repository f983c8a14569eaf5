// Receivers that do not take what they are sent: of alerts, and of the feed.

import {formatDuration, formatNumber} from '../core/format.ts';
import type {FeedHook} from '../feed/feed-hooks.ts';
import {tellAddressStep} from './address-step.ts';
import type {Concern} from './concerns.ts';
import type {RuleHealth} from './rule-health.ts';
import {describeMissingKey, type Workforce} from './worker-concerns.ts';

/**
 * Finds the rules whose messages do not arrive, or would not: nobody hears of anything else that is
 * wrong.
 * @param now - ISO 8601, by the database's clock
 */
export function findFailingRules(
  rules: readonly RuleHealth[],
  workforce: Workforce,
  now: string,
): Concern[] {
  return rules.flatMap((each) => {
    const {rule, receiver, failingSince, lastError, givenUp, hasAddress} = each;
    const place = {account: null, stream: null, kind: 'alerts-failing' as const, subject: rule};
    const lack = hasAddress ? describeLack(each, workforce) : null;
    if (lack !== null)
      return [
        {
          ...{...place, since: failingSince},
          text: `alert rule ${rule} tells nothing: ${lack.text}`,
          next: lack.next,
        },
      ];
    if (failingSince === null) return [];
    if (!hasAddress)
      return [
        {
          ...{...place, since: failingSince},
          text: `alert rule ${rule} tells nothing: it waits for its address, which no file of settings has`,
          next: tellAddressStep(rule, receiver),
        },
      ];
    const age = formatDuration(Math.max(0, Date.parse(now) - Date.parse(failingSince)));
    const why =
      lastError ?? 'no worker has what it takes to send them, a key or FIELDMIRROR_SMTP_URL';
    const lost = givenUp === 0 ? '' : ` (${formatNumber(givenUp)} given up)`;
    return [
      {
        ...{...place, since: failingSince},
        text: `messages of the alert rule ${rule} do not arrive${lost}, for ${age}: ${why}`,
        next: `fieldmirror alerts test ${rule}`,
      },
    ];
  });
}

/**
 * Why no worker can send to the receiver of a rule; null where one can, or none is alive and
 * nothing is known.
 */
function describeLack(
  {keyId, rule}: RuleHealth,
  workforce: Workforce,
): {readonly text: string; readonly next: string} | null {
  if (keyId !== null) {
    const lack = describeMissingKey(keyId, workforce);
    const next = `give start that key in FIELDMIRROR_KEY, or seal the address anew: fieldmirror alerts remove ${rule}, then fieldmirror alerts add ${rule}`;
    return lack === null ? null : {text: `its address is ${lack}`, next};
  }
  const alive = workforce.workers.filter(({isAlive}) => isAlive);
  if (alive.length === 0 || alive.some(({sendsMail}) => sendsMail)) return null;
  return {
    text: 'it sends e-mail, and no worker has FIELDMIRROR_SMTP_URL',
    next: 'give start the address of the mail server in FIELDMIRROR_SMTP_URL',
  };
}

/** The first tries may meet a subscriber that is just being restarted. */
const failingAfterTries = 3;

/**
 * Finds the subscribers of the feed that are stopped, take nothing, or have no worker that can send
 * to them.
 * @param now - ISO 8601, by the database's clock
 */
export function findFailingHooks(
  hooks: readonly FeedHook[],
  workforce: Workforce,
  now: string,
): Concern[] {
  return hooks.flatMap((hook): Concern[] => {
    const {name, account, attempts, failingSince, lastError, stoppedAt, hasAddress, isUntaken} =
      hook;
    const place = {account, stream: null, kind: 'hook-failing' as const, subject: name};
    if (!hasAddress && isUntaken)
      return [
        {
          ...{...place, since: null},
          text: `subscriber ${name} of the feed waits for its address, which no file of settings has`,
          next: `fieldmirror hooks add ${name} --url URL`,
        },
      ];
    const lack =
      hasAddress && stoppedAt === null ? describeMissingKey(hook.keyId, workforce) : null;
    if (lack !== null)
      return [
        {
          ...{...place, since: null},
          text: `subscriber ${name} of the feed is sent nothing: its address is ${lack}`,
          next: 'give start that key in FIELDMIRROR_KEY, or make the subscriber anew: fieldmirror hooks list names its cursor',
        },
      ];
    if (stoppedAt === null && isUntaken)
      return [
        {
          ...{...place, since: null},
          text: `subscriber ${name} of the feed waits, and no worker sends to it`,
          next: 'fieldmirror start, with the key in FIELDMIRROR_KEY that fieldmirror hooks list names',
        },
      ];
    if (failingSince === null || (stoppedAt === null && attempts < failingAfterTries)) return [];
    const age = formatDuration(Math.max(0, Date.parse(now) - Date.parse(failingSince)));
    const state = stoppedAt === null ? 'takes nothing' : 'is stopped, and took nothing';
    const skip =
      stoppedAt === null ? '' : `, or fieldmirror hooks skip ${name} passes its batch over`;
    return [
      {
        ...{...place, since: failingSince},
        text: `subscriber ${name} of the feed ${state}, for ${age}: ${lastError}`,
        next: `fieldmirror hooks retry ${name} sends again at once${skip}`,
      },
    ];
  });
}
