// The verbs that look after an installation: what is its health, where does a value come from, what
// must be mended.

import type {Command} from 'commander';
import {UsageError} from '../core/errors.ts';
import {isPageNumber} from '../core/package.ts';
import {addWord, readSpan} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

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
        if (number === undefined && isPageNumber(stream))
          return (await import('./explain-page.ts')).explainPage(stream, json());
        if (number === undefined)
          throw new UsageError(
            'explain: expected a stream and a number, as in explain jobs 4711, or the number of a page, as in explain E07',
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
        (await import('./prune.ts')).prune(await config(), {...given, ...json(), signal}),
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
        (await import('./forget.ts')).forget(
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
      finish(async () => (await import('./migrate.ts')).migrate(await config(), json())),
    );
}
