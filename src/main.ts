#!/usr/bin/env -S node --max-semi-space-size=8
// The command line: reads arguments, calls the command, turns what is thrown into an exit code. A command's file is
// loaded when it is called, and its compiled form is kept by Node, so that a short question gets a quick answer.
// The small young generation halves the memory of a first load and costs it a tenth of its speed.

import {enableCompileCache} from 'node:module';
import {Command, InvalidArgumentError, Option} from 'commander';
import {loadConfig} from './config.ts';
import {exit, exitCodeOf, exitOnStrayErrors, reportError} from './exit.ts';
import {awaitStop} from './stop.ts';
import {tell, tellAside} from './terminal.ts';

enableCompileCache();
exitOnStrayErrors();
const signal = awaitStop();

function buildProgram(): Command {
  const program = new Command('fieldmirror')
    .description('Mirrors field-service accounts into a Postgres warehouse, and proves what it says.')
    .option('--json', 'print one JSON document instead of text')
    .showSuggestionAfterError()
    .showHelpAfterError('(fieldmirror --help lists the verbs and their options)')
    .exitOverride()
    .configureOutput({writeOut: tell, writeErr: tellAside})
    .addHelpText('after', helpEnd);
  const json = () => ({json: program.opts().json === true});

  program
    .command('start')
    .description('the main job: migrate, then worker and schedules')
    .option('--once', 'one full sweep of every stream, a summary, exit')
    .action((given) =>
      finish(async () =>
        (await import('./commands/start.ts')).start(config(), {once: given.once === true, ...json()}, signal),
      ),
    );
  program
    .command('sync')
    .description('sweep now, here, with progress; all streams unless some are named')
    .argument('[stream...]', 'customers, jobs, employees, tasks')
    .option('--window <name>', 'only what a filter lets through: today, in_progress, scheduled=next_week, …')
    .option('--filter <name=value>', 'and of that only this: employee_number=3; may be repeated', addWord, [])
    .option('--record <number>', 'only one record, by its number')
    .option('--account <name>', 'which account, where there are several')
    .action((streams, given) =>
      finish(async () =>
        (await import('./commands/sync.ts')).sync(config(), streams, {...given, ...json(), signal}),
      ),
    );
  program
    .command('push')
    .description('carry what was changed here to the service now, here')
    .option('--account <name>', 'only one account')
    .option('--dry-run', 'print every request that would be sent, and send nothing')
    .action((given) =>
      finish(async () => (await import('./commands/push.ts')).push(config(), {...given, ...json()}, signal)),
    );
  program
    .command('status')
    .description('health at a glance: how old what we know can be, and what needs a person')
    .option('--check', 'exit code 1 when anything needs a person, not only when records were refused')
    .option('--account <name>', 'only one account')
    .action((given) =>
      finish(async () => (await import('./commands/status.ts')).status(config(), {...given, ...json()})),
    );
  program
    .command('explain')
    .description('where a value came from, or what happened to a row')
    .argument('<stream>', 'customers, jobs, employees, tasks')
    .argument('<number>', 'number of the record')
    .argument('[field]', 'one of its fields; the whole row when none is named')
    .option('--account <name>', 'which account, where there are several')
    .action((stream, number, field, given) =>
      finish(async () =>
        (await import('./commands/explain.ts')).explain(
          config(),
          {stream, number, field},
          {...given, ...json()},
        ),
      ),
    );
  program
    .command('doctor')
    .description('check every dependency, and say how to mend what is wrong')
    .action(() => finish(async () => (await import('./commands/doctor.ts')).doctor(config(), json())));
  program
    .command('migrate')
    .description("bring the warehouse's schema up to date, and nothing else")
    .action(() => finish(async () => (await import('./commands/migrate.ts')).migrate(config(), json())));
  program
    .command('service')
    .description('the reference service alone: a field-service account with made-up data')
    .option('--port <number>', 'where to listen on 127.0.0.1', readPort, 8085)
    .option('--seed <number>', 'which made-up business (default: 1)', readCount)
    .option('--customers <number>', 'how large a business; six jobs a customer (default: 500)', readCount)
    .option('--today <date>', 'the day it is looked at (default: one that follows from the seed)')
    .addOption(
      new Option('--dialect <name>', 'how to answer').choices(['observed', 'documented']).default('observed'),
    )
    .option('--page-size <number>', 'records a page', readCount, 30)
    .addOption(
      new Option('--order <name>', 'order of lists')
        .choices(['number', 'reversed', 'changed'])
        .default('number'),
    )
    .option('--base <path>', 'a path before every other, as real accounts have one: /acme', readBasePath, '')
    .option(
      '--plain-shows',
      'embed related data in lists alone, which is all that the specification promises',
    )
    .option('--database <url>', 'a Postgres database of its own (default: the embedded Postgres)')
    .action((given) =>
      finish(async () =>
        (await import('./commands/service.ts')).service(config(), {...given, ...json()}, signal),
      ),
    );
  addChanges(program, json);
  addSweeps(program, json);
  addQuarantine(program, json);
  addAccounts(program, json);
  addDoor(program, json);
  for (const command of program.commands)
    for (const verb of [command, ...command.commands])
      verb.option('--json', 'print one JSON document instead of text');
  return program;
}

