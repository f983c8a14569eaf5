import type {SweepStep} from '../../src/sweeps/sweeps.ts';

export interface HeldSweep {
  readonly onSweepStep: (step: SweepStep) => Promise<void>;
  /** Resolves when a sweep has written a batch and not committed it. */
  readonly held: Promise<void>;
  /** From now on it goes on. */
  letGo(): void;
}

/**
 * Holds the first sweep that comes there in the middle, with a batch that is written and not
 * committed. A second one would take the last session of a small pooler, and nothing beside the
 * sweeps would go on.
 */
export function holdSweep(): HeldSweep {
  const held = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  let isHeld = false;
  return {
    onSweepStep: async (step) => {
      if (step !== 'batch-written' || isHeld) return;
      isHeld = true;
      held.resolve();
      await gone.promise;
    },
    held: held.promise,
    letGo: gone.resolve,
  };
}
