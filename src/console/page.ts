// The types of a page of the console: its request, its story, and the context in which it is
// rendered. The types of an action: a form of a page, its outcome, and the words for the person.

import type {SafeHtml} from '@remix-run/html-template';
import type pg from 'pg';
import type {z} from 'zod';
import type {Account} from '../accounts/accounts.ts';
import type {Role} from '../core/names.ts';
import {mayActAs, type Viewer} from './access.ts';
import type {ConsoleServices} from './services.ts';

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
