import {readFileSync} from 'node:fs';
import pg from 'pg';
import {
  type ErrorKind,
  FatalError,
  NoRoomError,
  RecordError,
  RetryableError,
  UsageError,
} from '../core/errors.ts';
import {adviseOnHolders, holdersOf, listHolderNames} from './lock-waits.ts';

/** Whether Postgres refused a statement with one of these codes. */
export function isDatabaseError(
  error: unknown,
  ...codes: readonly string[]
): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && codes.includes(error.code ?? '');
}

const errorClasses = {
  retryable: RetryableError,
  'no-room': NoRoomError,
  fatal: FatalError,
} as const;

interface Advice {
  readonly type: keyof typeof errorClasses;
  /** The failure, and the next step. */
  readonly text: string;
}

const retryable = (text: string): Advice => ({type: 'retryable', text});
const fatal = (text: string): Advice => ({type: 'fatal', text});

const noRoom = (text: string): Advice => ({
  type: 'no-room',
  text: `${text}; what waits for it continues automatically, within a minute`,
});

const endedConnection = retryable(
  'the server ended the connection; it is being restarted, or someone ended the session',
);
const refusedLogin = fatal('the user name or password was refused; fix them in DATABASE_URL');
const refusedConnection = fatal(
  'the server refused this connection; let its administrator allow the login (ALTER ROLE … ' +
    'LOGIN) and its address (pg_hba.conf), or fix the user name in DATABASE_URL; if the server ' +
    'requires TLS, add sslmode=verify-full there',
);
const refusedSession = retryable('the server refused or ended the session');
const unmigratedSchema = fatal('its schema is not the one expected; run `fieldmirror migrate`');
const untrustedCertificate = fatal(
  'its TLS certificate is not trusted; give its CA with sslrootcert in DATABASE_URL',
);
const brokenConnection = retryable(
  'the connection broke; see whether the server runs and the network holds',
);

const unreadableAddress = 'Postgres at an address that cannot be read';

/** insufficient_privilege */
const missingRight = '42501';
/** invalid_authorization_specification, too_many_connections */
const refusals: readonly (string | undefined)[] = ['28000', '53300'];
/** Of an error with which the server begins no session, or ends it. */
const endingSeverities: readonly (string | undefined)[] = ['FATAL', 'PANIC'];
/** lock_not_available */
const lockTimeout = '55P03';

/** Maps a SQLSTATE or system error code to its meaning for the waiting caller. */
const advicesByCode: Readonly<Record<string, Advice>> = {
  ECONNREFUSED: retryable(
    'nothing listens there; start Postgres, or fix the host and port in DATABASE_URL',
  ),
  ENOENT: retryable('no such socket; start Postgres, or fix the host in DATABASE_URL'),
  ENOTFOUND: retryable('no such host; fix the host in DATABASE_URL'),
  EAI_AGAIN: retryable('the name of the host could not be resolved; see whether the network holds'),
  EHOSTUNREACH: retryable('the host cannot be reached; see whether the network holds'),
  ENETUNREACH: retryable('the network cannot be reached; see whether it holds'),
  ETIMEDOUT: retryable(
    'no answer in time; see whether the host runs and a firewall lets us through',
  ),
  ECONNRESET: brokenConnection,
  EPIPE: brokenConnection,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrustedCertificate,
  SELF_SIGNED_CERT_IN_CHAIN: untrustedCertificate,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrustedCertificate,
  CERT_HAS_EXPIRED: fatal('its TLS certificate has expired; renew it'),
  ERR_TLS_CERT_ALTNAME_INVALID: fatal(
    'its TLS certificate is for another host; fix the host in DATABASE_URL',
  ),
  '28P01': refusedLogin,
  '28000': refusedConnection,
  '3D000': fatal('there is no such database; create it, or fix its name in DATABASE_URL'),
  '3F000': unmigratedSchema,
  '42P01': unmigratedSchema,
  '42703': unmigratedSchema,
  '25006': retryable(
    'it is read-only, most likely a standby; promote it, or point DATABASE_URL at the primary; ' +
      'if it is no standby, switch off default_transaction_read_only, which ALTER ROLE, ALTER ' +
      'DATABASE or the server has set',
  ),
  '53100': noRoom('its disk is full; make room'),
  '53200': retryable('it is out of memory; it may recover'),
  '53300': retryable(
    'it has no connection left; raise the limit of the server (max_connections), of the role or ' +
      'of the database (CONNECTION LIMIT), or end other clients',
  ),
  '53400': noRoom('a limit of the server is reached; raise it: temp_file_limit, most likely'),
  '57P01': endedConnection,
  '57P02': endedConnection,
  '57P03': retryable('it is starting up or shutting down'),
  '57P05': endedConnection,
  '25P03': endedConnection,
  '25P04': retryable(
    'a transaction took longer than transaction_timeout allows; set it to 0 for this login, or, ' +
      'behind a pooler, for the database',
  ),
  '40001': retryable('another transaction came in between; the same may succeed the next time'),
  '40P01': retryable('a deadlock with another transaction; the same may succeed the next time'),
  [lockTimeout]: retryable(
    'a lock was not free in time, and who had it is not known; fieldmirror status names who ' +
      'has locked a table',
  ),
  '57014': retryable('a statement took too long; see what holds it up in pg_stat_activity'),
};

