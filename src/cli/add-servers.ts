// The verbs that stay and answer over HTTP: the warehouse's own API with its keys, and the
// reference service.

import {type Command, Option} from 'commander';
import {readBasePath, readCount, readPort} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

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
        (await import('./http-command.ts')).http(await config(), {...given, ...json()}, signal),
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
      finish(async () =>
        (await import('./open-command.ts')).open(await config(), {...given, ...json()}),
      ),
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
        (await import('./service-command.ts')).service(
          await config(),
          {...given, ...json()},
          signal,
        ),
      ),
    );
}
