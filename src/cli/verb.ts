// Every verb has this in common.

import type {Config} from '../core/config.ts';

/** The command line hands this to every verb. */
export interface Surroundings {
  /** Whether `--json` was given, wherever it stands. Known only when a verb is called. */
  readonly json: () => {readonly json: boolean};
  /** Ends what runs when a person stops it. */
  readonly signal: AbortSignal;
}

/**
 * Reads the settings, of the environment and of a file for it: see `loadConfig` and `withEnvFile`.
 * Their code is loaded by verbs alone; `--help` and `--version` need no setting.
 */
export async function config(
  options: {
    readonly isAdding?: boolean;
    /** Leaves out account and warehouse of the file: others are about to take their place. */
    readonly isAnew?: boolean;
  } = {},
): Promise<Config> {
  const [{loadConfig}, {withEnvFile}] = await Promise.all([
    import('../core/config.ts'),
    import('./env-file.ts'),
  ]);
  const {env, fromFile} = withEnvFile(process.env, options);
  const loaded = loadConfig(env, options);
  const settings = loaded.settings.map((setting) =>
    fromFile.has(setting.name) ? {...setting, source: 'file' as const} : setting,
  );
  return {...loaded, settings};
}

/** Runs a verb: its exit code becomes that of the process. */
export async function finish(verb: () => Promise<number>): Promise<void> {
  process.exitCode = await verb();
}