/** Errors of node-postgres that have no code, by their message. */
const advicesByMessage: readonly (readonly [RegExp, Advice])[] = [
  [
    /timeout exceeded when trying to connect/,
    retryable('no connection came free in time; it is busy or slow'),
  ],
  [
    /timeout/i,
    retryable('no answer in time; see whether the host runs and a firewall lets us through'),
  ],
  [/terminated|Connection ended|not queryable/i, brokenConnection],
  [
    /does not support SSL/,
    fatal('it speaks no TLS; remove sslmode from DATABASE_URL, or switch TLS on there'),
  ],
  [/password must be a (non-empty )?string/, refusedLogin],
];

/**
 * Turns a failure of the database into a RetryableError, a NoRoomError or a FatalError with its
 * meaning, its place and the next step. The message names host, port and database, but never the
 * password or a value of a statement. A file that the address names and that cannot be read becomes
 * a UsageError. Our own errors, and errors that do not come from the database, are returned
 * unchanged.
 * @param url - the address that was used
 * @param setting - the name of the setting that holds the address
 */
export function explainDatabaseError(error: unknown, url: string, setting = 'DATABASE_URL'): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  if (isOwnError(error)) return error;
  const fileProblem = isFileError(error) ? findFileProblem(url) : null;
  if (fileProblem !== null)
    return new UsageError(`${setting}: ${fileProblem}`, {cause: error, kind: 'settings'});
  const advice = adviceFor(error, url);
  if (advice === undefined) return error;
  const message =
    `${describeDatabase(url)}: ${advice.text.replace('DATABASE_URL', setting)} ` +
    `(${sourceOf(error)})`;
  const kind = kindOf(advice, error);
  const options = {cause: removePayload(error), kind};
  return new errorClasses[advice.type](message, options);
}

/** The parameters of an address that name a file. */
const fileParameters = ['sslrootcert', 'sslcert', 'sslkey'] as const;

const fileErrorCodes: readonly (string | undefined)[] = ['ENOENT', 'EACCES', 'EISDIR', 'ENOTDIR'];

function isFileError(error: Error): boolean {
  return (
    fileErrorCodes.includes(codeOf(error)) && 'syscall' in error && error.syscall !== 'connect'
  );
}

/** Describes the first file of an address that cannot be read; null if all of them can. */
function findFileProblem(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const {searchParams} = new URL(url);
  for (const name of fileParameters) {
    const file = searchParams.get(name);
    if (file === null || file === '') continue;
    try {
      readFileSync(file);
    } catch (error) {
      const code = error instanceof Error ? codeOf(error) : undefined;
      return (
        `${name}: expected a file that this process may read, got ${code ?? 'an error'} for ` +
        `${file}; fix the path, or the permissions of the file`
      );
    }
  }
  return null;
}

function kindOf(advice: Advice, error: Error): ErrorKind {
  if (advice === unmigratedSchema) return 'schema';
  return codeOf(error) === lockTimeout ? 'locked' : 'warehouse';
}

/** `Postgres at db.example.com:5432, database warehouse`: safe to show anywhere. */
export function describeDatabase(url: string): string {
  if (!URL.canParse(url)) return unreadableAddress;
  try {
    const {host, port, database} = new pg.Client({connectionString: url});
    const server = `${host}${host.startsWith('/') ? '' : `:${port}`}`;
    return `Postgres at ${server}, database ${database ?? '(none)'}`;
  } catch {
    // The parser's own error quotes the address, and so the password.
    return unreadableAddress;
  }
}

function loginOf(url: string): Login {
  try {
    const {user, database} = new pg.Client({connectionString: url});
    return {user: user ?? 'the user', database: database ?? ''};
  } catch {
    return {user: 'the user', database: ''};
  }
}

