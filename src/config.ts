// The only reader of the environment. A variable exists only where a user must decide.

import {z} from 'zod';
import {UsageError} from './errors.ts';
import {Secret} from './secret.ts';

/** One setting in force and where it came from, for `doctor`. */
export interface Setting {
  readonly name: string;
  /** Secrets and passwords are masked. */
  readonly value: string;
  readonly source: 'environment' | 'default';
}

/** The account at the service; null means: the reference service with made-up data. */
export interface AccountConfig {
  readonly apiUrl: string;
  readonly token: Secret;
}

export interface Config {
  readonly account: AccountConfig | null;
  /** The account's IANA zone. */
  readonly timeZone: string;
  /** Postgres of the warehouse; null means: the embedded one in `home`. */
  readonly databaseUrl: string | null;
  /** Redis of the queue; null means: the queue is in the warehouse's Postgres. */
  readonly redisUrl: string | null;
  /** Folder of local state: the embedded Postgres. */
  readonly home: string;
  /** Whether plain http to another machine is allowed. */
  readonly allowsHttp: boolean;
  readonly logLevel: string;
  readonly settings: readonly Setting[];
}

/** Where the made-up business works. */
const demoTimeZone = 'America/New_York';

const url = (...protocols: string[]) =>
  z
    .string()
    .refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
      error: () => `expected an address that begins with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    })
    .optional();

const environment = z.object({
  FIELDMIRROR_API_URL: url('https:', 'http:'),
  FIELDMIRROR_API_TOKEN: z.string().min(1).optional(),
  FIELDMIRROR_TIME_ZONE: z.string().superRefine(checkTimeZone).optional(),
  DATABASE_URL: url('postgres:', 'postgresql:'),
  REDIS_URL: url('redis:', 'rediss:'),
  FIELDMIRROR_HOME: z.string().min(1).default('.fieldmirror'),
  FIELDMIRROR_ALLOW_HTTP: z.enum(['0', '1'], {error: () => 'expected 0 or 1'}).default('0'),
  FIELDMIRROR_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'], {
      error: () => 'expected debug, info, warn, error or silent',
    })
    .default('warn'),
});

type Environment = z.infer<typeof environment>;

/**
 * Reads every setting, checks it, and says all that is wrong in one message.
 * @throws {UsageError} lines such as `config: REDIS_URL: expected an address that begins with redis://, got "localhost"`
 */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.keys(environment.shape)
      .map((name) => [name, env[name]?.trim()])
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const read = environment.safeParse(given);
  const problems = read.success
    ? missing(read.data)
    : read.error.issues.map((issue) => describe(issue, given));
  if (!read.success || problems.length > 0) throw new UsageError(problems.join('\n'));
  const values = read.data;
  return Object.freeze({
    account: accountOf(values),
    timeZone: values.FIELDMIRROR_TIME_ZONE ?? demoTimeZone,
    databaseUrl: values.DATABASE_URL ?? null,
    redisUrl: values.REDIS_URL ?? null,
    home: values.FIELDMIRROR_HOME,
    allowsHttp: values.FIELDMIRROR_ALLOW_HTTP === '1',
    logLevel: values.FIELDMIRROR_LOG_LEVEL,
    settings: settingsOf(values, given),
  });
}

function accountOf(values: Environment): AccountConfig | null {
  const {FIELDMIRROR_API_URL: apiUrl, FIELDMIRROR_API_TOKEN: token} = values;
  return apiUrl === undefined || token === undefined ? null : {apiUrl, token: new Secret(token)};
}

/** A real account is named by three variables together; half of them is a mistake, not a demo. */
function missing(values: Environment): string[] {
  if (values.FIELDMIRROR_API_URL === undefined && values.FIELDMIRROR_API_TOKEN === undefined) return [];
  const needed = {
    FIELDMIRROR_API_URL: "the account's base address, such as https://app.example.com/acme",
    FIELDMIRROR_API_TOKEN: "an employee's API token, from the employee management of the account",
    FIELDMIRROR_TIME_ZONE: "the account's IANA zone, such as America/New_York",
  } as const;
  return Object.entries(needed)
    .filter(([name]) => values[name as keyof typeof needed] === undefined)
    .map(([name, what]) => `config: ${name}: expected ${what}, got nothing; a real account needs all three`);
}

function describe(issue: z.core.$ZodIssue, given: Record<string, string | undefined>): string {
  const name = String(issue.path[0]);
  return `config: ${name}: ${issue.message}, got "${mask(name, given[name] ?? '')}"`;
}

function checkTimeZone(name: string, context: z.RefinementCtx): void {
  const zones = Intl.supportedValuesOf('timeZone');
  if (zones.includes(name) || isZone(name)) return;
  context.addIssue({code: 'custom', message: `expected an IANA zone${suggestZone(name, zones)}`});
}

/** Names with a slash only: `EST` and offsets have no daylight rule, so they are never an account's zone; UTC is. */
function isZone(name: string): boolean {
  if (!name.includes('/') && name !== 'UTC') return false;
  try {
    new Intl.DateTimeFormat('en', {timeZone: name});
    return true;
  } catch {
    return false;
  }
}

function suggestZone(name: string, zones: readonly string[]): string {
  const abbreviations: Record<string, string> = {
    E: 'America/New_York',
    C: 'America/Chicago',
    M: 'America/Denver',
    P: 'America/Los_Angeles',
  };
  const american = /^([ECMP])(S|D)?T/i.exec(name)?.[1]?.toUpperCase();
  const plain = name.toLowerCase().replaceAll(/[^a-z]/g, '');
  const alike = zones.find((zone) =>
    zone
      .toLowerCase()
      .replaceAll(/[^a-z]/g, '')
      .endsWith(plain),
  );
  const meant = (american === undefined ? undefined : abbreviations[american]) ?? (plain ? alike : undefined);
  return meant === undefined ? ' such as America/New_York' : ` (did you mean ${meant}?)`;
}

function settingsOf(values: Environment, given: Record<string, string | undefined>): Setting[] {
  const whenUnset: Record<string, string> = {
    FIELDMIRROR_API_URL: '(the reference service, made-up data)',
    FIELDMIRROR_API_TOKEN: '(its own)',
    FIELDMIRROR_TIME_ZONE: demoTimeZone,
    DATABASE_URL: '(embedded Postgres)',
    REDIS_URL: '(the queue is in Postgres)',
  };
  return Object.entries({...whenUnset, ...values}).map(([name, value = '']) => {
    const isGiven = given[name] !== undefined;
    return {name, value: isGiven ? mask(name, value) : value, source: isGiven ? 'environment' : 'default'};
  });
}

function mask(name: string, value: string): string {
  if (name === 'FIELDMIRROR_API_TOKEN') return '[secret]';
  return value.replace(/(\/\/[^:@/]*:)[^@/]*@/, '$1[secret]@').replace(/([?&]password=)[^&]*/, '$1[secret]');
}
