// Definitions of the verbs that set up and run an installation: its settings, the mirror itself,
// its servers, its warehouse. Their code is loaded when they are called.

import {type Command, Option} from 'commander';
import {
  addWord,
  config,
  finish,
  readBasePath,
  readCount,
  readPort,
  type Surroundings,
} from './verb.ts';

const loadConfig = () => import('./config.ts');
const usual = 'fieldmirror.yaml';

export function addInit(program: Command, {json}: Surroundings): void {
  program
    .command('init')
    .description(
      'set up an account of yours: asks, tries each answer, and writes .env and fieldmirror.yaml',
    )
    .option('--url <address>', "the account's base address: https://app.example.com/acme")
    .option('--name <name>', 'what the account is called here')
    .option('--time-zone <zone>', "the account's IANA zone (default: found out)")
    .option('--embedded', 'a Postgres of its own, though DATABASE_URL names another')
    .option('--force', 'change files of settings that are there')
    .action((given) =>
      finish(async () =>
        (await import('./init.ts')).init(await config({isAdding: true, isAnew: true}), {
          ...given,
          embedded: given.embedded === true,
          force: given.force === true,
          ...json(),
        }),
      ),
    );
}

export function addConfig(program: Command, surroundings: Surroundings): void {
  const verbs = program
    .command('config')
    .description('settings as a file: told, compared, applied');
  addExport(verbs, surroundings);
  addPlan(verbs, surroundings);
  addApply(verbs, surroundings);
  addSchema(verbs, surroundings);
}

function addExport(verbs: Command, {json}: Surroundings): void {
  verbs
    .command('export')
    .description('the settings in force, as a file of YAML; never a token')
    .argument('[file]', 'where to write it; printed when none is named, or -', pathOf)
    .option('--force', 'replace the file, and the comments in it')
    .action((file, given) =>
      finish(async () =>
        (await loadConfig()).exportConfig(await config(), file, {...given, ...json()}),
      ),
    );
}

function addPlan(verbs: Command, {json}: Surroundings): void {
  verbs
    .command('plan')
    .description('what a file would change, value by value; nothing is changed')
    .argument('[file]', 'of settings; - is standard input', usual)
    .option('--check', 'exit code 1 when anything would change')
    .action((file, given) =>
      finish(async () => (await loadConfig()).plan(await config(), file, {...given, ...json()})),
    );
}

function addApply(verbs: Command, {json}: Surroundings): void {
  verbs
    .command('apply')
    .description('bring the warehouse in line with a file: all of it, or nothing')
    .argument('[file]', 'of settings; - is standard input', usual)
    .action((file) => finish(async () => (await loadConfig()).apply(await config(), file, json())));
}

function addSchema(verbs: Command, {json}: Surroundings): void {
  verbs
    .command('schema')
    .description('the JSON Schema of such a file, for editors')
    .argument('[file]', 'where to write it; printed when none is named, or -', pathOf)
    .action((file) => finish(async () => (await loadConfig()).schema(file, json())));
}

/** `-` is standard output, as it is standard input of the verbs that read. */
function pathOf(file: string): string | undefined {
  return file === '-' ? undefined : file;
}

export function addMirror(program: Command, surroundings: Surroundings): void {
  addStart(program, surroundings);
  addSync(program, surroundings);
  addPush(program, surroundings);
}

function addStart(program: Command, {json, signal}: Surroundings): void {
  program
    .command('start')
    .description('the main job: migrate, then worker and schedules')
    .option('--once', 'one full sweep of every stream, a summary, exit')
    .option(
      '--port <number>',
      'where the console and the HTTP API listen (default: 8086, or a free one)',
      readPort,
    )
    .option(
      '--host <address>',
      'on which address; of another than this machine, behind TLS',
      '127.0.0.1',
    )
    .option('--no-http', 'no console and no HTTP API')
    .action((given) =>
      finish(async () =>
        (await import('./start.ts')).start(
          await config(),
          {...given, once: given.once === true, ...json()},
          signal,
        ),
      ),
    );
}

function addSync(program: Command, {json, signal}: Surroundings): void {
  program
    .command('sync')
    .description('sweep now, here, with progress; all streams unless some are named')
    .argument('[stream...]', 'customers, jobs, employees, tasks')
    .option(
      '--window <name>',
      'only what a filter lets through: today, in_progress, scheduled=next_week, …',
    )
    .option(
      '--filter <name=value>',
      'and of that only this: employee_number=3; may be repeated',
      addWord,
      [],
    )
    .option('--record <number>', 'only one record, by its number')
    .option('--account <name>', 'which account, where there are several')
    .action((streams, given) =>
      finish(async () =>
        (await import('./sync.ts')).sync(await config(), streams, {
          ...given,
          ...json(),
          signal,
        }),
      ),
    );
}

function addPush(program: Command, {json, signal}: Surroundings): void {
  program
    .command('push')
    .description('carry what was changed here to the service now, here')
    .option('--account <name>', 'only one account')
    .option('--dry-run', 'print every request that would be sent, and send nothing')
    .action((given) =>
      finish(async () =>
        (await import('./push.ts')).push(await config(), {...given, ...json()}, signal),
      ),
    );
}

export function addHttp(program: Command, surroundings: Surroundings): void {
  addServer(program, surroundings);
  addOpen(program, surroundings);
  addKeys(program, surroundings);
}

