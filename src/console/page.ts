// The types of a page of the console: its request, its story, and the context in which it is
// rendered. The types of an action: a form of a page, its outcome, and the words for the person.
// The dependencies of all pages: pools, names, and the work that other modules do for them.

import type {SafeHtml} from '@remix-run/html-template';
import type pg from 'pg';
import type {z} from 'zod';
import type {Account} from '../accounts/accounts.ts';
import type {Receiver, RulePlan} from '../alerts/alerts.ts';
import type {HealthInput} from '../alerts/problems.ts';
import type {Logger} from '../core/log.ts';
import type {Role} from '../core/names.ts';
import type {ApiPools} from '../http/api.ts';
import type {KnownNames} from '../http/keys.ts';
import type {Queryable} from '../postgres/database.ts';
import {mayActAs, type Viewer} from './access.ts';

/** The request for a page. */
export interface PageRequest {
  readonly db: pg.Pool;
  readonly services: ConsoleServices;
  /** Accounts that the viewer may see. */
  readonly seen: readonly Account[];
  /** Whether the viewer sees every account, also those to come. */
  readonly seesAll: boolean;
  /** Those of the seen accounts that the page is about: all, unless one was chosen. */
  readonly accounts: readonly Account[];
  /** Parts of the address, by their names in the path. */
  readonly params: Readonly<Record<string, string>>;
  /** Filters of the address. */
  readonly query: Readonly<Record<string, string>>;
  /** Whether the viewer is not to see personal data. */
  readonly masks: boolean;
}

/** How to read the same data outside the console. */
export interface Elsewhere {
  /** A command of the terminal: `fieldmirror sweeps show 12`. */
  readonly command: string;
  /** A statement that a reader or the owner may run. */
  readonly sql: string;
}

/**
 * A page of the console. It reads a story and renders it; the terminal prints the same story in its
 * own format. The page runs no SQL itself.
 */
export interface Page<Story = unknown> {
  /** `/sweeps/:sweepId` */
  readonly path: string;
  /** The section of the navigation that it belongs to: a path. */
  readonly section: string;
  /** The role that a viewer needs; left out: everybody may read the page. */
  readonly role?: Role;
  /** An open page reloads when one of these changes. */
  readonly moving: readonly WatchedTable[];
  /**
   * How long a story may be shown to others who request the same page; a second if left out. A
   * story that is kept longer is read again in the background.
   */
  readonly keptMs?: number;
  /** The filters that the story depends on beside the account; left out: all. */
  readonly words?: readonly string[];
  /** Whether the story becomes stale although no data changes; left out: it does not. */
  ages?(request: Pick<PageRequest, 'params'>): boolean;
  /** @throws {AccessRefused} there is nothing at that address */
  read(request: PageRequest): Promise<Story>;
  title(story: Story): string;
  render(story: Story, context: PageContext): SafeHtml;
  /** The story for a viewer who may not see personal data. Left out: the story has none. */
  hide?(story: Story): Story;
  elsewhere(request: Omit<PageRequest, 'db' | 'services'>, story: Story): Elsewhere;
}

/** Makes the compiler check that a page renders the type of story that it reads. */
export function definePage<Story>(page: Page<Story>): Page {
  return page as Page;
}

/** Replaces a personal text that the viewer may not see. */
export const hidden = '•••';

/** The tables whose changes make an open page reload: names of sync's tables. */
type WatchedTable =
  | 'changes'
  | 'sweeps'
  | 'accounts'
  | 'alerts'
  | 'alert_rules'
  | 'alert_deliveries'
  | 'feed_hooks'
  | 'feed_dead_letters';

/** The context in which a page is rendered: the viewer, the accounts, the moment and the clock. */
export interface PageContext {
  readonly viewer: Viewer;
  /** Accounts that the viewer may see. */
  readonly seen: readonly Account[];
  /** Those of the seen accounts that the page is about: all, unless one was chosen. */
  readonly accounts: readonly Account[];
  /** The address of the page, with its filters. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** IANA zone in which times are shown. */
  readonly timeZone: string;
  /** ISO 8601, by the clock of this machine: ages on pages are rough. */
  readonly now: string;
}

export function may({viewer}: PageContext, role: Role): boolean {
  return mayActAs(viewer, role);
}

/** The account of that number, for its name. */
export function nameOfAccount({seen}: Pick<PageContext, 'seen'>, accountId: string | null): string {
  return seen.find((account) => account.accountId === accountId)?.name ?? '';
}

/** The page of a list that an address names, from 1. */
export function pageOf({page = ''}: PageContext['query']): number {
  return /^[1-9]\d{0,2}$/.test(page) ? Number(page) : 1;
}

/**
 * An address of the console with some filters; empty ones are left out. The chosen account stays
 * chosen.
 * @param filters - by name; null removes one
 */
export function linkTo(
  context: Pick<PageContext, 'query'>,
  path: string,
  filters: Readonly<Record<string, string | null | undefined>> = {},
): string {
  const accountFilter = context.query.account === undefined ? {} : {account: context.query.account};
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({...accountFilter, ...filters}))
    if (value !== null && value !== undefined && value !== '') query.set(name, value);
  return query.size === 0 ? path : `${path}?${query}`;
}

/** The request for an action. */
export interface PostRequest<Fields> {
  readonly viewer: Viewer;
  /** Accounts that the viewer may see: an action touches no other. */
  readonly seen: readonly Account[];
  readonly params: Readonly<Record<string, string>>;
  /** The fields of the form. */
  readonly fields: Fields;
  readonly services: ConsoleServices;
}

/** The outcome of an action: the entry of the audit, and the words for the person. */
export interface Outcome {
  /** `change 12` */
  readonly subject: string;
  readonly accountId: string | null;
  readonly before?: unknown;
  readonly after?: unknown;
  /** A sentence: what was done, and what happens next. */
  readonly message: string;
  /** The page that is shown next; if left out, the page of the form. */
  readonly to?: string;
  /** A secret that is shown this once, on a separate page. */
  readonly once?: string;
  /** True if no page may show again, to anybody, a story that was read before. */
  readonly dropsReadings?: boolean;
  /**
   * Work that no transaction can hold; it begins once the action is committed.
   * @returns one more sentence; an error of the work is shown and logged
   */
  readonly afterwards?: () => Promise<string>;
}

/**
 * Something that a person does in the console: a form, carried out in one transaction with its
 * entry in the audit.
 */
export interface Action<Fields = unknown, Prepared = unknown> {
  /** `/changes/:changeId/hold` */
  readonly path: string;
  /** The name of the action in the audit: `changes.hold`. */
  readonly name: string;
  readonly role: Role;
  /** The schema of the form's fields, without the form token and the way back. */
  readonly form: z.ZodType<Fields>;
  /**
   * Does slow work, and sends requests to other systems, before the transaction begins.
   * @throws {UsageError | AccessRefused} it cannot be done
   */
  prepare?(request: PostRequest<Fields>): Promise<Prepared>;
  /**
   * @param db - the transaction that ends with the entry of the audit
   * @throws {AccessRefused} the object of the action is missing, or the action came too late
   */
  act(db: pg.ClientBase, request: PostRequest<Fields>, prepared: Prepared): Promise<Outcome>;
}

/** Makes the compiler check that an action takes the very form that it describes. */
export function defineAction<Fields, Prepared>(action: Action<Fields, Prepared>): Action {
  return action as Action;
}

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
