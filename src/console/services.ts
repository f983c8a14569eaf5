// What the console is given: pools, names, and what it lets others do.

import type {Account} from '../accounts/accounts.ts';
import type {Receiver, RulePlan} from '../alerts/alerts.ts';
import type {HealthInput} from '../alerts/problems.ts';
import type {Logger} from '../core/log.ts';
import type {ApiPools} from '../http/api.ts';
import type {KnownNames} from '../http/keys.ts';
import type {Queryable} from '../postgres/database.ts';

/**
 * What the console lets others do, because it takes more than the warehouse: the service, the key
 * that seals tokens.
 */
export interface ConsoleServices {
  /** What this process knows beside the warehouse when it looks for what needs a person. */
  readonly healthInput: HealthInput;
  /** Every dependency checked, live, as `fieldmirror doctor` does. */
  readonly examine: () => Promise<readonly RunCheck[]>;
  /**
   * Every setting in force, of this process and of the warehouse, as `doctor` tells them: never a
   * secret.
   */
  readonly listSettings: () => Promise<readonly SettingTold[]>;
  /**
   * Asks an account a light question with its token; what was stopped and is answered goes on.
   * @returns a sentence
   */
  readonly checkAccount: (account: string) => Promise<string>;
  /**
   * Asks the service with the token of an account that is to be added, or to be given that token.
   * Nothing is stored yet.
   * @throws {UsageError | AccessError} with what is wrong
   */
  readonly tryAccount: (account: GivenAccount) => Promise<{
    /** Stores it, in a transaction of the caller. */
    readonly keep: (db: Queryable) => Promise<Account>;
    /** A sentence that says what was done. */
    readonly tell: (account: Account) => string;
  }>;
  /**
   * Makes an alert rule of what was filled in, with its address sealed. Nothing is stored yet.
   * @throws {UsageError} an address that may not be used, a span that is none, no key to seal with
   */
  readonly planRule: (rule: GivenRule) => Promise<{
    readonly plan: Omit<RulePlan, 'accountId'>;
    /**
     * What signs the messages to a webhook, for a person to see this once; null of other receivers.
     */
    readonly secret: string | null;
  }>;
  /**
   * Sends a made-up alert by a rule now.
   * @returns a sentence: the receiver's answer
   * @throws {RetryableError | UsageError} it was not taken, or cannot be sent from here
   */
  readonly testRule: (rule: string) => Promise<string>;
  /**
   * Sends a dead letter of a subscriber of the feed now, late and out of order. It stays a dead
   * letter until the caller deletes it.
   * @returns a sentence: the subscriber's answer
   * @throws {RetryableError | UsageError | FatalError} it was not taken, or cannot be sent from
   *   here
   */
  readonly sendLetter: (hook: string, letterId: string) => Promise<string>;
  /**
   * Clears up behind a customer that was forgotten, which takes a connection without a limit for a
   * statement, and the files of weekly reports.
   * @returns a sentence: the reports that are gone, or cannot be read from here
   */
  readonly clearUpForgotten: (forgotten: {
    readonly accountId: string;
    readonly names: readonly string[];
  }) => Promise<string>;
}

/**
 * An account as it is filled into a form; one that is there keeps its address and zone where they
 * are not given.
 */
export interface GivenAccount {
  readonly name: string;
  readonly url: string | null;
  readonly timeZone: string | null;
  readonly token: string;
}

/** An alert rule as it is filled into a form. */
export interface GivenRule {
  readonly name: string;
  readonly receiver: Receiver;
  /** A URL, or an address of e-mail. */
  readonly address: string;
  /** The server of e-mail of this rule alone. */
  readonly smtp: string | null;
  /** Spans such as `5m`: how often a ping comes, and the quiet time. */
  readonly every: string | null;
  readonly quiet: string | null;
  /** What it tells of; none: everything. */
  readonly causes: readonly string[];
}

/** A setting in force, and where it came from. */
export interface SettingTold {
  readonly name: string;
  readonly value: string;
  /** `file`: the file says the same. `warehouse`: a verb, another file or SQL set it there. */
  readonly source: 'environment' | 'file' | 'default' | 'warehouse';
  /** Name of that file. */
  readonly file: string | null;
}

/** One dependency, and how it stands. The words of a flaw say how to mend it. */
export interface RunCheck {
  readonly what: string;
  readonly state: 'good' | 'warning' | 'bad';
  readonly found: string;
  /** Name of the account that it is about; left out: it is about the whole installation. */
  readonly account?: string;
}

/**
 * A proxy in front that signs people in, and says in two headers who they are and what they may.
 */
export interface SignInProxy {
  /** Its addresses: from any other the headers mean nothing. */
  readonly addresses: readonly string[];
  readonly nameHeader: string;
  readonly roleHeader: string;
}

export interface ConsoleOptions {
  /**
   * The address that people use, where it is not that of this machine; https there makes cookies
   * secure.
   */
  readonly publicUrl: URL | null;
  /** Further names by which systems reach the server. */
  readonly hostNames: readonly string[];
  /** A proxy that signs people in; null where there is none. */
  readonly proxy: SignInProxy | null;
  /** The warehouse's address for LISTEN: no pooler in between. */
  readonly directUrl: string;
  readonly services: ConsoleServices;
}

export interface ConsoleDeps extends ConsoleOptions {
  readonly pools: Pick<ApiPools, 'reads' | 'writes'>;
  readonly log: Logger;
  /** The names by which the console may be asked. */
  readonly known: KnownNames;
}
