import type {Command} from 'commander';
import {addWord, readCount} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

export function addFeed(program: Command, {json, signal}: Surroundings): void {
  program
    .command('feed')
    .description('what changed in the warehouse, in order: what follows a cursor')
    .option(
      '--after <cursor>',
      'the cursor of the last entry; end for that of now (default: from the oldest)',
    )
    .option('--table <name>', 'only of this table; may be repeated', addWord, [])
    .option('--account <name>', 'of one account')
    .option('--limit <number>', 'how many', readCount, 100)
    .option('--follow', 'go on, and print each entry as it comes; with --json one a line')
    .action((given) =>
      finish(async () =>
        (await import('./feed.ts')).feed(
          await config(),
          {...given, follow: given.follow === true, ...json()},
          signal,
        ),
      ),
    );
}
