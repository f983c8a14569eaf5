// This file alone reads the environment. A variable exists only if a user must decide something.

import {isIP} from 'node:net';
import {UsageError} from './errors.ts';
import {expectTimeZone, isTimeZone, nearest} from './names.ts';
import {parseRedisAddress} from './redis-address.ts';
import {parseKeys, readPrivateFile, type SealingKey, Secret} from './secret.ts';

/** One setting in effect, and where it came from, for `doctor`. */
export interface Setting {
  readonly name: string;
  /** Secrets and passwords are masked. */
  readonly value: string;
  readonly source: 'environment' | 'file' | 'default';
}

/** The account that the environment names. */
export interface AccountConfig {
  readonly apiUrl: string;
  readonly token: Secret;
}

/** The keys of S3-compatible storage. */
export interface StorageKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** Set for keys that are valid for some hours; null for others. */
  readonly sessionToken: Secret | null;
}

export interface Config {
  /**
   * Null means: the accounts whose tokens `keys` can open; without keys, the reference service with
   * made-up data.
   */
  readonly account: AccountConfig | null;
  /** The keys of the tokens in the warehouse: the first seals, all open; empty if none is given. */
  readonly keys: readonly SealingKey[];
  /** For `accounts add`: a token, and the address that it is for, if one is given. */
  readonly token: Secret | null;
  readonly apiUrl: string | null;
  /** The account's IANA zone. */
  readonly timeZone: string;
  /** Postgres of the warehouse; null means: the embedded one in `home`. */
  readonly databaseUrl: string | null;
  /**
   * The same Postgres without a pooler that shares sessions: for migrations, LISTEN and the queue;
   * null means: there is no such pooler.
   */
  readonly directUrl: string | null;
  /** Redis of the queue; null means: the queue is in the warehouse's Postgres. */
  readonly redisUrl: string | null;
  /** Folder of local state: the embedded Postgres. */
  readonly home: string;
  /** Folder of the weekly reports; null means: none is made automatically. */
  readonly reports: string | null;
  /** The mail server for alerts, with its password; null means: each rule has its own. */
  readonly smtpUrl: Secret | null;
  /** The keys of S3-compatible storage that the star is delivered to; null if none are given. */
  readonly storageKeys: StorageKeys | null;
  /**
   * How large the database and its tables may grow before a person is alerted; null means: only a
   * full disk is reported.
   */
  readonly bounds: string | null;
  /** How many days of history the demo has when it is first opened. */
  readonly demoNights: number;
  /** Whether plain http to another machine is allowed. */
  readonly allowsHttp: boolean;
  /** Whether connections to link-local addresses and to those of a cloud's metadata are allowed. */
  readonly allowsLinkLocal: boolean;
  readonly logLevel: string;
  /** The address by which people reach the console; null: that of this machine. */
  readonly consoleUrl: URL | null;
  /** Further names by which systems reach the server, such as that of a service in a cluster. */
  readonly hostNames: readonly string[];
  /** A proxy that signs people in: its addresses, and the headers that hold name and role. */
  readonly proxy: {
    readonly addresses: readonly string[];
    readonly nameHeader: string;
    readonly roleHeader: string;
  } | null;
  readonly settings: readonly Setting[];
}

/** The prefix of our settings. */
const prefix = 'FIELDMIRROR_';
/** The zone of the made-up business. */
const demoTimeZone = 'America/New_York';

/** @returns what was expected of the value; null if the value is valid */
type Check = (value: string) => string | null;

const acceptAnything: Check = () => null;
const checkSwitch: Check = (value) => (/^[01]$/.test(value) ? null : 'expected 0 or 1');

/**
 * Every setting, with the check of its value. The checks do not use zod, which takes 50 ms to load:
 * a fifth of the whole time of `status`.
 */
