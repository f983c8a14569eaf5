import {tellAside} from './text.ts';

/**
 * Names a step before it begins to take its time. On standard error: standard output holds results
 * alone.
 * @param step - `starting Postgres in .fieldmirror/postgres`
 */
export function tellStep(step: string): void {
  tellAside(`${step} …\n`);
}
