// Every verb has this in common.

import type {Config} from '../base/config.ts';

/** The command line hands this to every verb. */
export interface Surroundings {
  /** Whether `--json` was given, wherever it stands. Known only when a verb is called. */
  readonly json: () => {readonly json: boolean};
  /** Ends what runs when a person stops it. */
  readonly signal: AbortSignal;
}

/** Reads the settings: see `loadConfig`. Its code is loaded by verbs alone; `--help` and `--version` need no setting. */
export async function config(options: {readonly isAdding?: boolean} = {}): Promise<Config> {
  const {loadConfig} = await import('../base/config.ts');
  return loadConfig(process.env, options);
}

/** Runs a verb: its exit code becomes that of the process. */
export async function finish(verb: () => Promise<number>): Promise<void> {
  process.exitCode = await verb();
}