const checks = {
  FIELDMIRROR_API_URL: (value) => checkAddress(value, ['https:', 'http:']),
  FIELDMIRROR_API_TOKEN: acceptAnything,
  FIELDMIRROR_TIME_ZONE: (value) => (isTimeZone(value) ? null : expectTimeZone(value)),
  FIELDMIRROR_KEY: acceptAnything,
  FIELDMIRROR_KEY_FILE: acceptAnything,
  DATABASE_URL: (value) => checkAddress(value, ['postgres:', 'postgresql:']),
  DATABASE_DIRECT_URL: (value) => checkAddress(value, ['postgres:', 'postgresql:']),
  REDIS_URL: checkRedis,
  FIELDMIRROR_HOME: acceptAnything,
  FIELDMIRROR_ENV_FILE: acceptAnything,
  FIELDMIRROR_REPORTS: acceptAnything,
  FIELDMIRROR_SMTP_URL: (value) => checkAddress(value, ['smtp:', 'smtps:']),
  AWS_ACCESS_KEY_ID: acceptAnything,
  AWS_SECRET_ACCESS_KEY: acceptAnything,
  AWS_SESSION_TOKEN: acceptAnything,
  FIELDMIRROR_BOUNDS: (value) =>
    /^([\w.]+=\d+[MGT]B(,|$))+$/.test(value)
      ? null
      : 'expected bounds such as database=50GB,disk=5GB',
  FIELDMIRROR_DEMO_NIGHTS: (value) =>
    /^([0-9]|[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-5])$/.test(value)
      ? null
      : 'expected 0 to 365',
  FIELDMIRROR_ALLOW_HTTP: checkSwitch,
  FIELDMIRROR_ALLOW_LINK_LOCAL: checkSwitch,
  FIELDMIRROR_CONSOLE_URL: (value) => checkAddress(value, ['https:', 'http:']) ?? checkRoot(value),
  FIELDMIRROR_HOST_NAMES: (value) =>
    splitList(value).every((name) => /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(name))
      ? null
      : 'expected names without a port, such as fieldmirror,fieldmirror.prod.svc',
  FIELDMIRROR_PROXY: (value) =>
    splitList(value).every((address) => isIP(address) !== 0)
      ? null
      : 'expected addresses such as 10.0.0.5',
  FIELDMIRROR_PROXY_HEADERS: (value) =>
    /^[A-Za-z0-9-]+ *, *[A-Za-z0-9-]+$/.test(value)
      ? null
      : 'expected two names of headers, for the name and for the role',
  FIELDMIRROR_LOG_LEVEL: (value) =>
    /^(debug|info|warn|error|silent)$/.test(value)
      ? null
      : 'expected debug, info, warn, error or silent',
} as const satisfies Record<string, Check>;

const defaults = {
  FIELDMIRROR_HOME: '.fieldmirror',
  FIELDMIRROR_DEMO_NIGHTS: '90',
  FIELDMIRROR_ALLOW_HTTP: '0',
  FIELDMIRROR_ALLOW_LINK_LOCAL: '0',
  FIELDMIRROR_PROXY_HEADERS: 'X-Forwarded-User, X-Forwarded-Role',
  FIELDMIRROR_LOG_LEVEL: 'warn',
} as const;

type SettingName = keyof typeof checks;
/** The settings of the environment that are not empty. */
type EnvironmentValues = Readonly<Partial<Record<SettingName, string>>>;
type Values = EnvironmentValues & Readonly<Record<keyof typeof defaults, string>>;

const settingNames = Object.keys(checks) as SettingName[];

/**
 * Reads and checks every setting, and reports all problems in one message. Of the file system it
 * reads only the key's file.
 * @param options.isAdding - an account is being added: a token alone is enough
 * @throws {UsageError} lines such as `config: DATABASE_URL: expected an address that begins with
 *   postgres:// or postgresql://, got "localhost"`
 */
export function loadConfig(
  env: Readonly<Record<string, string | undefined>>,
  options: {readonly isAdding?: boolean} = {},
): Config {
  const environmentValues = readEnvironmentValues(env);
  const {keys, problem} = readKeys(environmentValues);
  const valueProblems = settingNames.flatMap((name) =>
    describeProblem(name, environmentValues[name]),
  );
  const problems = [
    ...findUnknownNames(env),
    ...(problem === null ? [] : [problem]),
    ...valueProblems,
    ...findLoneDirectUrl(environmentValues),
  ];
  if (valueProblems.length === 0 && options.isAdding !== true)
    problems.push(...findMissing(environmentValues));
  if (problems.length > 0) throw new UsageError(problems.join('\n'), {kind: 'settings'});
  const values = {...defaults, ...environmentValues};
  return Object.freeze({
    account: readAccount(values),
    keys,
    token:
      values.FIELDMIRROR_API_TOKEN === undefined ? null : new Secret(values.FIELDMIRROR_API_TOKEN),
    apiUrl: values.FIELDMIRROR_API_URL ?? null,
    timeZone: values.FIELDMIRROR_TIME_ZONE ?? demoTimeZone,
    databaseUrl: values.DATABASE_URL ?? null,
    directUrl: values.DATABASE_DIRECT_URL ?? null,
    redisUrl: values.REDIS_URL ?? null,
    home: values.FIELDMIRROR_HOME,
    reports: values.FIELDMIRROR_REPORTS ?? null,
    smtpUrl:
      values.FIELDMIRROR_SMTP_URL === undefined ? null : new Secret(values.FIELDMIRROR_SMTP_URL),
    storageKeys: readStorageKeys(values),
    bounds: values.FIELDMIRROR_BOUNDS ?? null,
    demoNights: Number(values.FIELDMIRROR_DEMO_NIGHTS),
    allowsHttp: values.FIELDMIRROR_ALLOW_HTTP === '1',
    allowsLinkLocal: values.FIELDMIRROR_ALLOW_LINK_LOCAL === '1',
    logLevel: values.FIELDMIRROR_LOG_LEVEL,
    consoleUrl:
      values.FIELDMIRROR_CONSOLE_URL === undefined ? null : new URL(values.FIELDMIRROR_CONSOLE_URL),
    hostNames:
      values.FIELDMIRROR_HOST_NAMES === undefined ? [] : splitList(values.FIELDMIRROR_HOST_NAMES),
    proxy: readProxy(values),
    settings: listSettings(values, environmentValues),
  });
}

