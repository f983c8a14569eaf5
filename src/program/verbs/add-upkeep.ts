// The verbs that look after an installation: what is its health, where does a value come from, what must be mended.

import type {Command} from 'commander';
import {config, finish, type Surroundings} from '../verb.ts';

export function addUpkeep(program: Command, surroundings: Surroundings): void {
  addStatus(program, surroundings);
  addExplain(program, surroundings);
  addDoctor(program, surroundings);
  addMigrate(program, surroundings);
}

function addStatus(program: Command, {json}: Surroundings): void {
  program
    .command('status')
    .description('health at a glance: how old what we know can be, and what needs a person (exit code 1)')
    .option('--account <name>', 'only one account')
    .action((given) =>
      finish(async () =>
        (await import('../../commands/health/status.ts')).status(await config(), {...given, ...json()}),
      ),
    );
}

function addExplain(program: Command, {json}: Surroundings): void {
  program
    .command('explain')
    .description('where a value came from, or what happened to a row')
    .argument('<stream>', 'customers, jobs, employees, tasks')
    .argument('<number>', 'number of the record')
    .argument('[field]', 'one of its fields; the whole row when none is named')
    .option('--account <name>', 'which account, where there are several')
    .action((stream, number, field, given) =>
      finish(async () =>
        (await import('../../commands/health/explain.ts')).explain(
          await config(),
          {stream, number, field},
          {...given, ...json()},
        ),
      ),
    );
}

function addDoctor(program: Command, {json}: Surroundings): void {
  program
    .command('doctor')
    .description('check every dependency, and say how to mend what is wrong')
    .action(() =>
      finish(async () => (await import('../../commands/health/doctor.ts')).doctor(await config(), json())),
    );
}

function addMigrate(program: Command, {json}: Surroundings): void {
  program
    .command('migrate')
    .description("bring the warehouse's schema up to date, and nothing else")
    .action(() =>
      finish(async () => (await import('../../commands/config/migrate.ts')).migrate(await config(), json())),
    );
}
