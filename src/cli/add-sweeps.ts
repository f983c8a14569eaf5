import {type Command, Option} from 'commander';
import {readCount, readSpan} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

export function addSweeps(program: Command, surroundings: Surroundings): void {
  addPastSweeps(program, surroundings);
  addQuarantine(program, surroundings);
  addSchedules(program, surroundings);
}

function addPastSweeps(program: Command, {json}: Surroundings): void {
  const sweeps = program
    .command('sweeps')
    .description('past sweeps, what they prove, and what waits for a person');
  const load = () => import('./sweeps.ts');
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
  const quarantine = program
    .command('quarantine')
    .description('look after records that could not be read');
  const load = () => import('./quarantine.ts');
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
    .description(
      'ask the service for records once more, now; one that is gone leaves quarantine, too',
    )
    .argument('<entry...>', 'their numbers in quarantine list')
    .action((ids) =>
      finish(async () =>
        (await import('./quarantine-retry.ts')).retry(await config(), ids, {
          ...json(),
          signal,
        }),
      ),
    );
}

function addSchedules(program: Command, {json}: Surroundings): void {
  const schedules = program
    .command('schedules')
    .description('the sweeps that come round by themselves');
  const load = () => import('./schedules.ts');
  schedules
    .command('list')
    .description('the schedules, and when each is due next')
    .option('--account <name>', 'of one account')
    .action((given) =>
      finish(async () => (await load()).list(await config(), {...given, ...json()})),
    );
  schedules
    .command('set')
    .description('make a schedule, or change one; what is left out stays')
    .argument('<name>', 'of the schedule; with --fresh of the stream')
    .option('--account <name>', 'which account, where there are several')
    .addOption(
      new Option(
        '--fresh <span>',
        'read the whole list of a stream so often; its cost is shown first',
      )
        .argParser(readSpan)
        .conflicts(['every', 'at', 'stream', 'window']),
    )
    .option('--yes', 'with --fresh: the cost was seen; set it')
    .option('--every <span>', 'how often: 30s, 5m, 1h, 1d', readSpan)
    .option('--at <time>', 'with whole days: time of day in UTC, HH:MM:SSZ')
    .option('--stream <name>', 'customers, jobs, employees, tasks')
    .option(
      '--window <name>',
      'the part of its list that is read, as in sync --window; without it all',
    )
    .action((name, {fresh, yes = false, every, ...given}) =>
      finish(async () =>
        fresh === undefined
          ? (await load()).set(await config(), name, {
              ...given,
              yes,
              ...(every === undefined ? {} : {everyMs: every}),
              ...json(),
            })
          : (await import('./freshness.ts')).setFreshness(await config(), name, {
              everyMs: fresh,
              yes,
              account: given.account,
              ...json(),
            }),
      ),
    );
  schedules
    .command('remove')
    .description('take a schedule away')
    .argument('<name>', 'of the schedule')
    .option('--account <name>', 'which account, where there are several')
    .action((name, given) =>
      finish(async () => (await load()).remove(await config(), name, {...given, ...json()})),
    );
  schedules
    .command('run')
    .description('let the sweep of a schedule be due now')
    .argument('<name>', 'of the schedule')
    .option('--account <name>', 'which account, where there are several')
    .action((name, given) =>
      finish(async () => (await load()).run(await config(), name, {...given, ...json()})),
    );
}