function addChanges(program: Command, json: () => {readonly json: boolean}): void {
  const changes = program.command('changes').description('look after what was changed here');
  changes
    .command('list')
    .description('what is under way, and what became of the rest')
    .option(
      '--state <state>',
      'held, pending, sending, in_doubt, conflict, done, altered, rejected, cancelled',
    )
    .option('--table <table>', 'of one table: customers, jobs, job_notes, …')
    .option('--account <name>', 'of one account')
    .option('--limit <number>', 'how many', readCount, 20)
    .action((given) =>
      finish(async () => (await import('./commands/changes.ts')).list(config(), {...given, ...json()})),
    );
  changes
    .command('show')
    .description('one change: its story line by line, what would be sent, and what happens next')
    .argument('<change>', 'its number')
    .action((id) => finish(async () => (await import('./commands/changes.ts')).show(config(), id, json())));
  const load = () => import('./commands/changes-decide.ts');
  const verbs = {
    retry: 'try again at once what waits, and send once more what was refused',
    hold: 'send nothing of it until it is released',
    release: 'let what is held go',
    cancel: 'give it up: the row gets back what it held before',
    accept: 'say that you looked at what the service altered: further changes of that kind go on',
  } as const;
  for (const verb of ['retry', 'hold', 'release', 'cancel', 'accept'] as const) {
    const command = changes.command(verb).description(verbs[verb]).argument('<change...>', 'their numbers');
    if (verb === 'cancel') command.option('--reason <text>', 'why, for those who look at it later');
    command.action((ids, given) =>
      finish(async () => (await load()).decide(config(), {verb, ids}, {...given, ...json()})),
    );
  }
  changes
    .command('resolve')
    .description('decide a conflict; changes show tells what can be decided')
    .argument('<change...>', 'their numbers')
    .addOption(new Option('--take <side>', 'whose value counts').choices(['service', 'warehouse']))
    .option('--adopt <number>', 'of a create: the record that it became')
    .option('--resend', 'send it once more')
    .action((ids, given) => finish(async () => (await load()).resolve(config(), ids, {...given, ...json()})));
}

function addSweeps(program: Command, json: () => {readonly json: boolean}): void {
  const sweeps = program
    .command('sweeps')
    .description('past sweeps, what they prove, and what waits for a person');
  const load = () => import('./commands/sweeps.ts');
  sweeps
    .command('list')
    .description('the latest sweeps')
    .argument('[stream]', 'customers, jobs, employees, tasks')
    .option('--account <name>', 'of one account')
    .option('--limit <number>', 'how many', readCount, 20)
    .action((stream, given) =>
      finish(async () => (await load()).list(config(), {stream, ...given, ...json()})),
    );
  sweeps
    .command('show')
    .description('one sweep: its evidence, why it is not certified, its tombstones')
    .argument('<sweep>', 'its number')
    .action((id) => finish(async () => (await load()).show(config(), id, json())));
  sweeps
    .command('approve')
    .description('let the tombstones of a stopped sweep through')
    .argument('<sweep>', 'its number')
    .action((id) => finish(async () => (await load()).approve(config(), id, json())));
}

function addQuarantine(program: Command, json: () => {readonly json: boolean}): void {
  const quarantine = program.command('quarantine').description('look after records that could not be read');
  const load = () => import('./commands/quarantine.ts');
  quarantine
    .command('list')
    .description('the records in quarantine, and what is wrong with each')
    .argument('[stream]', 'customers, jobs, employees, tasks')
    .option('--account <name>', 'of one account')
    .option('--limit <number>', 'how many', readCount, 20)
    .action((stream, given) =>
      finish(async () => (await load()).list(config(), {stream, ...given, ...json()})),
    );
  quarantine
    .command('show')
    .description('one record, as the service sent it')
    .argument('<entry>', 'its number in quarantine list')
    .action((id) => finish(async () => (await load()).show(config(), id, json())));
  quarantine
    .command('retry')
    .description('ask the service for records once more, now; one that is gone leaves quarantine, too')
    .argument('<entry...>', 'their numbers in quarantine list')
    .action((ids) => finish(async () => (await load()).retry(config(), ids, {...json(), signal})));
}

