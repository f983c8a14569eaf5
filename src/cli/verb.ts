// Code that the definitions of all verbs share: how settings and arguments are read, and how a run
// ends.

import {
  chmodSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import {parseEnv} from 'node:util';
import {InvalidArgumentError} from 'commander';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {parseInterval} from '../core/format.ts';
import {readPrivateFile} from '../core/secret.ts';
import {isId} from '../core/text.ts';

/** The command line passes this to every verb. */
export interface CliContext {
  /** Whether `--json` was given, in any place. Known only when a verb is called. */
  readonly json: () => {readonly json: boolean};
  /** Ends what runs when a person stops it. */
  readonly signal: AbortSignal;
}

/**
 * Reads the settings, of the environment and of a file for it: see `loadConfig` and `withEnvFile`.
 * Only verbs load the first; `--help` and `--version` need no setting.
 */
export async function config(
  options: {
    readonly isAdding?: boolean;
    /** Leaves out account and warehouse of the file: new ones are about to replace them. */
    readonly isAnew?: boolean;
  } = {},
): Promise<Config> {
  const {loadConfig} = await import('../core/config.ts');
  const {env, fromFile} = withEnvFile(process.env, options);
  const loaded = loadConfig(env, options);
  const settings = loaded.settings.map((setting) =>
    fromFile.has(setting.name) ? {...setting, source: 'file' as const} : setting,
  );
  return {...loaded, settings};
}

/** Runs a verb: its exit code becomes that of the process. */
export async function finishVerb(verb: () => Promise<number>): Promise<void> {
  process.exitCode = await verb();
}

// Arguments are read before a verb's code is loaded: a wrong one is reported with the usage.

/** Collects the words of an option that may be repeated. */
export function addWord(word: string, words: readonly string[]): readonly string[] {
  return [...words, word];
}

export function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('expected a port, 0 to 65535 (0: any free one)');
}

/**
 * Accepts segments that no router reads as a pattern, and that every client writes in the same way.
 */
export function readBasePath(text: string): string {
  if (/^(\/[\w-]+)*\/?$/.test(text)) return text.replace(/\/$/, '');
  throw new InvalidArgumentError(
    'expected a path such as /acme: letters, digits, - and _ between slashes',
  );
}

