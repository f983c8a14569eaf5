// The address of a rule that a file of settings has made, and nothing beside it.

import {tellAddressStep} from '../alerts/address-step.ts';
import type {AlertRule} from '../alerts/alert-rules.ts';
import {UsageError} from '../core/errors.ts';
import type {Sealed} from '../core/secret.ts';
import type {PlannedRule, RuleOptions} from './alert-rule-plan.ts';

interface Completed {
  readonly name: string;
  readonly target: string;
  readonly sealed: Sealed;
}

/**
 * Takes of what was typed what a rule waits for.
 * @throws {UsageError} another receiver or address of e-mail, no server of e-mail, settings that
 *   the file would lose without a word
 */
export function completeRule(
  {name, receiver, target}: Pick<AlertRule, 'name' | 'receiver' | 'target'>,
  plan: PlannedRule['plan'],
  {cause, everyMs, quietMs, account}: RuleOptions & {readonly account: string | undefined},
): Completed {
  const {sealed} = plan;
  if (
    plan.receiver !== receiver ||
    sealed === null ||
    (receiver === 'email' && plan.target !== target)
  )
    throw new UsageError(
      `alerts add: expected what ${name} waits for, ${receiver === 'email' ? 'a server of e-mail for the address that it has' : `an address for ${receiver}`}, got something else: ${tellAddressStep(name, receiver)}`,
    );
  const given = [
    ...((cause ?? []).length > 0 ? ['--cause'] : []),
    ...(everyMs === undefined ? [] : ['--every']),
    ...(quietMs === undefined ? [] : ['--quiet']),
    ...(account === undefined ? [] : ['--account']),
  ];
  if (given.length === 0) return {name, target: plan.target, sealed};
  throw new UsageError(
    `alerts add: expected the address of ${name} alone, for a file of settings made it and has the rest, got ${given.join(', ')}; change the file and fieldmirror config apply it, or fieldmirror alerts remove ${name} first`,
  );
}
