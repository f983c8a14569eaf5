// The installation as a whole: which database works for the accounts, and which key seals their
// tokens.

import type {Command} from 'commander';
import {config, finish, type Surroundings} from './verb.ts';

const load = () => import('./installation.ts');

export function addInstallation(program: Command, {json}: Surroundings): void {
  const installation = program
    .command('installation')
    .description('which database works for the accounts, and which key seals their tokens');
  installation
    .command('show')
    .description('whether this database is the one that works, or may be a copy (exit code 1)')
    .action(() => finish(async () => (await load()).show(await config(), json())));
  installation
    .command('claim')
    .description('let this database work for its accounts; its name is typed back')
    .option('--moved', 'nothing was sent by another one since: creates go on, too')
    .action((given) =>
      finish(async () => (await load()).claim(await config(), {...given, ...json()})),
    );
  installation
    .command('reseal')
    .description(
      'seal all that is sealed with the first key of FIELDMIRROR_KEY=NEW,OLD: OLD is needed no more',
    )
    .action(() => finish(async () => (await import('./reseal.ts')).reseal(await config(), json())));
}
