import type {AccountApi} from '../accounts/open-accounts.ts';
import type {ChangeFacts} from './facts.ts';
import type {PushDeps} from './push-deps.ts';
import type {PushStep} from './push-step.ts';

/** A change in hand, and the account where it is sent and read. */
export interface ChangeContext extends Pick<ChangeFacts, 'change' | 'writes' | 'stream' | 'rules'> {
  readonly deps: PushDeps;
  readonly account: AccountApi;
  /** Aborts at shutdown, and when the change is no longer ours. */
  readonly signal: AbortSignal;
}

/** Tells that the change has reached a step. */
export async function atStep(
  {deps, change}: Pick<ChangeContext, 'deps' | 'change'>,
  step: PushStep,
): Promise<void> {
  await deps.onStep?.(step, change.changeId);
}
