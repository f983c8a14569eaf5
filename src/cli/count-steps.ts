import {drawAside} from '../core/text.ts';
import {tellStep} from './tell-step.ts';

/** A step that takes its time in equal parts. */
export interface Counter {
  /** @param done - so many parts are done */
  at(done: number): void;
  end(): void;
}

/** The place on which a counter is drawn. */
export interface Screen {
  readonly isTerminal: boolean;
  draw(chunk: Uint8Array): void;
}

const machineScreen: Screen = {isTerminal: process.stderr.isTTY === true, draw: drawAside};

/**
 * Names a step before it begins, and at a terminal counts on the same line how far it is; elsewhere
 * the name is all, as of `tellStep`.
 * @param step - a text of ours, as it is drawn as it stands
 */
export function countSteps(step: string, total: number, screen: Screen = machineScreen): Counter {
  if (!screen.isTerminal) {
    tellStep(step);
    return {at: () => {}, end: () => {}};
  }
  const draw = (text: string) => screen.draw(Buffer.from(text));
  draw(`${step} …`);
  return {
    at: (done) => draw(`\r${step}: ${done} of ${total} …`),
    end: () => draw('\n'),
  };
}