function addServer(program: Command, {json, signal}: Surroundings): void {
  program
    .command('http')
    .description('the console and the HTTP API, without working: start has both as well')
    .option('--port <number>', 'where to listen (default: 8086, or a free one)', readPort)
    .option(
      '--host <address>',
      'on which address; of another than this machine, behind TLS',
      '127.0.0.1',
    )
    .action((given) =>
      finish(async () =>
        (await import('./http.ts')).http(await config(), {...given, ...json()}, signal),
      ),
    );
}

function addOpen(program: Command, {json}: Surroundings): void {
  program
    .command('open')
    .description('print a link that signs in to the console of a start that runs')
    .addOption(
      new Option('--role <role>', 'what the link lets do')
        .choices(['viewer', 'operator', 'admin'])
        .default('admin'),
    )
    .option('--at <address>', 'where the console is (default: found out)')
    .action((given) =>
      finish(async () => (await import('./http.ts')).open(await config(), {...given, ...json()})),
    );
}

function addKeys(program: Command, {json}: Surroundings): void {
  const keys = program
    .command('keys')
    .description('look after the keys of the HTTP API and the console');
  const load = () => import('./keys.ts');
  keys
    .command('add')
    .description('make a key; it is shown this once')
    .argument('<name>', 'what the key is called here: its changes show it')
    .addOption(
      new Option(
        '--role <role>',
        'viewer reads, operator writes and decides, admin looks after accounts and keys',
      )
        .choices(['viewer', 'operator', 'admin'])
        .default('operator'),
    )
    .option('--account <name>', 'which account it opens, where there are several')
    .option('--all-accounts', 'it opens the console for all accounts')
    .option('--mask', 'the console hides names, phones, addresses and notes from it')
    .action((name, given) =>
      finish(async () => (await load()).add(await config(), name, {...given, ...json()})),
    );
  keys
    .command('list')
    .description('the keys, what they open, when they last did')
    .action(() => finish(async () => (await load()).list(await config(), json())));
  keys
    .command('revoke')
    .description('let a key open nothing any more')
    .argument('<name>')
    .action((name) => finish(async () => (await load()).revoke(await config(), name, json())));
}

export function addService(program: Command, {json, signal}: Surroundings): void {
  program
    .command('service')
    .description('the reference service alone: a field-service account with made-up data')
    .option('--port <number>', 'where to listen on 127.0.0.1', readPort, 8085)
    .option('--seed <number>', 'which made-up business (default: 1)', readCount)
    .option(
      '--customers <number>',
      'how large a business; six jobs a customer (default: 500)',
      readCount,
    )
    .option('--today <date>', 'the day it is looked at (default: one that follows from the seed)')
    .option('--live', 'the business goes on: calls, work, invoices, payments')
    .option('--speed <number>', 'so many times as fast as the clock', readCount)
    .addOption(
      new Option('--dialect <name>', 'how to answer')
        .choices(['observed', 'documented'])
        .default('observed'),
    )
    .option('--page-size <number>', 'records a page', readCount, 30)
    .addOption(
      new Option('--order <name>', 'order of lists')
        .choices(['number', 'reversed', 'changed'])
        .default('number'),
    )
    .option(
      '--base <path>',
      'a path before every other, as real accounts have one: /acme',
      readBasePath,
      '',
    )
    .option(
      '--plain-shows',
      'embed related data in lists alone, which is all that the specification promises',
    )
    .option('--database <url>', 'a Postgres database of its own (default: the embedded Postgres)')
    .action((given) =>
      finish(async () =>
        (await import('./service.ts')).service(await config(), {...given, ...json()}, signal),
      ),
    );
}

const loadInstallation = () => import('./installation.ts');

export function addInstallation(program: Command, {json}: Surroundings): void {
  const installation = program
    .command('installation')
    .description('which database works for the accounts, and which key seals their tokens');
  installation
    .command('show')
    .description('whether this database is the one that works, or may be a copy (exit code 1)')
    .action(() => finish(async () => (await loadInstallation()).show(await config(), json())));
  installation
    .command('claim')
    .description('let this database work for its accounts; its name is typed back')
    .option('--moved', 'nothing was sent by another one since: creates go on, too')
    .action((given) =>
      finish(async () => (await loadInstallation()).claim(await config(), {...given, ...json()})),
    );
  installation
    .command('reseal')
    .description(
      'seal all that is sealed with the first key of FIELDMIRROR_KEY=NEW,OLD: OLD is needed no more',
    )
    .action(() =>
      finish(async () => (await import('./installation.ts')).reseal(await config(), json())),
    );
}

export function addWarehouse(program: Command, {json, signal}: Surroundings): void {
  program
    .command('url')
    .description('print the address of the warehouse, for a tool that takes one')
    .option('--password', 'with its password')
    .action((given) =>
      finish(async () =>
        (await import('./postgres.ts')).url(await config(), {
          password: given.password === true,
          ...json(),
        }),
      ),
    );
  program
    .command('psql')
    .description(
      "the system's psql on the warehouse; what follows goes to it as it is: psql -c 'SELECT 1'",
    )
    .argument('[args...]', 'for psql')
    .option(
      '--as <role>',
      'as a user of yours, whose password psql asks for; without it, as the owner',
    )
    .allowUnknownOption()
    .helpOption('--help', 'print this help')
    .action((args, given) =>
      finish(async () =>
        (await import('./postgres.ts')).psql(await config(), {
          args,
          role: given.as ?? null,
          signal,
        }),
      ),
    );
  program
    .command('reset')
    .description(
      'remove the warehouse to begin anew: the embedded Postgres, or our schemas in yours; its name is typed back',
    )
    .action(() =>
      finish(async () => (await import('./postgres.ts')).reset(await config(), json())),
    );
}
