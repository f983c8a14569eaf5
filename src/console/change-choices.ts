import type {Deciding} from '../changes/decide-changes.ts';
import {decisionsDo} from '../changes/decision-words.ts';

/** A decision that may be made about many changes at once. */
export interface Choice {
  /** As forms and addresses have it. */
  readonly name: string;
  /** The words on its button. */
  readonly label: string;
  readonly does: string;
  readonly deciding: Deciding;
  /** A step that is not taken back easily. */
  readonly isGrave: boolean;
}

/** A create is adopted or sent once more one at a time: each needs its own look at the service. */
export const choices: readonly Choice[] = [
  choose('hold', 'Hold', {verb: 'hold'}),
  choose('release', 'Release', {verb: 'release'}),
  choose('retry', 'Try again', {verb: 'retry'}),
  choose('cancel', 'Give up', {verb: 'cancel'}),
  choose('accept', 'Accept', {verb: 'accept'}),
  {
    name: 'take-service',
    label: 'Take the service’s values',
    does: 'give up what both sides changed, and keep what the service holds',
    deciding: {verb: 'resolve', given: 'service'},
    isGrave: true,
  },
  {
    name: 'take-warehouse',
    label: 'Take the warehouse’s values',
    does: 'send what is wanted here, though the service was changed as well',
    deciding: {verb: 'resolve', given: 'warehouse'},
    isGrave: true,
  },
];

/** @returns undefined where there is none of that name */
export function findChoice(name: string | undefined): Choice | undefined {
  return choices.find((choice) => choice.name === name);
}

function choose(name: keyof typeof decisionsDo, label: string, deciding: Deciding): Choice {
  return {name, label, does: decisionsDo[name], deciding, isGrave: name === 'cancel'};
}
