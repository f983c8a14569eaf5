import type {SweepStep} from '../../src/sync/sweep/sweep-step.ts';

export interface HeldSweep {
  readonly onSweepStep: (step: SweepStep) => Promise<void>;
  /** Resolves when a sweep has written a batch and not committed it. */
  readonly held: Promise<void>;
  /** From now on sweeps go on. */
  letGo(): void;
}

/** Holds sweeps in the middle: each one with a batch that is written and not committed. */
export function holdSweeps(): HeldSweep {
  const held = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  return {
    onSweepStep: async (step) => {
      if (step !== 'batch-written') return;
      held.resolve();
      await gone.promise;
    },
    held: held.promise,
    letGo: gone.resolve,
  };
}