export function readCount(text: string): number {
  if (/^[1-9]\d{0,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected a whole number from 1 on');
}

/** `90s`, `5m`, `4h`, `2d` @returns milliseconds */
export function readSpan(text: string): number {
  const ms = parseInterval(text);
  if (ms !== null) return ms;
  throw new InvalidArgumentError('expected a span such as 30s, 5m, 4h or 2d');
}

/** An instant needs at least hours and minutes, and its offset. */
const instantShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)$/;

/** A moment since which something was done: a span before now, or an instant. */
type Since = {readonly within: string} | {readonly since: string};

/** `2h` or `2027-03-14T09:30:00Z` */
export function readSince(text: string): Since {
  const ms = parseInterval(text);
  if (ms !== null) return {within: `${ms / 1_000} seconds`};
  if (instantShape.test(text) && !Number.isNaN(Date.parse(text))) return {since: text};
  throw new InvalidArgumentError(
    'expected a span such as 30m, 2h or 3d, or an instant with its offset such as ' +
      '2027-03-14T09:30:00Z',
  );
}

/** The number of a transaction. */
export function readNumber(text: string): string {
  if (isId(text)) return text;
  throw new InvalidArgumentError('expected a number');
}

// Settings of the environment, kept in a file: `.env` of the current folder, or another one that is
// named.

type Env = Readonly<Record<string, string | undefined>>;

/** Our settings that begin with another word than FIELDMIRROR_. */
const otherSettings = [
  ...['DATABASE_URL', 'DATABASE_DIRECT_URL', 'REDIS_URL'],
  ...['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'],
];
/**
 * Settings that belong together. If the environment gives another value to the first of a group,
 * the others in the file are meant for something else, and are ignored. Above all, a token is sent
 * to no other address.
 */
const accountSettings = ['FIELDMIRROR_API_URL', 'FIELDMIRROR_API_TOKEN', 'FIELDMIRROR_TIME_ZONE'];
const warehouseSettings = ['DATABASE_URL', 'DATABASE_DIRECT_URL'];
const settingGroups = [
  accountSettings,
  warehouseSettings,
  ['FIELDMIRROR_KEY', 'FIELDMIRROR_KEY_FILE'],
  ['FIELDMIRROR_KEY_FILE', 'FIELDMIRROR_KEY'],
];

/** The file of settings of the warehouse, unless another one is named. */
export const settingsFile = 'fieldmirror.yaml';

/** The file of settings of the process, unless another one is named. */
export function envFileOf({FIELDMIRROR_ENV_FILE: file}: Env): string {
  return file === undefined || file.trim() === '' ? '.env' : file.trim();
}

/**
 * The environment, with the settings that a file adds to it: the environment takes precedence.
 * @param options.isAnew - account and warehouse of the file are left out
 * @returns also the names that the file has given
 * @throws {UsageError} the file cannot be read, or others may read it
 */
export function withEnvFile(
  env: Env,
  {isAnew = false}: {readonly isAnew?: boolean} = {},
): {readonly env: Env; readonly fromFile: ReadonlySet<string>} {
  const excludedNames = isAnew ? [...accountSettings, ...warehouseSettings] : [];
  const fileSettings = readEnvFile(env, {isAnew});
  const isGiven = (name: string) => (env[name] ?? '').trim() !== '';
  const ignoredNames = settingGroups.flatMap(([first = '', ...rest]) =>
    isGiven(first) && env[first]?.trim() !== fileSettings[first]?.trim() ? rest : [],
  );
  const added = Object.entries(fileSettings).filter(
    ([name]) =>
      isOwnSetting(name) && !isGiven(name) && ![...excludedNames, ...ignoredNames].includes(name),
  );
  return {
    env: {...env, ...Object.fromEntries(added)},
    fromFile: new Set(added.map(([name]) => name)),
  };
}

function isOwnSetting(name: string): boolean {
  return name.startsWith('FIELDMIRROR_') || otherSettings.includes(name);
}

/**
 * The settings of the file. If the file does not exist, there are none, unless it was named and is
 * not about to be written. A file without any FIELDMIRROR_ setting belongs to another program,
 * whatever its DATABASE_URL is.
 * @throws {UsageError} the file cannot be read, or others may read it
 */
export function readEnvFile(env: Env, {isAnew = false} = {}): Env {
  const file = envFileOf(env);
  const isNamed = (env.FIELDMIRROR_ENV_FILE ?? '').trim() !== '';
  if (!existsSync(file)) {
    if (isAnew || !isNamed) return {};
    throw new UsageError(
      `${file}: expected a file of settings, got none of that name; fix FIELDMIRROR_ENV_FILE, ` +
        'or unset it for .env',
    );
  }
  try {
    const settings = parseEnv(readFileSync(file, 'utf8'));
    if (!Object.keys(settings).some((name) => name.startsWith('FIELDMIRROR_'))) return {};
    readPrivateFile(file);
    return settings;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const problem =
      cause instanceof UsageError ? reason : `expected a file that can be read, got ${reason}`;
    throw new UsageError(`${file}: ${problem}`, {cause});
  }
}

/** @throws {UsageError} the path is no regular file, such as /dev/null, which means no settings */
export function expectFile(file: string): void {
  if (!existsSync(file) || statSync(file).isFile()) return;
  throw new UsageError(
    `${file}: expected a file of settings, or none yet, got something else; ` +
      'fix FIELDMIRROR_ENV_FILE',
  );
}

/**
 * Writes settings into the file, which only its owner can read; lines with other names stay as they
 * are.
 * @param settings - null removes a setting from the file
 */
export function writeEnvFile(
  file: string,
  settings: Readonly<Record<string, string | null>>,
): void {
  expectFile(file);
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  const keptLines = lines.filter((line) => {
    const [, name = ''] = /^\s*(?:export\s+)?(\w+)\s*=/.exec(line) ?? [];
    return !Object.hasOwn(settings, name);
  });
  while (keptLines.at(-1) === '') keptLines.pop();
  const addedLines = Object.entries(settings).flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${quote(value)}`],
  );
  try {
    // A symbolic link stays one.
    const target = existsSync(file) ? realpathSync(file) : file;
    const part = `${target}.part`;
    writeFileSync(part, `${[...keptLines, ...addedLines].join('\n')}\n`, {mode: 0o600});
    chmodSync(part, 0o600);
    renameSync(part, target);
  } catch (cause) {
    throw new UsageError(`${file}: expected a file that can be written, got ${String(cause)}`, {
      cause,
    });
  }
}

/** Quotes a value so that shells, systemd and docker compose read it, too. */
function quote(value: string): string {
  if (/^[\w./:@%+=,~?&-]*$/.test(value)) return value;
  const mark = [`'`, '"', '`'].find((candidate) => !value.includes(candidate));
  if (mark !== undefined && !/[\n\r]/.test(value)) return `${mark}${value}${mark}`;
  throw new UsageError('a value of .env: expected one line without all three kinds of quotes');
}
