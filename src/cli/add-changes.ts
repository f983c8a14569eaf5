import {type Command, Option} from 'commander';
import {decisionsDo} from '../changes/decision-words.ts';
import {readCount, readNumber, readSince} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

const decisions = ['retry', 'hold', 'release', 'cancel', 'accept'] as const;

const read = () => import('./changes.ts');
const decide = () => import('./changes-decide.ts');
const takeBack = () => import('./undo.ts');

export function addChanges(program: Command, surroundings: Surroundings): void {
  const changes = program.command('changes').description('look after what was changed here');
  addList(changes, surroundings);
  addShow(changes, surroundings);
  for (const decision of decisions) addDecision(changes, decision, surroundings);
  addResolve(changes, surroundings);
  addUndo(changes, surroundings);
}

/** The filters by which changes are chosen. */
function withFilters(command: Command): Command {
  return command
    .option(
      '--state <state>',
      'held, pending, sending, in_doubt, conflict, done, rejected, cancelled, altered, needy',
    )
    .option('--table <table>', 'of one table: customers, jobs, job_notes, …')
    .option('--by <name>', 'made by this person, database user or application')
    .option('--since <when>', 'made within 30m, 2h or 3d, or since 2027-03-14T09:30:00Z', readSince)
    .option('--batch <name>', 'of the transactions of this name: SET fieldmirror.batch')
    .option('--transaction <number>', 'of one transaction, as changes show tells it', readNumber)
    .option('--account <name>', 'of one account');
}

/** Numbers, or filters. */
function withChoice(command: Command): Command {
  return withFilters(command.argument('[change...]', 'their numbers; or filters'))
    .option('--all', 'every change for which it is open')
    .option('--dry-run', 'show what it would do; nothing is done');
}

function addList(changes: Command, {json}: Surroundings): void {
  withFilters(changes.command('list').description('what is under way, and what became of the rest'))
    .option('--limit <number>', 'how many', readCount, 20)
    .action((given) =>
      finish(async () => (await read()).list(await config(), {...given, ...json()})),
    );
}

function addShow(changes: Command, {json}: Surroundings): void {
  changes
    .command('show')
    .description('one change: its story line by line, what would be sent, and what happens next')
    .argument('<change>', 'its number')
    .action((id) => finish(async () => (await read()).show(await config(), id, json())));
}

function addDecision(
  changes: Command,
  verb: (typeof decisions)[number],
  {json}: Surroundings,
): void {
  const command = withChoice(changes.command(verb).description(decisionsDo[verb]));
  if (verb === 'cancel') command.option('--reason <text>', 'why, for those who look at it later');
  command.action((ids, given) =>
    finish(async () => (await decide()).decide(await config(), {verb, ids}, {...given, ...json()})),
  );
}

function addResolve(changes: Command, {json}: Surroundings): void {
  withChoice(
    changes
      .command('resolve')
      .description('decide a conflict; changes show tells what can be decided'),
  )
    .addOption(new Option('--take <side>', 'whose value counts').choices(['service', 'warehouse']))
    .option('--adopt <number>', 'of a create: the record that it became')
    .option('--resend', 'send it once more')
    .action((ids, given) =>
      finish(async () => (await decide()).resolve(await config(), ids, {...given, ...json()})),
    );
}

function addUndo(changes: Command, {json}: Surroundings): void {
  withChoice(
    changes
      .command('undo')
      .description(
        'take back: give up what was not sent, and hold changes that write back what was before',
      ),
  ).action((ids, given) =>
    finish(async () => (await takeBack()).undo(await config(), ids, {...given, ...json()})),
  );
}
