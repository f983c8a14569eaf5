import type {Command} from 'commander';
import {readCount} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

export function addQuarantine(program: Command, {json, signal}: Surroundings): void {
  const quarantine = program.command('quarantine').description('look after records that could not be read');
  const load = () => import('../commands/sweeps/quarantine.ts');
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
    .description('ask the service for records once more, now; one that is gone leaves quarantine, too')
    .argument('<entry...>', 'their numbers in quarantine list')
    .action((ids) => finish(async () => (await load()).retry(await config(), ids, {...json(), signal})));
}
