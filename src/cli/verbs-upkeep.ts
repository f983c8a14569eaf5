// Definitions of the verbs that look after an installation: its health, its sweeps, its accounts.
// Their code is loaded when they are called.

import {type Command, Option} from 'commander';
import {UsageError} from '../core/errors.ts';
import {isCode} from '../core/package.ts';
import {addWord, config, finish, readCount, readSpan, type Surroundings} from './verb.ts';

export function addUpkeep(program: Command, surroundings: Surroundings): void {
  addStatus(program, surroundings);
  addExplain(program, surroundings);
  addAlerts(program, surroundings);
  addDoctor(program, surroundings);
  addPrune(program, surroundings);
  addForget(program, surroundings);
  addMigrate(program, surroundings);
}

function addStatus(program: Command, {json}: Surroundings): void {
  program
    .command('status')
    .description(
      'health at a glance: how old what we know can be, and what needs a person (exit code 1)',
    )
    .option('--account <name>', 'only one account')
    .action((given) =>
      finish(async () =>
        (await import('./status.ts')).status(await config(), {...given, ...json()}),
      ),
    );
}

function addExplain(program: Command, {json}: Surroundings): void {
  program
    .command('explain')
    .description(
      'where a value came from, or what happened to a row; what a number such as E07 in a message means',
    )
    .argument('<stream>', 'customers, jobs, employees, tasks; or the number of a page')
    .argument('[number]', 'number of the record')
    .argument('[field]', 'one of its fields; the whole row when none is named')
    .option('--account <name>', 'which account, where there are several')
    .action((stream, number, field, given) =>
      finish(async () => {
        if (number === undefined && isCode(stream))
          return (await import('./print.ts')).explainCode(stream, json());
        if (number === undefined)
          throw new UsageError(
            'explain: expected a stream and a number, as in explain jobs 4711, or a code, as in explain E07',
          );
        return await (await import('./explain.ts')).explain(
          await config(),
          {stream, number, field},
          {...given, ...json()},
        );
      }),
    );
}

function addAlerts(program: Command, surroundings: Surroundings): void {
  const alerts = program
    .command('alerts')
    .description('who is told what is wrong, and what is wrong now');
  addAlertRule(alerts, surroundings);
  const load = () => import('./alerts.ts');
  const {json, signal} = surroundings;
  alerts
    .command('list')
    .description('the rules, whether their messages arrive, and what is open now')
    .action(() => finish(async () => (await load()).list(await config(), json())));
  alerts
    .command('test')
    .description("send a made-up alert by a rule now, and tell the receiver's answer")
    .argument('<name>')
    .action((name) =>
      finish(async () => (await load()).test(await config(), name, {...json(), signal})),
    );
  alerts
    .command('remove')
    .description('tell nothing by a rule any more')
    .argument('<name>')
    .action((name) => finish(async () => (await load()).remove(await config(), name, json())));
}

function addAlertRule(alerts: Command, {json}: Surroundings): void {
  alerts
    .command('add')
    .description('make a rule: who is told, of what, and how')
    .argument('<name>', 'what the rule is called here')
    .addHelpText(
      'after',
      '\nAn address that is given as - is asked for, or read from standard input.',
    )
    .option('--webhook <url>', 'JSON to an address of yours, signed; the secret is shown this once')
    .option('--slack <url>', 'an incoming webhook of Slack')
    .option('--email <address>', 'plain text, through the server of FIELDMIRROR_SMTP_URL or --smtp')
    .option(
      '--ping <url>',
      'a call that comes for as long as nothing is wrong, to a service that misses it',
    )
    .option(
      '--smtp <url>',
      'with --email: smtps://user:password@mail.example.com?from=alerts@example.com',
    )
    .option('--every <span>', 'with --ping: how often it comes (default: 5m)', readSpan)
    .option(
      '--cause <name>',
      'only what is named, again for each (default: everything)',
      addWord,
      [],
    )
    .option('--account <name>', 'only what is wrong with one account')
    .option(
      '--quiet <span>',
      'how long a thing that was told is not told again (default: 4h)',
      readSpan,
    )
    .action((name, {every, quiet, ...given}) =>
      finish(async () =>
        (await import('./alerts.ts')).add(await config(), name, {
          ...given,
          ...(every === undefined ? {} : {everyMs: every}),
          ...(quiet === undefined ? {} : {quietMs: quiet}),
          ...json(),
        }),
      ),
    );
}

function addDoctor(program: Command, {json}: Surroundings): void {
  program
    .command('doctor')
    .description('check every dependency, and say how to mend what is wrong')
    .option('--all', 'show the settings at their defaults, too')
    .action(({all = false}) =>
      finish(async () => (await import('./doctor.ts')).doctor(await config(), {...json(), all})),
    );
}

