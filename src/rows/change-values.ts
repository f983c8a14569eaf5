/** A value as a change keeps it: its text, null, or the ids of an array. */
export type ChangeValue = string | null | readonly string[];
export type ChangeValues = Readonly<Record<string, ChangeValue>>;

/** The result of a change at the service, where it is not the one asked for. */
export interface ChangeResult {
  /** Fields that came back with another meaning than they were sent with. */
  readonly altered?: Readonly<
    Record<string, {readonly sent: ChangeValue; readonly got: ChangeValue}>
  >;
  /** Fields that came back in another writing: trimmed, or their signs in another order. */
  readonly tidied?: Readonly<
    Record<string, {readonly sent: ChangeValue; readonly got: ChangeValue}>
  >;
  /** Fields that were not sent, for the service held them already. */
  readonly unsent?: readonly string[];
  /** Records that a create in doubt may have become. */
  readonly candidates?: readonly string[];
}
