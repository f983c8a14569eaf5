// Definitions of the verbs that maintain an installation: its health, its sweeps, its accounts.
// Their code is loaded when they are called.

import {type Command, Option} from 'commander';
import {UsageError} from '../core/errors.ts';
import {isCode} from '../core/package.ts';
import {
  addWord,
  type CliContext,
  config,
  finishVerb,
  readCount,
  readNumber,
  readSpan,
} from './verb.ts';

export function addUpkeep(program: Command, context: CliContext): void {
  addStatus(program, context);
  addExplain(program, context);
  addAlerts(program, context);
  addDoctor(program, context);
  addPrune(program, context);
  addForget(program, context);
  addMigrate(program, context);
}

function addStatus(program: Command, {json}: CliContext): void {
  program
    .command('status')
    .description('show health: freshness of each stream, and what needs a person (exit code 1)')
    .option('--account <name>', 'only one account')
    .action((options) =>
      finishVerb(async () =>
        (await import('./status.ts')).status(await config(), {...options, ...json()}),
      ),
    );
}

function addExplain(program: Command, {json}: CliContext): void {
  program
    .command('explain')
    .description('explain where a value came from, what happened to a row, or a code such as E07')
    .argument('<stream>', 'customers, jobs, employees, tasks; or a code such as E07')
    .argument('[number]', 'number of the record')
    .argument('[field]', 'one field (default: the whole row)')
    .option('--account <name>', 'account to use, if there are several')
    .action((stream, number, field, options) =>
      finishVerb(async () => {
        if (number === undefined && isCode(stream))
          return (await import('./terminal.ts')).explainCode(stream, json());
        if (number === undefined)
          throw new UsageError(
            'explain: expected a stream and a number, as in explain jobs 4711, ' +
              'or a code, as in explain E07',
          );
        return await (await import('./explain.ts')).explain(
          await config(),
          {stream, number, field},
          {...options, ...json()},
        );
      }),
    );
}

function addAlerts(program: Command, context: CliContext): void {
  const alerts = program
    .command('alerts')
    .description('manage rules of alerts, and list open alerts');
  addAlertRule(alerts, context);
  const load = () => import('./alerts.ts');
  const {json, signal} = context;
  alerts
    .command('list')
    .description('list rules, whether their messages arrive, and open alerts')
    .action(() => finishVerb(async () => (await load()).alertsList(await config(), json())));
  alerts
    .command('test')
    .description("send a test alert by a rule and print the receiver's answer")
    .argument('<name>')
    .action((name) =>
      finishVerb(async () => (await load()).test(await config(), name, {...json(), signal})),
    );
  alerts
    .command('remove')
    .description('remove a rule')
    .argument('<name>')
    .action((name) =>
      finishVerb(async () => (await load()).alertsRemove(await config(), name, json())),
    );
}

function addAlertRule(alerts: Command, {json}: CliContext): void {
  alerts
    .command('add')
    .description('add a rule: receiver, causes and account')
    .argument('<name>', 'name of the rule')
    .addHelpText(
      'after',
      '\nIf an address is -, the verb prompts for it, or reads it from standard input.',
    )
    .option('--webhook <url>', 'send signed JSON to this address; prints the secret once')
    .option('--slack <url>', 'send to an incoming webhook of Slack')
    .option(
      '--email <address>',
      'send plain text through the server of FIELDMIRROR_SMTP_URL or --smtp',
    )
    .option('--ping <url>', "call this address while nothing is wrong: a dead man's switch")
    .option(
      '--smtp <url>',
      'with --email: smtps://user:password@mail.example.com?from=alerts@example.com',
    )
    .option('--every <span>', 'with --ping: interval (default: 5m)', readSpan)
    .option('--cause <name>', 'only this cause; may be repeated (default: all)', addWord, [])
    .option('--account <name>', 'only problems of one account')
    .option('--quiet <span>', 'time before the same problem is sent again (default: 4h)', readSpan)
    .action((name, {every, quiet, ...options}) =>
      finishVerb(async () =>
        (await import('./alerts.ts')).alertsAdd(await config(), name, {
          ...options,
          ...(every === undefined ? {} : {everyMs: every}),
          ...(quiet === undefined ? {} : {quietMs: quiet}),
          ...json(),
        }),
      ),
    );
}

function addDoctor(program: Command, {json}: CliContext): void {
  program
    .command('doctor')
    .description('check every dependency, and print how to fix each problem')
    .option('--all', 'include settings at their defaults')
    .action(({all = false}) =>
      finishVerb(async () =>
        (await import('./doctor.ts')).doctor(await config(), {...json(), all}),
      ),
    );
}

function addPrune(program: Command, {json, signal}: CliContext): void {
  program
    .command('prune')
    .description('prune expired rows now, as workers do every hour')
    .option('--dry-run', 'only count the rows')
    .action((options) =>
      finishVerb(async () =>
        (await import('./retention.ts')).prune(await config(), {...options, ...json(), signal}),
      ),
    );
}

