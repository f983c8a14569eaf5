// What a page of the console is: what it is asked for, and how it is drawn, for whom and when; and
// what an action is: a form of a page, what became of it, and the words for the person.

import type {SafeHtml} from '@remix-run/html-template';
import type pg from 'pg';
import type {z} from 'zod';
import type {Account} from '../accounts/accounts.ts';
import type {Role} from '../core/names.ts';
import {mayActAs, type Viewer} from './access.ts';
import type {ConsoleServices} from './services.ts';

/** What a page is asked for. */
export interface PageRequest {
  readonly db: pg.Pool;
  readonly services: ConsoleServices;
  /** Accounts that the viewer may see. */
  readonly seen: readonly Account[];
  /** Whether the viewer sees every account, also those to come. */
  readonly seesAll: boolean;
  /** Those of them that the page is about: all, unless one was chosen. */
  readonly accounts: readonly Account[];
  /** Parts of the address, by their names in the path. */
  readonly params: Readonly<Record<string, string>>;
  /** Filters of the address. */
  readonly query: Readonly<Record<string, string>>;
  /** Whether the viewer is not to see personal data. */
  readonly masks: boolean;
}

/** How the same is asked elsewhere. */
export interface Elsewhere {
  /** A command of the terminal: `fieldmirror sweeps show 12`. */
  readonly command: string;
  /** A statement that a reader or the owner may run. */
  readonly sql: string;
}

/**
 * A page of the console: it reads a story and draws it, as the terminal does in its own way. It has
 * no SQL of its own.
 */
export interface Page<Story = unknown> {
  /** `/sweeps/:sweepId` */
  readonly path: string;
  /** The section of the navigation that it belongs to: a path. */
  readonly section: string;
  /** The role that it takes; left out: everybody may read it. */
  readonly role?: Role;
  /** An open page is drawn anew when one of these moves. */
  readonly moving: readonly Moving[];
  /**
   * For how long a story may be shown to others who ask for the same; a second when it is left out.
   * One that is kept longer is read anew behind the page.
   */
  readonly keptMs?: number;
  /** The filters that the story depends on beside the account; left out: all. */
  readonly words?: readonly string[];
  /** Whether the story grows old although no data moves; left out: it does not. */
  ages?(request: Pick<PageRequest, 'params'>): boolean;
  /** @throws {Refused} there is nothing at that address */
  read(request: PageRequest): Promise<Story>;
  title(story: Story): string;
  render(story: Story, context: PageContext): SafeHtml;
  /** The story for a viewer who is not to see personal data. Left out: there is none in it. */
  hide?(story: Story): Story;
  elsewhere(request: Omit<PageRequest, 'db' | 'services'>, story: Story): Elsewhere;
}

/** Lets the compiler see that a page draws the very story that it reads. */
export function definePage<Story>(page: Page<Story>): Page {
  return page as Page;
}

/** Stands for a personal text that the viewer is not to see. */
export const hidden = '•••';

/** Which tables' changes an open page is redrawn for: names of sync's tables. */
type Moving =
  | 'changes'
  | 'sweeps'
  | 'accounts'
  | 'alerts'
  | 'alert_rules'
  | 'alert_deliveries'
  | 'feed_hooks'
  | 'feed_dead_letters';

/**
 * The circumstances under which a page is drawn: who looks, at which accounts, when, and by which
 * clock.
 */
export interface PageContext {
  readonly viewer: Viewer;
  /** Accounts that the viewer may see. */
  readonly seen: readonly Account[];
  /** Those of them that the page is about: all, unless one was chosen. */
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
 * An address of the console with some filters; those that are empty are left out. The chosen
 * account stays chosen.
 * @param filters - by name; null takes one away
 */
export function linkTo(
  context: Pick<PageContext, 'query'>,
  path: string,
  filters: Readonly<Record<string, string | null | undefined>> = {},
): string {
  const kept = context.query.account === undefined ? {} : {account: context.query.account};
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({...kept, ...filters}))
    if (value !== null && value !== undefined && value !== '') query.set(name, value);
  return query.size === 0 ? path : `${path}?${query}`;
}

/** An action as it was asked for. */
export interface Order<Given> {
  readonly viewer: Viewer;
  /** Accounts that the viewer may see: an action touches no other. */
  readonly seen: readonly Account[];
  readonly params: Readonly<Record<string, string>>;
  /** The fields of the form. */
  readonly given: Given;
  readonly services: ConsoleServices;
}

/** What became of it: the entry of the audit, and the words for the person. */
export interface Outcome {
  /** `change 12` */
  readonly subject: string;
  readonly accountId: string | null;
  readonly before?: unknown;
  readonly after?: unknown;
  /** A sentence: what was done, and what happens next. */
  readonly said: string;
  /** The page that is shown next; the one the form stood on when it is left out. */
  readonly to?: string;
  /** A secret that is shown this once, on a page of its own. */
  readonly once?: string;
  /** True where no page may show again what was read before, to anybody. */
  readonly dropsReadings?: boolean;
  /**
   * Work that no transaction can hold, begun once it is committed. @returns a sentence more; an
   * error of it is told and logged
   */
  readonly afterwards?: () => Promise<string>;
}

/**
 * Something a person does in the console: a form, carried out in one transaction with its entry in
 * the audit.
 */
export interface Action<Given = unknown, Ready = unknown> {
  /** `/changes/:changeId/hold` */
  readonly path: string;
  /** As the audit calls it: `changes.hold`. */
  readonly name: string;
  readonly role: Role;
  /** Of the fields of the form; form token and way back are not among them. */
  readonly form: z.ZodType<Given>;
  /**
   * What takes long, or asks others, before the transaction begins.
   * @throws {UsageError | Refused} it cannot be done
   */
  prepare?(order: Order<Given>): Promise<Ready>;
  /**
   * @param db - the transaction that ends with the entry of the audit
   * @throws {Refused} there is nothing to do it to, or it came too late
   */
  act(db: pg.ClientBase, order: Order<Given>, ready: Ready): Promise<Outcome>;
}

/** Lets the compiler see that an action takes the very form that it describes. */
export function defineAction<Given, Ready>(action: Action<Given, Ready>): Action {
  return action as Action;
}