function readEnvironmentValues(
  env: Readonly<Record<string, string | undefined>>,
): EnvironmentValues {
  const trimmed = settingNames.map((name) => [name, env[name]?.trim()]);
  return Object.fromEntries(trimmed.filter(([, value]) => value !== undefined && value !== ''));
}

function checkAddress(value: string, protocols: readonly string[]): string | null {
  const beginnings = protocols.map((protocol) => `${protocol}//`);
  const isAddress =
    URL.canParse(value) && beginnings.some((beginning) => value.startsWith(beginning));
  return isAddress ? null : `expected an address that begins with ${beginnings.join(' or ')}`;
}

/** The links of the console begin at the root of its name. */
function checkRoot(value: string): string | null {
  const {origin, href} = new URL(value);
  return href === `${origin}/` ? null : `expected a name without a path, such as ${origin}`;
}

function checkRedis(value: string): string | null {
  try {
    parseRedisAddress(value);
    return null;
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

function readAccount(values: Values): AccountConfig | null {
  const {FIELDMIRROR_API_URL: apiUrl, FIELDMIRROR_API_TOKEN: token} = values;
  return apiUrl === undefined || token === undefined ? null : {apiUrl, token: new Secret(token)};
}

/** If only one of the two is given, it does not count: it may be meant for another program. */
function readStorageKeys({
  AWS_ACCESS_KEY_ID: accessKeyId,
  AWS_SECRET_ACCESS_KEY: secret,
  AWS_SESSION_TOKEN: token,
}: Values): StorageKeys | null {
  if (accessKeyId === undefined || secret === undefined) return null;
  const sessionToken = token === undefined ? null : new Secret(token);
  return {accessKeyId, secretAccessKey: new Secret(secret), sessionToken};
}

function readProxy({
  FIELDMIRROR_PROXY: addresses,
  FIELDMIRROR_PROXY_HEADERS: headers,
}: Values): Config['proxy'] {
  if (addresses === undefined) return null;
  // Node returns the names of headers in lower case.
  const [nameHeader = '', roleHeader = ''] = splitList(headers.toLowerCase());
  return {addresses: splitList(addresses), nameHeader, roleHeader};
}

function splitList(text: string): string[] {
  return text.split(',').map((word) => word.trim());
}

/** Reports misspelled settings, which would otherwise be ignored silently. */
function findUnknownNames(env: Readonly<Record<string, string | undefined>>): string[] {
  const known: readonly string[] = settingNames;
  return Object.keys(env)
    .filter((name) => name.startsWith(prefix) && !known.includes(name))
    .map((name) => {
      return `config: ${name}: there is no such setting${nearestSetting(name, known)}; unset it`;
    });
}

/** Compares names without the common prefix, which would make any two of them alike. */
function nearestSetting(name: string, known: readonly string[]): string {
  const ours = known
    .filter((knownName) => knownName.startsWith(prefix))
    .map((ourName) => ourName.slice(prefix.length));
  const typed = name.slice(prefix.length);
  const meant = ours.find((ourName) => ourName.endsWith(`_${typed}`)) ?? typed;
  return (
    nearest(meant, ours).replace('mean ', `mean ${prefix}`) ||
    `; there are ${ours.map((ourName) => prefix + ourName).join(', ')}`
  );
}

/**
 * Reports DATABASE_DIRECT_URL without DATABASE_URL: it would be ignored silently, and the embedded
 * Postgres would be used.
 */
function findLoneDirectUrl({
  DATABASE_URL: url,
  DATABASE_DIRECT_URL: directUrl,
}: EnvironmentValues): string[] {
  if (directUrl === undefined || url !== undefined) return [];
  return [
    'config: DATABASE_DIRECT_URL: expected DATABASE_URL beside it, got nothing; without a ' +
      'pooler DATABASE_URL alone is enough',
  ];
}

/** A real account needs three variables together; only some of them are a mistake, not a demo. */
function findMissing(environmentValues: EnvironmentValues): string[] {
  if (
    environmentValues.FIELDMIRROR_API_URL === undefined &&
    environmentValues.FIELDMIRROR_API_TOKEN === undefined
  )
    return [];
  const requiredSettings = {
    FIELDMIRROR_API_URL: "the account's base address, such as https://app.example.com/acme",
    FIELDMIRROR_API_TOKEN: "an employee's API token, from the employee management of the account",
    FIELDMIRROR_TIME_ZONE: "the account's IANA zone, such as America/New_York",
  } as const;
  return Object.entries(requiredSettings)
    .filter(([name]) => environmentValues[name as keyof typeof requiredSettings] === undefined)
    .map(
      ([name, description]) =>
        `config: ${name}: expected ${description}, got nothing; a real account needs all three`,
    );
}

function describeProblem(name: SettingName, value: string | undefined): string[] {
  const expected = value === undefined ? null : checks[name](value);
  return expected === null
    ? []
    : [`config: ${name}: ${expected}, got "${mask(name, value ?? '')}"`];
}

/** @returns no keys if none are given; the problem never quotes a key */
function readKeys(environmentValues: EnvironmentValues): {
  readonly keys: readonly SealingKey[];
  readonly problem: string | null;
} {
  const {FIELDMIRROR_KEY: text, FIELDMIRROR_KEY_FILE: path} = environmentValues;
  if (text !== undefined && path !== undefined)
    return {
      keys: [],
      problem: 'config: FIELDMIRROR_KEY: expected it or FIELDMIRROR_KEY_FILE, got both',
    };
  const name = path === undefined ? 'FIELDMIRROR_KEY' : 'FIELDMIRROR_KEY_FILE';
  try {
    const keyText = path === undefined ? text : readPrivateFile(path);
    return {keys: keyText === undefined ? [] : parseKeys(keyText), problem: null};
  } catch (error) {
    const expected =
      error instanceof UsageError ? error.message : `expected a file, got ${String(error)}`;
    return {keys: [], problem: `config: ${name}: ${expected}`};
  }
}

function listSettings(
  values: Values,
  environmentValues: Readonly<Record<string, string | undefined>>,
): Setting[] {
  const whenUnset: Record<string, string> = {
    FIELDMIRROR_API_URL: '(the reference service, made-up data)',
    FIELDMIRROR_API_TOKEN: '(its own)',
    FIELDMIRROR_TIME_ZONE: demoTimeZone,
    DATABASE_URL: '(embedded Postgres)',
    DATABASE_DIRECT_URL: '(DATABASE_URL: no pooler in between)',
    REDIS_URL: '(the queue is in Postgres)',
    FIELDMIRROR_CONSOLE_URL: '(this machine alone)',
    FIELDMIRROR_HOST_NAMES: '(none but those above)',
    FIELDMIRROR_PROXY: '(none signs people in)',
    FIELDMIRROR_KEY: '(none: tokens cannot be sealed or opened)',
    FIELDMIRROR_KEY_FILE: '',
  };
  return Object.entries({...whenUnset, ...values}).map(([name, value = '']) => {
    const isGiven = environmentValues[name] !== undefined;
    return {
      name,
      value: isGiven ? mask(name, value) : value,
      source: isGiven ? 'environment' : 'default',
    };
  });
}

/** Settings that are never shown. */
const secretNames: readonly string[] = [
  ...['FIELDMIRROR_API_TOKEN', 'FIELDMIRROR_KEY', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'],
];

function mask(name: string, value: string): string {
  if (secretNames.includes(name)) return '[secret]';
  const maskedText = value.replaceAll(/([?&]\w*password=)[^&]*/g, '$1[secret]');
  // Up to the last @: a password may hold an @ or a / that was not encoded.
  return maskedText.replace(/^((?:[^:@]*:\/\/)?[^:@/]*:(?!\/\/)).*@/, '$1[secret]@');
}
