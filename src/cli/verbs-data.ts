// Definitions of the verbs that read and change data: questions about the business, changes, the
// feed and its subscribers. Their code is loaded when they are called.

import {type Command, Option} from 'commander';
import {decisionsDo} from '../changes/words.ts';
import {
  addWord,
  config,
  finish,
  readCount,
  readNumber,
  readSince,
  type Surroundings,
} from './verb.ts';

const insight = {
  ask: () => import('./ask.ts'),
  export: () => import('./export.ts'),
};

export function addInsight(program: Command, surroundings: Surroundings): void {
  addAsk(program, surroundings);
  addCheck(program, surroundings);
  addReport(program, surroundings);
  addExport(program, surroundings);
  addMcp(program, surroundings);
}

function addAsk(program: Command, {json}: Surroundings): void {
  program
    .command('ask')
    .description('answers to the questions of an owner; without a name, the questions')
    .argument('[name]', 'such as debtors')
    .option('--account <name>', 'which account, where there are several')
    .option('--as-of <moment>', 'by what was known at the end of a day, or at an instant')
    .option('--limit <number>', 'how many rows', readCount, 20)
    .option('--csv', 'all rows as CSV')
    .option('--excel', 'all rows as CSV that a spreadsheet opens, without formulas')
    .option('--parquet <file>', 'all rows as a file of Parquet')
    .option('--sql', 'the statement, to run it yourself')
    .action((name, given) =>
      finish(async () =>
        name === undefined
          ? (await insight.ask()).listQuestions(json())
          : await (await insight.ask()).ask(await config(), name, {...given, ...json()}),
      ),
    );
}

function addCheck(program: Command, {json}: Surroundings): void {
  program
    .command('check')
    .description(
      'whether the figures tie out with the warehouse, and what in them a person may want to look at',
    )
    .action(() => finish(async () => (await import('./ask.ts')).check(await config(), json())));
}

function addReport(program: Command, {json}: Surroundings): void {
  program
    .command('report')
    .description(
      'the report of the last whole week: figures, what moved, lists, and what was restated',
    )
    .option('--week', 'the last whole week; there is no other report')
    .option('--account <name>', 'which account, where there are several')
    .option('--html', 'as a page: one file, with its charts')
    .option('--text', 'as text, which it is without a word')
    .option(
      '--to <file>',
      'into a file: a page, or text where the name ends with .txt; the next report says what of it is restated',
    )
    .option('--force', 'also where the jobs were not proven complete within a day')
    .action((given) =>
      finish(async () =>
        (await import('./weekly-report.ts')).report(await config(), {...given, ...json()}),
      ),
    );
}

function addExport(program: Command, {json}: Surroundings): void {
  const verb = program.command('export').description('the star for other tools');
  for (const format of ['parquet', 'csv'] as const) {
    const command = verb
      .command(format)
      .description(
        format === 'csv'
          ? 'tables as files of CSV'
          : 'tables as files of Parquet: amounts exact, moments in UTC',
      )
      .argument('<folder>', 'of the files')
      .argument('[tables...]', 'such as fct_job; without a name every dimension and fact')
      .option('--account <name>', 'of one account alone');
    if (format === 'csv') command.option('--excel', 'for a spreadsheet, without formulas');
    command.action((folder, tables, given) =>
      finish(async () =>
        (await insight.export()).exportTables(await config(), {
          ...{format, folder, tables},
          ...given,
          ...json(),
        }),
      ),
    );
  }
  verb
    .command('dbt')
    .description('sources.yml of a dbt project: names, descriptions, keys, relations and freshness')
    .action(() => finish(async () => (await insight.export()).exportDbt(json())));
}

function addMcp(program: Command, {signal}: Surroundings): void {
  program
    .command('mcp')
    .description(
      'serves an assistant over standard input and output: it asks and reads, and changes nothing',
    )
    .option('--account <name>', 'which account, where there are several')
    .option('--personal', 'tell the names of people, too')
    .action((given) =>
      finish(async () => (await import('./assistant.ts')).mcp(await config(), given, signal)),
    );
}

const decisions = ['retry', 'hold', 'release', 'cancel', 'accept'] as const;

const read = () => import('./changes.ts');
const decide = () => import('./changes-decide.ts');
const takeBack = () => import('./changes-decide.ts');

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

const loadHooks = () => import('./hooks.ts');

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
        (await loadHooks()).add(await config(), name, {
          ...given,
          mask: given.mask === true,
          ...json(),
        }),
      ),
    );
  hooks
    .command('list')
    .description('the subscribers, how far each is, and what was not taken')
    .action(() => finish(async () => (await loadHooks()).list(await config(), json())));
  hooks
    .command('remove')
    .description('send nothing to a subscriber any more')
    .argument('<name>')
    .action((name) => finish(async () => (await loadHooks()).remove(await config(), name, json())));
  hooks
    .command('retry')
    .description('send to a subscriber again at once; or one of its dead letters now')
    .argument('<name>')
    .option('--letter <number>', 'this dead letter, late and out of order', readCount)
    .option('--after <cursor>', 'begin behind another cursor; end for that of now')
    .action((name, given) =>
      finish(async () =>
        (await loadHooks()).retry(await config(), name, {...given, ...json(), signal}),
      ),
    );
  hooks
    .command('skip')
    .description(
      'put the batch that a subscriber does not take aside, and go on; or drop a dead letter',
    )
    .argument('<name>')
    .option('--letter <number>', 'drop this dead letter for good', readCount)
    .action((name, given) =>
      finish(async () => (await loadHooks()).skip(await config(), name, {...given, ...json()})),
    );
}
