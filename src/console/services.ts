// The dependencies of the console: pools, names, and the work that other modules do for it.

import type {Account} from '../accounts/accounts.ts';
import type {Receiver, RulePlan} from '../alerts/alerts.ts';
import type {HealthInput} from '../alerts/problems.ts';
import type {Logger} from '../core/log.ts';
import type {ApiPools} from '../http/api.ts';
import type {KnownNames} from '../http/keys.ts';
import type {Queryable} from '../postgres/database.ts';

/**
 * The work that other modules do for the console, because it needs more than the warehouse: the
 * service, or the key that seals tokens.
 */
export interface ConsoleServices {
  /** Facts that only this process knows, for the search for problems that need a person. */
  readonly healthInput: HealthInput;
  /** Checks every dependency live, as `fieldmirror doctor` does. */
  readonly examine: () => Promise<readonly RunCheck[]>;
  /**
   * Lists every setting in force, of this process and of the warehouse, as `doctor` prints them:
   * never a secret.
   */
  readonly listSettings: () => Promise<readonly ShownSetting[]>;
  /**
   * Sends a light request with the token of an account. If the service answers it, a stopped
   * account becomes active again.
   * @returns a sentence
   */
  readonly checkAccount: (account: string) => Promise<string>;
  /**
   * Tries a token at the service, for an account that is to be added or to get that token. Nothing
   * is stored yet.
   * @throws {UsageError | AccessError} names what is wrong
   */
  readonly tryAccount: (account: AccountForm) => Promise<{
    /** Stores the account, in a transaction of the caller. */
    readonly keep: (db: Queryable) => Promise<Account>;
    /** A sentence that describes what was done. */
    readonly describe: (account: Account) => string;
  }>;
  /**
   * Makes an alert rule from the filled-in form, and seals its address. Nothing is stored yet.
   * @throws {UsageError} an address that may not be used, an invalid span, no key to seal with
   */
  readonly planRule: (rule: RuleForm) => Promise<{
    readonly plan: Omit<RulePlan, 'accountId'>;
    /**
     * The secret that signs messages to a webhook, shown to a person this once; null for other
     * receivers.
     */
    readonly secret: string | null;
  }>;
  /**
   * Sends a made-up alert by a rule now.
   * @returns a sentence: the receiver's answer
   * @throws {RetryableError | UsageError} the receiver did not accept it, or it cannot be sent from
   *   here
   */
  readonly testRule: (rule: string) => Promise<string>;
  /**
   * Sends a dead letter of a subscriber of the feed now, late and out of order. It stays a dead
   * letter until the caller deletes it.
   * @returns a sentence: the subscriber's answer
   * @throws {RetryableError | UsageError | FatalError} the subscriber did not accept it, or it
   *   cannot be sent from here
   */
  readonly sendLetter: (hook: string, letterId: string) => Promise<string>;
  /**
   * Cleans up after a customer was forgotten. This needs a connection without a statement limit,
   * and the files of weekly reports.
   * @returns a sentence: the reports that were removed, or cannot be read from here
   */
  readonly clearUpForgotten: (forgotten: {
    readonly accountId: string;
    readonly names: readonly string[];
  }) => Promise<string>;
}

/**
 * An account as filled into a form. An existing account keeps its address and zone if they are not
 * given.
 */
export interface AccountForm {
  readonly name: string;
  readonly url: string | null;
  readonly timeZone: string | null;
  readonly token: string;
}

/** An alert rule as filled into a form. */
export interface RuleForm {
  readonly name: string;
  readonly receiver: Receiver;
  /** A URL, or an e-mail address. */
  readonly address: string;
  /** The mail server of this rule alone. */
  readonly smtp: string | null;
  /** Spans such as `5m`: how often a ping comes, and the quiet time. */
  readonly every: string | null;
  readonly quiet: string | null;
  /** The causes that it reports; if empty, all. */
  readonly causes: readonly string[];
}

/** A setting in force, and its source. */
export interface ShownSetting {
  readonly name: string;
  readonly value: string;
  /** `file`: the file has the same value. `warehouse`: a verb, another file or SQL set it there. */
  readonly source: 'environment' | 'file' | 'default' | 'warehouse';
  /** Name of that file. */
  readonly file: string | null;
}

/** One dependency and its state. If something is wrong, the text says how to fix it. */
export interface RunCheck {
  readonly what: string;
  readonly state: 'good' | 'warning' | 'bad';
  readonly found: string;
  /** Name of the account that the check is about; left out: the whole installation. */
  readonly account?: string;
}

/** A proxy in front that signs people in. Two of its headers name the person and the role. */
export interface SignInProxy {
  /** The addresses of the proxy; headers from any other address are ignored. */
  readonly addresses: readonly string[];
  readonly nameHeader: string;
  readonly roleHeader: string;
}

export interface ConsoleOptions {
  /**
   * The address that people use, if it is not that of this machine. With https, cookies are secure.
   */
  readonly publicUrl: URL | null;
  /** Further names by which systems reach the server. */
  readonly hostNames: readonly string[];
  /** A proxy that signs people in; null if there is none. */
  readonly proxy: SignInProxy | null;
  /** The warehouse's address for LISTEN: no pooler in between. */
  readonly directUrl: string;
  readonly services: ConsoleServices;
}

export interface ConsoleDeps extends ConsoleOptions {
  readonly pools: Pick<ApiPools, 'reads' | 'writes'>;
  readonly log: Logger;
  /** The host names that the console answers to. */
  readonly known: KnownNames;
}
