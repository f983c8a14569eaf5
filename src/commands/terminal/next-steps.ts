import {demoName} from '../../views/demo-name.ts';

/** Whether npm runs us from a checkout, where no program of our name is in PATH. */
function isOfNpm(env: Readonly<Record<string, string | undefined>>): boolean {
  return env.npm_lifecycle_event !== undefined;
}

/** A verb as the reader would type it at this place. */
export function callOf(verb: string, env: Readonly<Record<string, string | undefined>>): string {
  if (!isOfNpm(env)) return `fieldmirror ${verb}`;
  return verb === 'start' ? 'npm start' : `npm run -s fieldmirror -- ${verb}`;
}

/**
 * The lines that a reader may copy after a first look.
 * @param account - the name of the account of the environment, or of the made-up one; null where there is neither
 */
export function drawNextSteps(
  account: string | null,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const call = (verb: string) => callOf(verb, env);
  const steps: readonly (readonly [string, string])[] = [
    [call('status'), 'health, and how old the knowledge of each stream can be'],
    [call('start'), 'stays, mirrors by its schedules, and prints a link to the console'],
    account === demoName
      ? [`${call('reset')} && ${call('init')}`, 'your own account in place of the made-up one']
      : [call('ask'), 'the questions of an owner that have an answer'],
  ];
  const width = Math.max(...steps.map(([line]) => line.length));
  return ['What next:', ...steps.map(([line, told]) => `  ${line.padEnd(width)}  # ${told}`)].join('\n');
}
