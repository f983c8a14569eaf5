import type {Command} from 'commander';
import {readCount} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

export function addSweeps(program: Command, {json}: Surroundings): void {
  const sweeps = program
    .command('sweeps')
    .description('past sweeps, what they prove, and what waits for a person');
  const load = () => import('../commands/sweeps/sweeps.ts');
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
