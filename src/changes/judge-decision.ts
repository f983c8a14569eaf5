// Whether a decision is open to a change, before anybody takes it. The functions of the warehouse
// have the last word: a test compares the two for every state.

import type {ChangeState} from './change-states.ts';
import type {DecidableChange} from './decidable-changes.ts';
import type {Deciding, Verb} from './decide-changes.ts';

interface Rule {
  readonly states: readonly ChangeState[];
  /** As the warehouse ends the sentence: `to hold it`. */
  readonly aim: string;
}

const rules: Readonly<Record<Verb, Rule>> = {
  hold: {states: ['pending'], aim: 'hold it'},
  release: {states: ['held'], aim: 'release it'},
  retry: {states: ['pending', 'in_doubt', 'rejected'], aim: 'try it again'},
  cancel: {states: ['held', 'pending', 'conflict', 'rejected'], aim: 'cancel it'},
  accept: {states: ['done'], aim: 'accept what the service made of it'},
  resolve: {states: ['conflict'], aim: 'resolve it'},
};

/**
 * @returns null where the change can be decided so; else why it cannot, in the words of the
 * warehouse
 */
export function judgeDecision(change: DecidableChange, deciding: Deciding): string | null {
  const {states, aim} = rules[deciding.verb];
  const {state, isTaken} = change;
  if (!states.includes(state) || isTaken)
    return `expected ${states.join(' or ')} to ${aim}, got ${state}${isTaken ? ', and a worker has it' : ''}`;
  return judgeFurther(change, deciding);
}

function judgeFurther(change: DecidableChange, {verb, given}: Deciding): string | null {
  const {heldFor, reason, isOvertaken, isAltered} = change;
  if (verb === 'release' && heldFor !== null) return reason ?? '';
  if (verb === 'retry' && isOvertaken) return 'a later change of the same record has overtaken it';
  if (verb === 'accept' && !isAltered)
    return 'expected one that the service altered, and that nobody has accepted yet';
  return verb === 'resolve' ? judgeResolve(change, given ?? 'nothing') : null;
}

function judgeResolve({isFought, operation}: DecidableChange, given: string): string | null {
  if (isFought)
    return given === 'service' || given === 'warehouse'
      ? null
      : `expected service or warehouse, got ${given}`;
  if (given === 'service') return null;
  if (operation === 'create') {
    if (given === 'resend' || /^[1-9]\d{0,17}$/.test(given)) return null;
    return `expected service (give it up), the number of the record that it became, or resend, got ${given}`;
  }
  if (operation === 'update') return `expected service (give it up), got ${given}`;
  return given === 'resend' ? null : `expected service (give it up), or resend, got ${given}`;
}
