/** The signals that ask a command to stop. */
export type StopSignal = 'SIGINT' | 'SIGTERM';

/** A command was asked to stop, and ends before it has done what it was asked for. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
  /** The signal that asked; null where nobody reads the output, or npm has ended. */
  readonly signal: StopSignal | null;

  constructor(message: string, signal: StopSignal | null, cause?: unknown) {
    super(message, {cause});
    this.signal = signal;
  }
}

/** As shells have it: 128 and the number of the signal. */
export function codeOfSignal(signal: StopSignal | null): number {
  if (signal === null) return 1;
  return signal === 'SIGINT' ? 130 : 143;
}
