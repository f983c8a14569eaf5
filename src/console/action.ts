import type pg from 'pg';
import type {z} from 'zod';
import type {Account} from '../accounts/accounts.ts';
import type {Role} from '../accounts/roles.ts';
import type {Viewer} from './access.ts';
import type {Doings} from './services.ts';

/** An action as it was asked for. */
export interface Order<Given> {
  readonly viewer: Viewer;
  /** Accounts that the viewer may see: an action touches no other. */
  readonly seen: readonly Account[];
  readonly params: Readonly<Record<string, string>>;
  /** The fields of the form. */
  readonly given: Given;
  readonly doings: Doings;
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