function addAccounts(program: Command, json: () => {readonly json: boolean}): void {
  const accounts = program.command('accounts').description('look after the accounts that are mirrored');
  const load = () => import('./commands/accounts.ts');
  accounts
    .command('list')
    .description('the accounts, their states, and where their tokens come from')
    .action(() => finish(async () => (await load()).list(config(), json())));
  accounts
    .command('add')
    .description('add an account, or give one a new token; the token is asked for, never an argument')
    .argument('<name>', 'what the account is called here')
    .option('--url <address>', "the account's base address: https://app.example.com/acme")
    .option('--time-zone <zone>', "the account's IANA zone: America/New_York")
    .action((name, given) =>
      finish(async () =>
        (await import('./commands/accounts-add.ts')).add(loadConfig(process.env, {isAdding: true}), name, {
          ...given,
          ...json(),
        }),
      ),
    );
  accounts
    .command('check')
    .description('ask each account, or one, a light question; what was stopped and is answered goes on')
    .argument('[name]')
    .action((name) => finish(async () => (await load()).check(config(), name, json())));
  accounts
    .command('pause')
    .description('begin nothing more for an account')
    .argument('<name>')
    .option('--reason <text>', 'why, for those who look at it later')
    .action((name, given) => finish(async () => (await load()).pause(config(), name, {...given, ...json()})));
  accounts
    .command('resume')
    .description('let an account go on')
    .argument('<name>')
    .action((name) => finish(async () => (await load()).resume(config(), name, json())));
}

function addDoor(program: Command, json: () => {readonly json: boolean}): void {
  program
    .command('door')
    .description('the warehouse over HTTP, for systems that do not speak SQL')
    .option('--port <number>', 'where to listen', readPort, 8086)
    .option('--host <address>', 'on which address; of another than this machine, behind TLS', '127.0.0.1')
    .action((given) =>
      finish(async () => (await import('./commands/door.ts')).door(config(), {...given, ...json()}, signal)),
    );
  const keys = program.command('keys').description('look after the keys that open the door');
  const load = () => import('./commands/keys.ts');
  keys
    .command('add')
    .description('make a key; it is shown this once')
    .argument('<name>', 'what the key is called here: its changes show it')
    .option('--account <name>', 'which account it opens, where there are several')
    .option('--read-only', 'it makes no changes')
    .action((name, given) => finish(async () => (await load()).add(config(), name, {...given, ...json()})));
  keys
    .command('list')
    .description('the keys, what they open, when they last did')
    .action(() => finish(async () => (await load()).list(config(), json())));
  keys
    .command('revoke')
    .description('let a key open nothing any more')
    .argument('<name>')
    .action((name) => finish(async () => (await load()).revoke(config(), name, json())));
}

const helpEnd = `
Without settings it mirrors made-up data into an embedded Postgres: npm start -- --once

Settings, from the environment:
  FIELDMIRROR_API_URL, FIELDMIRROR_API_TOKEN, FIELDMIRROR_TIME_ZONE   the account
  FIELDMIRROR_KEY or FIELDMIRROR_KEY_FILE   what seals the tokens of more accounts (fieldmirror accounts add)
  DATABASE_URL   the warehouse           REDIS_URL   the queue
  FIELDMIRROR_HOME   folder of the embedded Postgres (.fieldmirror)
  FIELDMIRROR_ALLOW_HTTP=1   plain http to another machine
  FIELDMIRROR_LOG_LEVEL   debug, info, warn (default), error, silent

Exit codes: 0 done · 1 done, but some records or changes were refused · 2 wrong usage or configuration ·
3 a dependency is unreachable or refuses us · 70 a bug`;

function config() {
  return loadConfig(process.env);
}

function addWord(word: string, words: readonly string[]): readonly string[] {
  return [...words, word];
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('expected a port, 0 to 65535 (0: any free one)');
}

/** Segments that no router takes for a pattern, and no client writes in another way. */
function readBasePath(text: string): string {
  if (/^(\/[\w-]+)*\/?$/.test(text)) return text.replace(/\/$/, '');
  throw new InvalidArgumentError('expected a path such as /acme: letters, digits, - and _ between slashes');
}

function readCount(text: string): number {
  if (/^[1-9]\d{0,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected a whole number from 1 on');
}

async function finish(command: () => Promise<number>): Promise<void> {
  process.exitCode = await command();
}

/** Stopped by a person: what was under way goes on at the next start. */
function endStopped(error: unknown): number {
  const exitCode = exitCodeOf(error);
  return exitCode === 70 ? 1 : exitCode;
}

try {
  await buildProgram().parseAsync();
} catch (error) {
  process.exitCode = signal.aborted ? endStopped(error) : reportError(error);
}
await exit(Number(process.exitCode ?? 0), signal);
