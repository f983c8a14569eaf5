// The verbs about the warehouse as a whole: its address, a client on it, its end.

import type {Command} from 'commander';
import {config, finish, type Surroundings} from './verb.ts';

export function addWarehouse(program: Command, {json, signal}: Surroundings): void {
  program
    .command('url')
    .description('print the address of the warehouse, for a tool that takes one')
    .option('--password', 'with its password')
    .action((given) =>
      finish(async () =>
        (await import('./postgres-url.ts')).url(await config(), {
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
        (await import('./psql.ts')).psql(await config(), {
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
      finish(async () => (await import('./postgres-reset.ts')).reset(await config(), json())),
    );
}
