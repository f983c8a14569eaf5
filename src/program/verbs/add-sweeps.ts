import type {Command} from 'commander';
import {readCount} from '../arguments.ts';
import {config, finish, type Surroundings} from '../verb.ts';

export function addSweeps(program: Command, surroundings: Surroundings): void {
  addPastSweeps(program, surroundings);
  addQuarantine(program, surroundings);
}

function addPastSweeps(program: Command, {json}: Surroundings): void {
  const sweeps = program
    .command('sweeps')
    .description('past sweeps, what they prove, and what waits for a person');
  const load = () => import('../../commands/sweeps/sweeps.ts');
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
  const quarantine = program.command('quarantine').description('look after records that could not be read');
  const load = () => import('../../commands/sweeps/quarantine.ts');
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
    .action((ids) =>
      finish(async () =>
        (await import('../../commands/sweeps/quarantine-retry.ts')).retry(await config(), ids, {
          ...json(),
          signal,
        }),
      ),
    );
}