function addPrune(program: Command, {json, signal}: Surroundings): void {
  program
    .command('prune')
    .description('remove now what is no longer kept, as workers do each hour')
    .option('--dry-run', 'only count it')
    .action((given) =>
      finish(async () =>
        (await import('./retention.ts')).prune(await config(), {...given, ...json(), signal}),
      ),
    );
}

function addForget(program: Command, {json}: Surroundings): void {
  program
    .command('forget')
    .description('remove the personal data of a customer: shows what goes, the name is typed back')
    .argument('<stream>', 'customers')
    .argument('<number>', 'number of the customer')
    .option('--account <name>', 'which account, where there are several')
    .action((stream, number, given) =>
      finish(async () =>
        (await import('./retention.ts')).forget(
          await config(),
          {stream, number},
          {...given, ...json()},
        ),
      ),
    );
}

function addMigrate(program: Command, {json}: Surroundings): void {
  program
    .command('migrate')
    .description("bring the warehouse's schema up to date, and nothing else")
    .action(() =>
      finish(async () => (await import('./installation.ts')).migrate(await config(), json())),
    );
}

export function addSweeps(program: Command, surroundings: Surroundings): void {
  addPastSweeps(program, surroundings);
  addQuarantine(program, surroundings);
  addSchedules(program, surroundings);
}

function addPastSweeps(program: Command, {json}: Surroundings): void {
  const sweeps = program
    .command('sweeps')
    .description('past sweeps, what they prove, and what waits for a person');
  const load = () => import('./sweeps.ts');
  sweeps
    .command('list')
    .description('the latest sweeps')
    .argument('[stream]', 'customers, jobs, employees, tasks')
    .option('--account <name>', 'of one account')
    .option('--limit <number>', 'how many', readCount, 20)
    .action((stream, given) =>
      finish(async () => (await load()).list(await config(), {stream, ...given, ...json()})),
    );
  sweeps
    .command('show')
    .description('one sweep: its evidence, why it is not certified, its tombstones')
    .argument('<sweep>', 'its number')
    .action((id) => finish(async () => (await load()).show(await config(), id, json())));
  sweeps
    .command('approve')
    .description('let the tombstones of a stopped sweep through')
    .argument('<sweep>', 'its number')
    .action((id) => finish(async () => (await load()).approve(await config(), id, json())));
}

function addQuarantine(program: Command, {json, signal}: Surroundings): void {
  const quarantine = program
    .command('quarantine')
    .description('look after records that could not be read');
  const load = () => import('./quarantine.ts');
  quarantine
    .command('list')
    .description('the records in quarantine, and what is wrong with each')
    .argument('[stream]', 'customers, jobs, employees, tasks')
    .option('--account <name>', 'of one account')
    .option('--limit <number>', 'how many', readCount, 20)
    .action((stream, given) =>
      finish(async () => (await load()).list(await config(), {stream, ...given, ...json()})),
    );
  quarantine
    .command('show')
    .description('one record, as the service sent it')
    .argument('<entry>', 'its number in quarantine list')
    .action((id) => finish(async () => (await load()).show(await config(), id, json())));
  quarantine
    .command('retry')
    .description(
      'ask the service for records once more, now; one that is gone leaves quarantine, too',
    )
    .argument('<entry...>', 'their numbers in quarantine list')
    .action((ids) =>
      finish(async () =>
        (await import('./sync.ts')).retry(await config(), ids, {
          ...json(),
          signal,
        }),
      ),
    );
}

