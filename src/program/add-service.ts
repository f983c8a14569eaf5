import {type Command, Option} from 'commander';
import {readBasePath, readCount, readPort} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

export function addService(program: Command, {json, signal}: Surroundings): void {
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
        (await import('../commands/service.ts')).service(await config(), {...given, ...json()}, signal),
      ),
    );
}