function addForget(program: Command, {json}: CliContext): void {
  program
    .command('forget')
    .description('erase the personal data of a customer, after you type the name')
    .argument('<stream>', 'customers')
    .argument('<number>', 'number of the customer')
    .option('--account <name>', 'account to use, if there are several')
    .action((stream, number, options) =>
      finishVerb(async () =>
        (await import('./retention.ts')).forget(
          await config(),
          {stream, number},
          {...options, ...json()},
        ),
      ),
    );
}

function addMigrate(program: Command, {json}: CliContext): void {
  program
    .command('migrate')
    .description('migrate the schema of the warehouse, and nothing else')
    .action(() =>
      finishVerb(async () => (await import('./installation.ts')).migrate(await config(), json())),
    );
}

export function addSweeps(program: Command, context: CliContext): void {
  addPastSweeps(program, context);
  addQuarantine(program, context);
  addSchedules(program, context);
}

function addPastSweeps(program: Command, {json}: CliContext): void {
  const sweeps = program
    .command('sweeps')
    .description('list and inspect past sweeps; approve stopped deletions');
  const load = () => import('./sweeps.ts');
  sweeps
    .command('list')
    .description('list the latest sweeps')
    .argument('[stream]', 'customers, jobs, employees, tasks')
    .option('--account <name>', 'only one account')
    .option('--limit <number>', 'maximum number', readCount, 20)
    .action((stream, options) =>
      finishVerb(async () =>
        (await load()).sweepsList(await config(), {stream, ...options, ...json()}),
      ),
    );
  sweeps
    .command('show')
    .description('show one sweep: evidence, why it is not certified, tombstones')
    .argument('<sweep>', 'number of the sweep')
    .action((id) => finishVerb(async () => (await load()).sweepsShow(await config(), id, json())));
  sweeps
    .command('approve')
    .description('approve the deletions of a stopped sweep')
    .argument('<sweep>', 'number of the sweep')
    .action((id) =>
      finishVerb(async () => (await load()).sweepsApprove(await config(), id, json())),
    );
}

function addQuarantine(program: Command, {json, signal}: CliContext): void {
  const quarantine = program
    .command('quarantine')
    .description('list, inspect and retry records that could not be read');
  const load = () => import('./sweeps.ts');
  quarantine
    .command('list')
    .description('list records in quarantine, and what is wrong with each')
    .argument('[stream]', 'customers, jobs, employees, tasks')
    .option('--account <name>', 'only one account')
    .option('--limit <number>', 'maximum number', readCount, 20)
    .action((stream, options) =>
      finishVerb(async () =>
        (await load()).quarantineList(await config(), {stream, ...options, ...json()}),
      ),
    );
  quarantine
    .command('show')
    .description('show one record as the service sent it')
    .argument('<entry>', 'number in quarantine list')
    .action((id) =>
      finishVerb(async () => (await load()).quarantineShow(await config(), id, json())),
    );
  quarantine
    .command('retry')
    .description('request records again now; deleted records leave quarantine too')
    .argument('<entry...>', 'numbers in quarantine list')
    .action((ids) =>
      finishVerb(async () =>
        (await import('./sync.ts')).quarantineRetry(await config(), ids, {
          ...json(),
          signal,
        }),
      ),
    );
}

const loadSchedules = () => import('./schedules.ts');

function addSchedules(program: Command, context: CliContext): void {
  const {json} = context;
  const schedules = program.command('schedules').description('manage schedules of sweeps');
  schedules
    .command('list')
    .description('list schedules, and when each is due next')
    .option('--account <name>', 'only one account')
    .action((options) =>
      finishVerb(async () =>
        (await loadSchedules()).schedulesList(await config(), {...options, ...json()}),
      ),
    );
  addSchedulesSet(schedules, context);
  schedules
    .command('remove')
    .description('remove a schedule')
    .argument('<name>', 'name of the schedule')
    .option('--account <name>', 'account to use, if there are several')
    .action((name, options) =>
      finishVerb(async () =>
        (await loadSchedules()).schedulesRemove(await config(), name, {...options, ...json()}),
      ),
    );
  schedules
    .command('run')
    .description('run a schedule now')
    .argument('<name>', 'name of the schedule')
    .option('--account <name>', 'account to use, if there are several')
    .action((name, options) =>
      finishVerb(async () =>
        (await loadSchedules()).run(await config(), name, {...options, ...json()}),
      ),
    );
}

