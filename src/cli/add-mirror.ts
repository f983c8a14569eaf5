// The verbs that move data: read the account, and carry changes back.

import type {Command} from 'commander';
import {addWord, readPort} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

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
