// Errors are typed by what the caller does next. Messages name the thing, what was expected and what came,
// and the next step; they carry identifiers, never payloads and never secrets.

interface Facts {
  readonly cause?: unknown;
}

/** The thing may work later, unchanged: back off and try again. */
export class RetryableError extends Error {
  override readonly name: string = 'RetryableError';
  /** How long the other side asked us to wait, in milliseconds; null where it said nothing. */
  readonly retryAfterMs: number | null;

  constructor(message: string, facts: Facts & {readonly retryAfterMs?: number | null} = {}) {
    super(message, {cause: facts.cause});
    this.retryAfterMs = facts.retryAfterMs ?? null;
  }
}

/** The warehouse has no room: wait for as long as it takes, and count no failure against the waiting work. */
export class NoRoomError extends RetryableError {
  override readonly name = 'NoRoomError';
}

/** One record cannot be read or taken: quarantine it, go on with the rest. */
export class RecordError extends Error {
  override readonly name = 'RecordError';

  constructor(message: string, facts: Facts = {}) {
    super(message, {cause: facts.cause});
  }
}

/** A person must act: stop the stream, alert. Exit code 3. */
export class FatalError extends Error {
  override readonly name: string = 'FatalError';

  constructor(message: string, facts: Facts = {}) {
    super(message, {cause: facts.cause});
  }
}

/** The service refuses our token: stop the account at once, and ask for nothing more until a person has mended it. */
export class AccessError extends FatalError {
  override readonly name = 'AccessError';
}

/** The command or its configuration is wrong: say so, start nothing. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';

  constructor(message: string, facts: Facts = {}) {
    super(message, {cause: facts.cause});
  }
}
