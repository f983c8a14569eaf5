// The types of errors, by what the caller does next. A message names the thing, what was expected
// and what came, and the next step. It holds identifiers, never payloads and never secrets. The
// page numbers of kinds of errors and of causes of alerts are here as well.

/**
 * Kinds of errors that have a section in docs/errors.md, with causes and fix. A code stays with its
 * kind, and is never given to another.
 */
export const errorNumbers = {
  warehouse: 'E01',
  schema: 'E02',
  settings: 'E03',
  copy: 'E04',
  token: 'E05',
  rights: 'E06',
  service: 'E07',
  address: 'E08',
  key: 'E09',
  pooler: 'E10',
  'embedded-postgres': 'E11',
  port: 'E12',
  room: 'E13',
  clock: 'E14',
  sequences: 'E15',
  queue: 'E16',
  usage: 'E17',
  package: 'E18',
  bug: 'E19',
  request: 'E20',
  'sign-in': 'E21',
  role: 'E22',
  'not-found': 'E23',
  refused: 'E24',
  'key-reused': 'E25',
  cursor: 'E26',
  'too-many': 'E27',
  locked: 'E28',
  unavailable: 'E29',
  'host-name': 'E30',
  outdated: 'E31',
  repaired: 'E32',
  feed: 'E33',
  report: 'E34',
  prune: 'E35',
  supervisor: 'E36',
  sandbox: 'E37',
  'queue-settings': 'E38',
  outage: 'E39',
  'in-use': 'E40',
  dependents: 'E41',
} as const;

export type ErrorKind = keyof typeof errorNumbers;

interface Facts {
  readonly cause?: unknown;
  /** The kind that has a page; left out if the message alone explains the error. */
  readonly kind?: ErrorKind | undefined;
}

/** An error that may have a page in docs/errors.md. */
abstract class KnownError extends Error {
  readonly #kind: ErrorKind | undefined;

  constructor(message: string, facts: Facts = {}) {
    super(message, {cause: facts.cause});
    this.#kind = facts.kind;
  }

  /** See `errorNumbers`. */
  get kind(): ErrorKind | undefined {
    return this.#kind;
  }
}

/** The same call may succeed later: back off and try again. */
export class RetryableError extends KnownError {
  override readonly name: string = 'RetryableError';
  /** The wait that the other side requested, in milliseconds; null if it requested none. */
  readonly retryAfterMs: number | null;

  constructor(message: string, facts: Facts & {readonly retryAfterMs?: number | null} = {}) {
    super(message, facts);
    this.retryAfterMs = facts.retryAfterMs ?? null;
  }
}

/**
 * The warehouse has no room: wait for as long as it takes, and count no failure against the waiting
 * work.
 */
export class NoRoomError extends RetryableError {
  override readonly name = 'NoRoomError';

  constructor(message: string, facts: Facts & {readonly retryAfterMs?: number | null} = {}) {
    super(message, {...facts, kind: 'room'});
  }
}

/**
 * The service shows records as they were before a write that it has confirmed: read them again
 * after a pause; that is no failure.
 */
export class OlderReadingError extends RetryableError {
  override readonly name = 'OlderReadingError';
}

/**
 * One record cannot be read or stored: quarantine it, and continue with the rest. Exit code 3 if
 * nothing catches it.
 */
export class RecordError extends KnownError {
  override readonly name = 'RecordError';
  /**
   * The place and what was expected there, without the value that came; null if the message is all.
   */
  readonly expected: string | null;

  constructor(message: string, facts: Facts & {readonly expected?: string} = {}) {
    super(message, facts);
    this.expected = facts.expected ?? null;
  }
}

/** A person must act: stop the stream, alert. Exit code 3. */
export class FatalError extends KnownError {
  override readonly name: string = 'FatalError';
}

/**
 * The service refuses our token: stop the account at once, and send no further request until a
 * person has fixed it.
 */
export class AccessError extends FatalError {
  override readonly name = 'AccessError';

  constructor(message: string, facts: Facts = {}) {
    super(message, {...facts, kind: 'token'});
  }
}

/** The command or its configuration is wrong: report it, start nothing. Exit code 2. */
export class UsageError extends KnownError {
  override readonly name = 'UsageError';
}

/**
 * The words that point to the page of an error, or of its cause: `see: fieldmirror explain E04`;
 * null if there is none. A `UsageError` without a kind gets the page for wrong usage.
 */
export function seePage(error: unknown): string | null {
  const kind = findKind(error) ?? (error instanceof UsageError ? 'usage' : undefined);
  return kind === undefined ? null : seeKind(kind);
}

/** The code of an error, or of its cause, as `E13`; null if its message alone explains it. */
export function numberOfError(error: unknown): string | null {
  const kind = findKind(error);
  return kind === undefined ? null : errorNumbers[kind];
}

/** The same words for a kind. */
export function seeKind(kind: ErrorKind): string {
  return seeNumber(errorNumbers[kind]);
}

/** The same words for the number of a page, of an error or of an alert. */
export function seeNumber(page: string): string {
  return `see: fieldmirror explain ${page}`;
}

function findKind(error: unknown): ErrorKind | undefined {
  if (!(error instanceof Error)) return undefined;
  return (error instanceof KnownError ? error.kind : undefined) ?? findKind(error.cause);
}

/**
 * Every possible cause of an alert, and its code, which has a section in docs/alerts.md. The
 * problems of `src/alerts` have these names. A code stays with its cause, and is never given to
 * another. The database has no list of causes: a new one needs only an entry here.
 */
export const causeNumbers = {
  copy: 'A01',
  'stopped-account': 'A02',
  unserved: 'A03',
  'no-worker': 'A04',
  overdue: 'A05',
  unproven: 'A06',
  failed: 'A07',
  approval: 'A08',
  'no-room': 'A09',
  quarantine: 'A10',
  'change-conflict': 'A11',
  'change-altered': 'A12',
  'change-rejected': 'A13',
  'change-in-doubt': 'A14',
  'change-failing': 'A15',
  'change-untaken': 'A16',
  'change-held': 'A17',
  drift: 'A18',
  'star-behind': 'A19',
  growth: 'A20',
  'alerts-failing': 'A21',
  'hook-failing': 'A22',
  'part-late': 'A23',
  'held-up': 'A24',
  'not-delivered': 'A25',
  'report-unsent': 'A26',
} as const;

export type Cause = keyof typeof causeNumbers;

export const causes = Object.keys(causeNumbers) as readonly Cause[];

/** The code of a cause; null for one that another version has written. */
export function numberOfCause(cause: string): string | null {
  return Object.hasOwn(causeNumbers, cause) ? causeNumbers[cause as Cause] : null;
}

/**
 * The words that point to the page: `see: fieldmirror explain A01`. For the cause of another
 * version, which has no page here, they are its name.
 */
export function seeDocs(cause: string): string {
  const page = numberOfCause(cause);
  return page === null ? `${cause}: an alert of another version` : seeNumber(page);
}

/** The ways in which a rule sends alerts. */
export const receivers = ['webhook', 'slack', 'email', 'ping'] as const;
