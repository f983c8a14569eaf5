// Every verb has this in common.

import {type Config, loadConfig} from '../base/config.ts';

/** The command line hands this to every verb. */
export interface Surroundings {
  /** Whether `--json` was given, wherever it stands. Known only when a verb is called. */
  readonly json: () => {readonly json: boolean};
  /** Ends what runs when a person stops it. */
  readonly signal: AbortSignal;
}

export function config(): Config {
  return loadConfig(process.env);
}

/** Runs a verb: its exit code becomes that of the process. */
export async function finish(verb: () => Promise<number>): Promise<void> {
  process.exitCode = await verb();
}
