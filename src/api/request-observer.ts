import type {ExchangeFailure} from './exchange.ts';
import type {WriteOutcome} from './write-outcome.ts';

/** One request that came to its end; of a read that is asked again, each attempt is one. */
export interface EndedRequest {
  readonly method: string;
  /** Status of the answer, or why there is no whole one. */
  readonly result: number | ExchangeFailure['kind'];
  /** From the first byte asked to the last one got, without waiting for a turn. */
  readonly ms: number;
  /** Bytes of the answer's body on the wire. */
  readonly bodyBytes: number;
  /** How many requests at once the account is known to bear by now. */
  readonly concurrency: number;
}

/** Told of the requests of one account, in order to count them; it must not throw. */
export interface RequestObserver {
  /** A request that was sent, or could not be: one that we kept back ourselves is not told. */
  ended(request: EndedRequest): void;
  /** A write whose turn had come, and the fate of it that is known. */
  written(outcome: WriteOutcome['outcome']): void;
}

/** Told of the requests of every account, by the account's name. */
export type AccountObserver = {
  readonly [Event in keyof RequestObserver]: (
    account: string,
    ...event: Parameters<RequestObserver[Event]>
  ) => void;
};