function addSchedulesSet(schedules: Command, {json}: CliContext): void {
  schedules
    .command('set')
    .description('create or change a schedule; options left out stay unchanged')
    .argument('<name>', 'name of the schedule; with --fresh, of the stream')
    .option('--account <name>', 'account to use, if there are several')
    .addOption(
      new Option(
        '--fresh <span>',
        'interval at which the whole list of a stream is read; shows the cost first',
      )
        .argParser(readSpan)
        .conflicts(['every', 'at', 'stream', 'window']),
    )
    .option('--yes', 'with --fresh: accept the cost')
    .option('--every <span>', 'interval: 30s, 5m, 1h, 1d', readSpan)
    .option('--at <time>', 'time of day in UTC, HH:MM:SSZ, if the interval is whole days')
    .option('--stream <name>', 'customers, jobs, employees, tasks')
    .option('--window <name>', 'part of the list to read, as in sync --window (default: all)')
    .action((name, {fresh, yes = false, every, ...options}) =>
      finishVerb(async () =>
        fresh === undefined
          ? (await loadSchedules()).set(await config(), name, {
              ...options,
              yes,
              ...(every === undefined ? {} : {everyMs: every}),
              ...json(),
            })
          : (await loadSchedules()).setFreshness(await config(), name, {
              everyMs: fresh,
              yes,
              account: options.account,
              ...json(),
            }),
      ),
    );
}

const loadAccounts = () => import('./accounts.ts');
const loadMove = () => import('./accounts-move.ts');
const loadCheck = () => import('./accounts-check.ts');

export function addAccounts(program: Command, context: CliContext): void {
  const accounts = program.command('accounts').description('manage the mirrored accounts');
  addList(accounts, context);
  addAdd(accounts, context);
  addCheck(accounts, context);
  addPauseAndResume(accounts, context);
  addRenameAndRemove(accounts, context);
  addMove(accounts, context);
}

function addList(accounts: Command, {json}: CliContext): void {
  accounts
    .command('list')
    .description('list accounts, their states, and where their tokens come from')
    .action(() =>
      finishVerb(async () => (await loadAccounts()).accountsList(await config(), json())),
    );
}

function addAdd(accounts: Command, {json}: CliContext): void {
  accounts
    .command('add')
    .description('add an account, or replace its token; prompts for the token')
    .argument('<name>', 'name of the account in Fieldmirror')
    .option('--url <address>', "the account's base address: https://app.example.com/acme")
    .option('--time-zone <zone>', 'IANA time zone of the account: America/New_York')
    .action((name, options) =>
      finishVerb(async () =>
        (await import('./accounts-add.ts')).accountsAdd(await config({isAdding: true}), name, {
          ...options,
          ...json(),
        }),
      ),
    );
}

function addCheck(accounts: Command, {json}: CliContext): void {
  accounts
    .command('check')
    .description("check each account's token; resume accounts stopped by a bad token")
    .argument('[name]')
    .action((name) =>
      finishVerb(async () => (await loadCheck()).accountsCheck(await config(), name, json())),
    );
}

function addPauseAndResume(accounts: Command, {json}: CliContext): void {
  accounts
    .command('pause')
    .description('pause an account: start no sweep and send no change')
    .argument('<name>')
    .option('--reason <text>', 'reason to record')
    .action((name, options) =>
      finishVerb(async () =>
        (await loadAccounts()).accountsPause(await config(), name, {...options, ...json()}),
      ),
    );
  accounts
    .command('resume')
    .description('resume a paused account')
    .argument('<name>')
    .action((name) =>
      finishVerb(async () => (await loadCheck()).accountsResume(await config(), name, json())),
    );
}

function addRenameAndRemove(accounts: Command, {json}: CliContext): void {
  accounts
    .command('rename')
    .description('rename an account in Fieldmirror')
    .argument('<name>')
    .argument('<new-name>')
    .action((name, newName) =>
      finishVerb(async () => (await loadMove()).rename(await config(), name, newName, json())),
    );
  accounts
    .command('remove')
    .description('remove a paused account and all its data, after you type its name')
    .argument('<name>')
    .action((name) =>
      finishVerb(async () => (await loadMove()).accountsRemove(await config(), name, json())),
    );
}

function addMove(accounts: Command, {json}: CliContext): void {
  accounts
    .command('move')
    .description('change the address of a paused account, after its records are compared')
    .argument('<name>')
    .requiredOption(
      '--url <address>',
      "the account's new base address: https://app.example.com/acme",
    )
    .action((name, options) =>
      finishVerb(async () =>
        (await import('./accounts-move.ts')).move(await config({isAdding: true}), name, {
          ...options,
          ...json(),
        }),
      ),
    );
}

export function addEmployees(program: Command, {json, signal}: CliContext): void {
  program
    .command('employees')
    .description('manage logins of employees')
    .command('login')
    .description('give an employee a login, at once; prompts for the password')
    .argument('<account>', 'name of the account in Fieldmirror')
    .argument('<number>', 'number of the employee', readNumber)
    .requiredOption('--username <name>', 'name to log in with')
    .option('--force', 'also if it makes the token in use invalid: the account is then stopped')
    .action((account, number, options) =>
      finishVerb(async () =>
        (await import('./push.ts')).employeesLogin(
          await config(),
          {account, number},
          {...options, ...json(), signal},
        ),
      ),
    );
}