function addSchedules(program: Command, {json}: Surroundings): void {
  const schedules = program
    .command('schedules')
    .description('the sweeps that come round by themselves');
  const load = () => import('./schedules.ts');
  schedules
    .command('list')
    .description('the schedules, and when each is due next')
    .option('--account <name>', 'of one account')
    .action((given) =>
      finish(async () => (await load()).list(await config(), {...given, ...json()})),
    );
  schedules
    .command('set')
    .description('make a schedule, or change one; what is left out stays')
    .argument('<name>', 'of the schedule; with --fresh of the stream')
    .option('--account <name>', 'which account, where there are several')
    .addOption(
      new Option(
        '--fresh <span>',
        'read the whole list of a stream so often; its cost is shown first',
      )
        .argParser(readSpan)
        .conflicts(['every', 'at', 'stream', 'window']),
    )
    .option('--yes', 'with --fresh: the cost was seen; set it')
    .option('--every <span>', 'how often: 30s, 5m, 1h, 1d', readSpan)
    .option('--at <time>', 'with whole days: time of day in UTC, HH:MM:SSZ')
    .option('--stream <name>', 'customers, jobs, employees, tasks')
    .option(
      '--window <name>',
      'the part of its list that is read, as in sync --window; without it all',
    )
    .action((name, {fresh, yes = false, every, ...given}) =>
      finish(async () =>
        fresh === undefined
          ? (await load()).set(await config(), name, {
              ...given,
              yes,
              ...(every === undefined ? {} : {everyMs: every}),
              ...json(),
            })
          : (await import('./schedules.ts')).setFreshness(await config(), name, {
              everyMs: fresh,
              yes,
              account: given.account,
              ...json(),
            }),
      ),
    );
  schedules
    .command('remove')
    .description('take a schedule away')
    .argument('<name>', 'of the schedule')
    .option('--account <name>', 'which account, where there are several')
    .action((name, given) =>
      finish(async () => (await load()).remove(await config(), name, {...given, ...json()})),
    );
  schedules
    .command('run')
    .description('let the sweep of a schedule be due now')
    .argument('<name>', 'of the schedule')
    .option('--account <name>', 'which account, where there are several')
    .action((name, given) =>
      finish(async () => (await load()).run(await config(), name, {...given, ...json()})),
    );
}

const loadAccounts = () => import('./accounts.ts');
const loadLife = () => import('./accounts-move.ts');
const loadCheck = () => import('./accounts-check.ts');

export function addAccounts(program: Command, surroundings: Surroundings): void {
  const accounts = program
    .command('accounts')
    .description('look after the accounts that are mirrored');
  addList(accounts, surroundings);
  addAdd(accounts, surroundings);
  addCheck(accounts, surroundings);
  addPauseAndResume(accounts, surroundings);
  addRenameAndRemove(accounts, surroundings);
  addMove(accounts, surroundings);
}

function addList(accounts: Command, {json}: Surroundings): void {
  accounts
    .command('list')
    .description('the accounts, their states, and where their tokens come from')
    .action(() => finish(async () => (await loadAccounts()).list(await config(), json())));
}

function addAdd(accounts: Command, {json}: Surroundings): void {
  accounts
    .command('add')
    .description(
      'add an account, or give one a new token; the token is asked for, never an argument',
    )
    .argument('<name>', 'what the account is called here')
    .option('--url <address>', "the account's base address: https://app.example.com/acme")
    .option('--time-zone <zone>', "the account's IANA zone: America/New_York")
    .action((name, given) =>
      finish(async () =>
        (await import('./accounts-add.ts')).add(await config({isAdding: true}), name, {
          ...given,
          ...json(),
        }),
      ),
    );
}

function addCheck(accounts: Command, {json}: Surroundings): void {
  accounts
    .command('check')
    .description(
      'ask each account, or one, a light question; what was stopped and is answered goes on',
    )
    .argument('[name]')
    .action((name) => finish(async () => (await loadCheck()).check(await config(), name, json())));
}

function addPauseAndResume(accounts: Command, {json}: Surroundings): void {
  accounts
    .command('pause')
    .description('begin nothing more for an account')
    .argument('<name>')
    .option('--reason <text>', 'why, for those who look at it later')
    .action((name, given) =>
      finish(async () => (await loadAccounts()).pause(await config(), name, {...given, ...json()})),
    );
  accounts
    .command('resume')
    .description('let an account go on')
    .argument('<name>')
    .action((name) => finish(async () => (await loadCheck()).resume(await config(), name, json())));
}

function addRenameAndRemove(accounts: Command, {json}: Surroundings): void {
  accounts
    .command('rename')
    .description('call an account by another name here')
    .argument('<name>')
    .argument('<new-name>')
    .action((name, next) =>
      finish(async () => (await loadLife()).rename(await config(), name, next, json())),
    );
  accounts
    .command('remove')
    .description(
      'remove a paused account with all that it holds here: shows what goes, its name is typed back',
    )
    .argument('<name>')
    .action((name) => finish(async () => (await loadLife()).remove(await config(), name, json())));
}

function addMove(accounts: Command, {json}: Surroundings): void {
  accounts
    .command('move')
    .description(
      'give a paused account a new address, where the same business is: its records there are compared first',
    )
    .argument('<name>')
    .requiredOption(
      '--url <address>',
      "the account's new base address: https://app.example.com/acme",
    )
    .action((name, given) =>
      finish(async () =>
        (await import('./accounts-move.ts')).move(await config({isAdding: true}), name, {
          ...given,
          ...json(),
        }),
      ),
    );
}
