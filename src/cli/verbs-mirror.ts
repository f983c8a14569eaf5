// Definitions of the verbs that set up and run an installation: its settings, the mirror itself,
// its servers, its warehouse. Their code is loaded when they are called.

import {type Command, Option} from 'commander';
import {
  addWord,
  type CliContext,
  config,
  finishVerb,
  readBasePath,
  readCount,
  readPort,
  settingsFile,
} from './verb.ts';

const loadSettings = () => import('./settings.ts');

export function addInit(program: Command, {json}: CliContext): void {
  program
    .command('init')
    .description(
      'set up your account: asks, tests each answer, and writes .env and fieldmirror.yaml',
    )
    .option('--url <address>', "the account's base address: https://app.example.com/acme")
    .option('--name <name>', 'name of the account in Fieldmirror')
    .option('--time-zone <zone>', 'IANA time zone of the account (default: detected)')
    .option('--embedded', 'use an embedded Postgres, even if DATABASE_URL is set')
    .option('--force', 'overwrite existing files of settings')
    .action((options) =>
      finishVerb(async () =>
        (await import('./init.ts')).init(await config({isAdding: true, isAnew: true}), {
          ...options,
          embedded: options.embedded === true,
          force: options.force === true,
          ...json(),
        }),
      ),
    );
}

export function addConfig(program: Command, context: CliContext): void {
  const verbs = program
    .command('config')
    .description('export, compare and apply settings as a file');
  addExport(verbs, context);
  addPlan(verbs, context);
  addApply(verbs, context);
  addSchema(verbs, context);
}

function addExport(verbs: Command, {json}: CliContext): void {
  verbs
    .command('export')
    .description('export the active settings as YAML, without tokens')
    .argument('[file]', 'file to write; standard output if omitted or -', toFilePath)
    .option('--force', 'replace an existing file and its comments')
    .action((file, options) =>
      finishVerb(async () =>
        (await loadSettings()).exportConfig(await config(), file, {...options, ...json()}),
      ),
    );
}

function addPlan(verbs: Command, {json}: CliContext): void {
  verbs
    .command('plan')
    .description('show what a file would change, value by value; change nothing')
    .argument('[file]', 'file of settings; - is standard input', settingsFile)
    .option('--check', 'exit code 1 if anything would change')
    .action((file, options) =>
      finishVerb(async () =>
        (await loadSettings()).configPlan(await config(), file, {...options, ...json()}),
      ),
    );
}

function addApply(verbs: Command, {json}: CliContext): void {
  verbs
    .command('apply')
    .description('apply a file of settings: all of it, or nothing')
    .argument('[file]', 'file of settings; - is standard input', settingsFile)
    .action((file) =>
      finishVerb(async () => (await loadSettings()).apply(await config(), file, json())),
    );
}

function addSchema(verbs: Command, {json}: CliContext): void {
  verbs
    .command('schema')
    .description('print the JSON Schema of the file of settings, for editors')
    .argument('[file]', 'file to write; standard output if omitted or -', toFilePath)
    .action((file) => finishVerb(async () => (await loadSettings()).configSchema(file, json())));
}

/** `-` means standard output here, and standard input for the verbs that read. */
function toFilePath(file: string): string | undefined {
  return file === '-' ? undefined : file;
}

export function addMirror(program: Command, context: CliContext): void {
  addStart(program, context);
  addSync(program, context);
  addPush(program, context);
}

function addStart(program: Command, {json, signal}: CliContext): void {
  program
    .command('start')
    .description('run Fieldmirror: migrate, sync on schedules, send changes, serve the console')
    .option('--once', 'sync every stream completely once, print a summary, exit')
    .option(
      '--port <number>',
      'port of the console and the HTTP API (default: 8086, or a free one)',
      readPort,
    )
    .option(
      '--host <address>',
      'address to listen on; put TLS before any address but this machine',
      '127.0.0.1',
    )
    .option('--no-http', 'run without the console and the HTTP API')
    .action((options) =>
      finishVerb(async () =>
        (await import('./start.ts')).start(
          await config(),
          {...options, once: options.once === true, ...json()},
          signal,
        ),
      ),
    );
}

