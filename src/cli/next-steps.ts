import {demoName} from '../core/names.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A verb, with its options, as the reader would type it at this place. Where npm runs us no program
 * of our name need be in PATH: in a checkout the scripts of its package.json run the source, and
 * npx finds a program that was installed.
 */
export function callOf(verb: string, env: Environment = process.env): string {
  const {npm_lifecycle_event: event, npm_lifecycle_script: script = ''} = env;
  if (event === undefined) return `fieldmirror ${verb}`;
  if (!script.includes('src/main.ts')) return `npx fieldmirror ${verb}`;
  if (!/^start\b/.test(verb)) return `npm run -s fieldmirror -- ${verb}`;
  return verb.replace(/^start/, 'npm start').replace(' --', ' -- --');
}

/**
 * The lines that a reader may copy after a first look.
 * @param account - the name of the account of the environment, or of the made-up one; null where
 *   there is neither
 */
export function drawNextSteps(account: string | null, env: Environment = process.env): string {
  const call = (verb: string) => callOf(verb, env);
  const steps: readonly (readonly [string, string])[] = [
    [call('status'), 'health, and how old the knowledge of each stream can be'],
    [call('start'), 'stays, mirrors by its schedules, and prints a link to the console'],
    account === demoName
      ? [`${call('reset')} && ${call('init')}`, 'your own account in place of the made-up one']
      : [call('ask'), 'the questions of an owner that have an answer'],
  ];
  const width = Math.max(...steps.map(([line]) => line.length));
  return ['What next:', ...steps.map(([line, told]) => `  ${line.padEnd(width)}  # ${told}`)].join(
    '\n',
  );
}
