// Settings as a file.

import type {Command} from 'commander';
import {config, finish, type Surroundings} from './verb.ts';

const load = () => import('./config.ts');
const usual = 'fieldmirror.yaml';

export function addInit(program: Command, {json}: Surroundings): void {
  program
    .command('init')
    .description(
      'set up an account of yours: asks, tries each answer, and writes .env and fieldmirror.yaml',
    )
    .option('--url <address>', "the account's base address: https://app.example.com/acme")
    .option('--name <name>', 'what the account is called here')
    .option('--time-zone <zone>', "the account's IANA zone (default: found out)")
    .option('--embedded', 'a Postgres of its own, though DATABASE_URL names another')
    .option('--force', 'change files of settings that are there')
    .action((given) =>
      finish(async () =>
        (await import('./init.ts')).init(await config({isAdding: true, isAnew: true}), {
          ...given,
          embedded: given.embedded === true,
          force: given.force === true,
          ...json(),
        }),
      ),
    );
}

export function addConfig(program: Command, surroundings: Surroundings): void {
  const verbs = program
    .command('config')
    .description('settings as a file: told, compared, applied');
  addExport(verbs, surroundings);
  addPlan(verbs, surroundings);
  addApply(verbs, surroundings);
  addSchema(verbs, surroundings);
}

function addExport(verbs: Command, {json}: Surroundings): void {
  verbs
    .command('export')
    .description('the settings in force, as a file of YAML; never a token')
    .argument('[file]', 'where to write it; printed when none is named, or -', pathOf)
    .option('--force', 'replace the file, and the comments in it')
    .action((file, given) =>
      finish(async () => (await load()).exportConfig(await config(), file, {...given, ...json()})),
    );
}

function addPlan(verbs: Command, {json}: Surroundings): void {
  verbs
    .command('plan')
    .description('what a file would change, value by value; nothing is changed')
    .argument('[file]', 'of settings; - is standard input', usual)
    .option('--check', 'exit code 1 when anything would change')
    .action((file, given) =>
      finish(async () => (await load()).plan(await config(), file, {...given, ...json()})),
    );
}

function addApply(verbs: Command, {json}: Surroundings): void {
  verbs
    .command('apply')
    .description('bring the warehouse in line with a file: all of it, or nothing')
    .argument('[file]', 'of settings; - is standard input', usual)
    .action((file) => finish(async () => (await load()).apply(await config(), file, json())));
}

function addSchema(verbs: Command, {json}: Surroundings): void {
  verbs
    .command('schema')
    .description('the JSON Schema of such a file, for editors')
    .argument('[file]', 'where to write it; printed when none is named, or -', pathOf)
    .action((file) => finish(async () => (await load()).schema(file, json())));
}

/** `-` is standard output, as it is standard input of the verbs that read. */
function pathOf(file: string): string | undefined {
  return file === '-' ? undefined : file;
}