function addSync(program: Command, {json, signal}: CliContext): void {
  program
    .command('sync')
    .description('sync now and show progress; all streams unless some are named')
    .argument('[stream...]', 'customers, jobs, employees, tasks')
    .option(
      '--window <name>',
      'sync only part of the list: today, in_progress, scheduled=next_week, …',
    )
    .option(
      '--filter <name=value>',
      'filter the list further: employee_number=3; may be repeated',
      addWord,
      [],
    )
    .option('--record <number>', 'sync only one record, by its number')
    .option('--account <name>', 'account to use, if there are several')
    .action((streams, options) =>
      finishVerb(async () =>
        (await import('./sync.ts')).sync(await config(), streams, {
          ...options,
          ...json(),
          signal,
        }),
      ),
    );
}

function addPush(program: Command, {json, signal}: CliContext): void {
  program
    .command('push')
    .description('send pending changes to the service now')
    .option('--account <name>', 'only one account')
    .option('--dry-run', 'print every request that would be sent; send nothing')
    .action((options) =>
      finishVerb(async () =>
        (await import('./push.ts')).push(await config(), {...options, ...json()}, signal),
      ),
    );
}

export function addHttp(program: Command, context: CliContext): void {
  addServer(program, context);
  addOpen(program, context);
  addKeys(program, context);
}

function addServer(program: Command, {json, signal}: CliContext): void {
  program
    .command('http')
    .description('serve the console and the HTTP API without a worker (start serves both too)')
    .option('--port <number>', 'port to listen on (default: 8086, or a free one)', readPort)
    .option(
      '--host <address>',
      'address to listen on; put TLS before any address but this machine',
      '127.0.0.1',
    )
    .action((options) =>
      finishVerb(async () =>
        (await import('./http.ts')).http(await config(), {...options, ...json()}, signal),
      ),
    );
}

function addOpen(program: Command, {json}: CliContext): void {
  program
    .command('open')
    .description('print a sign-in link for the console of a running start')
    .addOption(
      new Option('--role <role>', 'role that the link gives')
        .choices(['viewer', 'operator', 'admin'])
        .default('admin'),
    )
    .option('--at <address>', 'address of the console (default: detected)')
    .action((options) =>
      finishVerb(async () =>
        (await import('./http.ts')).open(await config(), {...options, ...json()}),
      ),
    );
}

function addKeys(program: Command, {json}: CliContext): void {
  const keys = program.command('keys').description('manage keys of the HTTP API and the console');
  const load = () => import('./accounts.ts');
  keys
    .command('add')
    .description('create a key and print it; it is shown only once')
    .argument('<name>', 'name of the key; changes made with it show this name')
    .addOption(
      new Option(
        '--role <role>',
        'viewer reads, operator writes and decides, admin manages accounts and keys',
      )
        .choices(['viewer', 'operator', 'admin'])
        .default('operator'),
    )
    .option('--account <name>', 'account that the key opens, if there are several')
    .option('--all-accounts', 'open the console for all accounts')
    .option('--mask', 'hide names, phones, addresses and notes in the console')
    .option('--system <name>', 'outside system whose keys of rows it uses (default: default)')
    .option('--hold-deletes', 'hold its deletes until a person releases them')
    .action((name, options) =>
      finishVerb(async () => (await load()).keysAdd(await config(), name, {...options, ...json()})),
    );
  keys
    .command('list')
    .description('list keys, what they open, and when they were last used')
    .action(() => finishVerb(async () => (await load()).keysList(await config(), json())));
  keys
    .command('revoke')
    .description('revoke a key')
    .argument('<name>')
    .action((name) => finishVerb(async () => (await load()).revoke(await config(), name, json())));
}

