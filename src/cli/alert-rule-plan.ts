// A rule from the words of the command line: checked before anything is opened.

import type {Receiver, RulePlan} from '../alerts/alert-rules.ts';
import {receivers} from '../alerts/receivers.ts';
import {usualEveryMs, usualQuietMs} from '../alerts/rule-settings.ts';
import type {Config} from '../core/config.ts';
import {type Cause, causes, UsageError} from '../core/errors.ts';
import {checkShortName, isMailbox, nearest} from '../core/names.ts';
import {makeWebhookSecret} from '../feed/deliver.ts';
import {type Access, sealAccess} from '../feed/receiver-access.ts';
import {parseSmtp, parseTarget} from '../feed/receiver-target.ts';

export interface RuleOptions {
  readonly webhook?: string;
  readonly slack?: string;
  readonly email?: string;
  readonly ping?: string;
  /** The server of e-mail of this rule alone. */
  readonly smtp?: string;
  readonly everyMs?: number;
  readonly quietMs?: number;
  readonly cause?: readonly string[];
}

/** A rule that can be kept, and the secret that is shown this once. */
export interface PlannedRule {
  readonly plan: Omit<RulePlan, 'accountId'>;
  readonly secret: string | null;
}

/**
 * Makes a rule of what was typed.
 * @throws {UsageError} not exactly one receiver, an address that may not be used, an unknown cause,
 *   no key to seal with
 */
export function planRule(
  {keys, allowsHttp}: Pick<Config, 'keys' | 'allowsHttp'>,
  name: string,
  options: RuleOptions,
): PlannedRule {
  const [key] = keys;
  checkShortName(name, 'alerts add');
  const {receiver, address} = chooseReceiver(options);
  const access = readAccess(receiver, address, {smtp: options.smtp, allowsHttp});
  if (access !== null && key === undefined)
    throw new UsageError(
      "alerts add: expected a key to seal the receiver's address with, got none: openssl rand -base64 32 makes one; keep it, and give it to this command and to start as FIELDMIRROR_KEY or in the file FIELDMIRROR_KEY_FILE",
    );
  if (options.everyMs !== undefined && receiver !== 'ping')
    throw new UsageError(
      'alerts add: --every: expected it with --ping, which alone comes by the clock',
    );
  const plan = {
    ...{name, receiver},
    target: receiver === 'email' ? address : new URL(address).host,
    sealed:
      access === null || key === undefined
        ? null
        : sealAccess(access, key, {kind: 'alert_rules', name}),
    causes: readCauses(options.cause ?? []),
    quietMs: options.quietMs ?? usualQuietMs,
    everyMs: receiver === 'ping' ? (options.everyMs ?? usualEveryMs) : null,
  };
  return {plan, secret: access?.secret ?? null};
}

function chooseReceiver(options: RuleOptions): {
  readonly receiver: Receiver;
  readonly address: string;
} {
  const given = receivers.flatMap((receiver) => {
    const address = options[receiver];
    return address === undefined ? [] : [{receiver, address}];
  });
  const [only, ...others] = given;
  if (only === undefined || others.length > 0)
    throw new UsageError(
      `alerts add: expected one of --webhook URL, --slack URL, --email ADDRESS, --ping URL, got ${given.length === 0 ? 'none' : given.map(({receiver}) => `--${receiver}`).join(' and ')}`,
    );
  return only;
}

/** @returns null where the environment gives the server of e-mail: nothing is to be sealed */
function readAccess(
  receiver: Receiver,
  address: string,
  {smtp, allowsHttp}: {readonly smtp: string | undefined; readonly allowsHttp: boolean},
): Access | null {
  if (receiver === 'email') {
    if (!isMailbox(address))
      throw new UsageError(
        `alerts add: --email: expected an address such as ops@example.com, got ${JSON.stringify(address)}`,
      );
    if (smtp === undefined) return null;
    parseSmtp(smtp, allowsHttp);
    return {address: smtp};
  }
  if (smtp !== undefined) throw new UsageError('alerts add: --smtp: expected it with --email');
  parseTarget(address, allowsHttp);
  return receiver === 'webhook' ? {address, secret: makeWebhookSecret()} : {address};
}

function readCauses(words: readonly string[]): readonly Cause[] | null {
  if (words.length === 0) return null;
  return words.map((word) => {
    const cause = causes.find((each) => each === word);
    if (cause !== undefined) return cause;
    throw new UsageError(
      `alerts add: --cause: no cause "${word}"${nearest(word, causes)}; there are ${causes.join(', ')}`,
    );
  });
}
