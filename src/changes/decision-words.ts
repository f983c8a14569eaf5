import type {Verb} from './decide-changes.ts';

/** What a decision does, as an operator is told. */
export const decisionsDo: Readonly<Record<Exclude<Verb, 'resolve'>, string>> = {
  retry: 'try again at once what waits, and send once more what was refused',
  hold: 'send nothing of it until it is released',
  release: 'let what is held go',
  cancel: 'give it up: the row gets back what it held before',
  accept: 'say that you looked at what the service altered: further changes of that kind go on',
};