export function addService(program: Command, {json, signal}: CliContext): void {
  program
    .command('service')
    .description('run the reference service: a field-service account with made-up data')
    .option('--port <number>', 'port to listen on at 127.0.0.1', readPort, 8085)
    .option('--seed <number>', 'seed of the made-up business (default: 1)', readCount)
    .option(
      '--customers <number>',
      'size of the business; six jobs per customer (default: 500)',
      readCount,
    )
    .option('--today <date>', 'current day of the business (default: derived from the seed)')
    .option('--live', 'continue the business: calls, work, invoices, payments')
    .option('--speed <number>', 'run this many times as fast as the clock', readCount)
    .addOption(
      new Option('--dialect <name>', 'dialect of the answers')
        .choices(['observed', 'documented'])
        .default('observed'),
    )
    .option('--page-size <number>', 'records per page', readCount, 30)
    .addOption(
      new Option('--order <name>', 'order of lists')
        .choices(['number', 'reversed', 'changed'])
        .default('number'),
    )
    .option(
      '--base <path>',
      'path before all other paths, as real accounts have one: /acme',
      readBasePath,
      '',
    )
    .option('--plain-shows', 'embed related data only in lists, as the specification promises')
    .option(
      '--faults [list]',
      'let requests fail on purpose, such as lost=0.1,delay=500 (default: usual)',
    )
    .option('--database <url>', 'separate Postgres database (default: the embedded Postgres)')
    .action((options) =>
      finishVerb(async () =>
        (await import('./service.ts')).service(await config(), {...options, ...json()}, signal),
      ),
    );
}

export function addRehearse(program: Command, {json, signal}: CliContext): void {
  program
    .command('rehearse')
    .description(
      'try a connector: run the reference service with masked records of an account, ' +
        'and report what changed',
    )
    .option('--account <name>', 'account whose records it has (default: the only one)')
    .option('--port <number>', 'port to listen on at 127.0.0.1', readPort, 8085)
    .option(
      '--faults [list]',
      'let requests fail on purpose, such as lost=0.1,delay=500 (default: usual)',
    )
    .option('--database <url>', 'separate Postgres database (default: the embedded Postgres)')
    .option('--report', 'print what the last rehearsal received, and start none')
    .action((options) =>
      finishVerb(async () =>
        (await import('./rehearse.ts')).rehearse(await config(), {...options, ...json()}, signal),
      ),
    );
}

const loadInstallation = () => import('./installation.ts');

export function addInstallation(program: Command, {json}: CliContext): void {
  const installation = program
    .command('installation')
    .description('manage which database is the active one, and which key seals tokens');
  installation
    .command('show')
    .description('show if this database is the active one, or may be a copy (exit code 1)')
    .action(() =>
      finishVerb(async () => (await loadInstallation()).installationShow(await config(), json())),
    );
  installation
    .command('claim')
    .description('make this database the active one, after you type its name')
    .option('--moved', 'no other database sent changes since: continue creates too')
    .action((options) =>
      finishVerb(async () =>
        (await loadInstallation()).claim(await config(), {...options, ...json()}),
      ),
    );
  installation
    .command('reseal')
    .description('rotate the sealing key: seal all secrets with NEW of FIELDMIRROR_KEY=NEW,OLD')
    .action(() =>
      finishVerb(async () => (await import('./installation.ts')).reseal(await config(), json())),
    );
}

export function addWarehouse(program: Command, {json, signal}: CliContext): void {
  program
    .command('url')
    .description('print the connection URL of the warehouse')
    .option('--password', 'include the password')
    .action((options) =>
      finishVerb(async () =>
        (await import('./postgres.ts')).url(await config(), {
          password: options.password === true,
          ...json(),
        }),
      ),
    );
  program
    .command('psql')
    .description(
      "open the system's psql on the warehouse, with its own arguments: psql -c 'SELECT 1'",
    )
    .argument('[args...]', 'arguments for psql')
    .option(
      '--as <role>',
      'sign in as this role; psql prompts for its password (default: the owner)',
    )
    .allowUnknownOption()
    .helpOption('--help', 'print this help')
    .action((args, options) =>
      finishVerb(async () =>
        (await import('./postgres.ts')).psql(await config(), {
          args,
          role: options.as ?? null,
          signal,
        }),
      ),
    );
  program
    .command('reset')
    .description(
      'delete the warehouse, after you type its name: the embedded Postgres, or our schemas',
    )
    .action(() =>
      finishVerb(async () => (await import('./postgres.ts')).reset(await config(), json())),
    );
}
