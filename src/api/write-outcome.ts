import type {ExchangeFailure} from './exchange.ts';
import {describeFailure} from './network-failure.ts';
import {type Answer, isUnknownRecord, type Refusal, toWriteError} from './verdict.ts';

/**
 * The outcome of a write. `refused` and `not-sent` are certain: nothing was written. `in-doubt` is
 * not: the caller finds out by reading, and never sends again blindly.
 * @see docs/traps.md "Answers that were lost"
 */
export type WriteOutcome =
  | {readonly outcome: 'done'; readonly answer: Answer}
  | Refused
  | {readonly outcome: 'not-sent'; readonly reason: string}
  | InDoubt;

export interface Refused {
  readonly outcome: 'refused';
  readonly status: number;
  readonly words: string;
  /** The service knows no such record. */
  readonly isGone: boolean;
  /**
   * Typed by what to do next: RecordError; FatalError for 401 and 403; RetryableError for 429 and
   * 503.
   */
  readonly error: Error;
}

export interface InDoubt {
  readonly outcome: 'in-doubt';
  readonly reason: string;
  readonly status: number | null;
  /** When the service asks to be asked again, by its `Retry-After`. */
  readonly retryAfterMs: number | null;
}

/** The outcome of a write that got an answer other than success. */
export function judgeRefusal(refusal: Refusal): Refused | InDoubt {
  const {thing, status, words, retryAfterMs} = refusal;
  const error = toWriteError(refusal);
  if (error === null) {
    const reason = `${thing}: expected success, got ${status} (${words.text}), which does not say whether it was written`;
    return {outcome: 'in-doubt', reason, status, retryAfterMs};
  }
  return {outcome: 'refused', status, words: words.text, isGone: isUnknownRecord(refusal), error};
}

/**
 * The outcome of a write that got no whole answer. @param thing - the request, for the reason's
 * text
 */
export function judgeFailure(thing: string, failure: ExchangeFailure): WriteOutcome {
  const reason = `${thing}: expected an answer, got ${describeFailure(failure)}`;
  return failure.isSent
    ? {outcome: 'in-doubt', reason, status: null, retryAfterMs: null}
    : {outcome: 'not-sent', reason};
}
