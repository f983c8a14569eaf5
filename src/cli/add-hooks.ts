import type {Command} from 'commander';
import {addWord, readCount} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

const load = () => import('./hooks.ts');

export function addHooks(program: Command, {json, signal}: Surroundings): void {
  const hooks = program
    .command('hooks')
    .description('subscribers that are sent the feed over HTTP, signed');
  hooks
    .command('add')
    .description(
      'send the feed to an address of yours, or to one that a file of settings named; its secret is shown this once',
    )
    .argument('<name>', 'what the subscriber is called here')
    .requiredOption('--url <url>', 'its address; - asks for it, or reads it from standard input')
    .option('--table <name>', 'only of this table; may be repeated', addWord, [])
    .option('--account <name>', 'only of one account')
    .option(
      '--leave-out <writer>',
      'not what this login, or the key http:NAME, wrote; may be repeated',
      addWord,
      [],
    )
    .option('--after <cursor>', 'begin behind this cursor (default: end, that of now)')
    .option('--limit <number>', 'the most entries in one request', readCount, 100)
    .option('--mask', 'hide personal values')
    .action((name, given) =>
      finish(async () =>
        (await load()).add(await config(), name, {...given, mask: given.mask === true, ...json()}),
      ),
    );
  hooks
    .command('list')
    .description('the subscribers, how far each is, and what was not taken')
    .action(() => finish(async () => (await load()).list(await config(), json())));
  hooks
    .command('remove')
    .description('send nothing to a subscriber any more')
    .argument('<name>')
    .action((name) => finish(async () => (await load()).remove(await config(), name, json())));
  hooks
    .command('retry')
    .description('send to a subscriber again at once; or one of its dead letters now')
    .argument('<name>')
    .option('--letter <number>', 'this dead letter, late and out of order', readCount)
    .option('--after <cursor>', 'begin behind another cursor; end for that of now')
    .action((name, given) =>
      finish(async () => (await load()).retry(await config(), name, {...given, ...json(), signal})),
    );
  hooks
    .command('skip')
    .description(
      'put the batch that a subscriber does not take aside, and go on; or drop a dead letter',
    )
    .argument('<name>')
    .option('--letter <number>', 'drop this dead letter for good', readCount)
    .action((name, given) =>
      finish(async () => (await load()).skip(await config(), name, {...given, ...json()})),
    );
}