function isOwnError(error: Error): boolean {
  return [RetryableError, RecordError, FatalError, UsageError].some(
    (errorClass) => error instanceof errorClass,
  );
}

function adviceFor(error: Error, url: string): Advice | undefined {
  const code = codeOf(error);
  if (code === missingRight) return fatal(describeMissingRight(error.message, loginOf(url)));
  // A missing file has the same error code as a missing socket.
  if (code === 'ENOENT' && !('syscall' in error && error.syscall === 'connect')) return undefined;
  const holders = holdersOf(error);
  if (holders.length > 0) {
    const problem =
      code === lockTimeout ? 'a lock was not free in time' : 'a statement took too long';
    return retryable(
      `${problem}: it waited for ${listHolderNames(holders)}; ${adviseOnHolders(holders)}`,
    );
  }
  if (code !== undefined && Object.hasOwn(advicesByCode, code)) return advicesByCode[code];
  if (code?.startsWith('08')) return isSessionEnd(error) ? refusedSession : brokenConnection;
  // A name with several addresses fails with one error for each of them.
  if (error instanceof AggregateError)
    return error.errors
      .filter((innerError) => innerError instanceof Error)
      .map((innerError) => adviceFor(innerError, url))[0];
  if (isSessionEnd(error)) return refusedSession;
  return advicesByMessage.find(([pattern]) => pattern.test(error.message))?.[1];
}

/** Whether the server began no session, or ended it, as for a database that allows none. */
function isSessionEnd(error: Error): boolean {
  return error instanceof pg.DatabaseError && endingSeverities.includes(error.severity);
}

/**
 * The error code. If a permission is missing, or a session is refused, also the message of
 * Postgres, which names one of our objects, the login or its address, and never a value.
 */
function sourceOf(error: Error): string {
  const code = codeOf(error) ?? 'no code';
  const isNamed =
    code === missingRight ||
    refusals.includes(code) ||
    (!Object.hasOwn(advicesByCode, code) && isSessionEnd(error));
  return isNamed ? `${code}, ${error.message}` : code;
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/**
 * The error without the parts that must not be printed: `detail` and `where` quote rows, and
 * pg-pool attaches the client, its password included, to an error of an idle connection.
 */
function removePayload(error: Error): Error {
  const plain = new Error(error.message);
  if (error.stack !== undefined) plain.stack = error.stack;
  return Object.assign(plain, {name: error.name, code: codeOf(error)});
}

/** The user whose right is concerned, and the database. */
interface Login {
  readonly user: string;
  readonly database: string;
}

const grantOnDatabase = (right: string, {user, database}: Login) =>
  `GRANT ${right} ON DATABASE ${pg.escapeIdentifier(database)} TO ${pg.escapeIdentifier(user)};`;

/** The statement that lets a login create our schemas; the owner of the database runs it. */
export function grantCreate(login: Login): string {
  return grantOnDatabase('CREATE', login);
}

/**
 * Describes which right is missing, on which object, and the statement that grants it.
 * @param message - of the server, with SQLSTATE 42501: it names an object, never a value
 */
function describeMissingRight(message: string, login: Login): string {
  const {user} = login;
  const [, kind = '', name = ''] =
    /^permission denied for ([a-z ]+?) "?(.+?)"?$/.exec(message) ?? [];
  if (kind === 'database') {
    // At the start of a session the server quotes the database name; the missing right is then
    // CONNECT.
    const right = message.endsWith('"') ? 'CONNECT' : 'CREATE';
    return (
      `${user} lacks ${right} on the database ${name}; let its owner run ` +
      `${grantOnDatabase(right, login)}`
    );
  }
  if (kind !== '')
    return (
      `${user} lacks a right on the ${kind} ${name}; let the owner of the schemas run GRANT ` +
      `fieldmirror_worker TO ${pg.escapeIdentifier(user)}; if ${user} has that role already, ` +
      'only the owner may run this command. With that role a login may also run start and send ' +
      'changes: a login that may only read needs fieldmirror_reader, and reads in SQL (psql), ' +
      'not with these commands'
    );
  return `${user} lacks a right; connect as the owner of the schemas, or let the owner give it`;
}

/**
 * The name of the constraint that an error or one of its causes violated; null if none is named.
 */
export function violatedConstraint(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof pg.DatabaseError && cause.constraint !== undefined)
      return cause.constraint;
  return null;
}
