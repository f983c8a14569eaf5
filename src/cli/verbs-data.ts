// Definitions of the verbs that read and change data: questions about the business, changes, the
// feed and its subscribers. Their code is loaded when they are called.

import {type Command, Option} from 'commander';
import {decisionsDo} from '../changes/words.ts';
import {
  addWord,
  type CliContext,
  config,
  finishVerb,
  readCount,
  readNumber,
  readSince,
} from './verb.ts';

const insight = {
  ask: () => import('./ask.ts'),
  export: () => import('./export.ts'),
};

export function addInsight(program: Command, context: CliContext): void {
  addAsk(program, context);
  addCheck(program, context);
  addReport(program, context);
  addExport(program, context);
  addDeliver(program, context);
  addMcp(program, context);
}

function addAsk(program: Command, {json}: CliContext): void {
  program
    .command('ask')
    .description('answer a question about the business; without a name, list the questions')
    .argument('[name]', 'name of the question, such as debtors')
    .option('--account <name>', 'account to use, if there are several')
    .option('--from <day>', 'first day of the period, for a question that has one')
    .option('--to <day>', 'last day of the period')
    .option('--by <word>', 'group by something else, such as town, if the question can')
    .option('--as-of <moment>', 'answer as of the end of a day, or as of an instant')
    .option('--limit <number>', 'maximum number of rows', readCount, 20)
    .option('--csv', 'print all rows as CSV')
    .option('--excel', 'print all rows as CSV for a spreadsheet, without formulas')
    .option('--parquet <file>', 'write all rows to a Parquet file')
    .option('--sql', 'print the SQL statement')
    .action((name, options) =>
      finishVerb(async () =>
        name === undefined
          ? (await insight.ask()).listQuestions(json())
          : await (await insight.ask()).ask(await config(), name, {...options, ...json()}),
      ),
    );
}

function addCheck(program: Command, {json}: CliContext): void {
  program
    .command('check')
    .description('check that figures tie out with the warehouse, and list suspicious data')
    .action(() =>
      finishVerb(async () => (await import('./ask.ts')).askCheck(await config(), json())),
    );
}

function addReport(program: Command, {json}: CliContext): void {
  program
    .command('report')
    .description('print the weekly report: figures, movements, lists, restated figures')
    .option('--week', 'report on the last whole week (the only report)')
    .option('--account <name>', 'account to use, if there are several')
    .option('--html', 'write one HTML page with charts')
    .option('--text', 'write text (default)')
    .option(
      '--to <file>',
      'write to a file: text if the name ends with .txt, else a page; the next report restates it',
    )
    .option('--force', 'report even if jobs were not proven complete within a day')
    .action((options) =>
      finishVerb(async () =>
        (await import('./ask.ts')).report(await config(), {...options, ...json()}),
      ),
    );
}

function addExport(program: Command, {json}: CliContext): void {
  const verb = program.command('export').description('export the star schema for other tools');
  for (const format of ['parquet', 'csv'] as const) {
    const command = verb
      .command(format)
      .description(
        format === 'csv'
          ? 'export tables as CSV files'
          : 'export tables as Parquet files: exact amounts, times in UTC',
      )
      .argument('<folder>', 'folder for the files')
      .argument('[tables...]', 'tables such as fct_job (default: every dimension and fact)')
      .option('--account <name>', 'only one account')
      .option('--as-of <moment>', 'as of the end of a day, or an instant; without event tables');
    if (format === 'csv')
      command.option('--excel', 'write files for a spreadsheet, without formulas');
    command.action((folder, tables, options) =>
      finishVerb(async () =>
        (await insight.export()).exportTables(await config(), {
          format,
          folder,
          tables,
          ...options,
          ...json(),
        }),
      ),
    );
  }
  verb
    .command('dbt')
    .description('write a dbt package: sources with tests, semantic models, metrics, exposures')
    .argument('<folder>', 'folder for the package')
    .action((folder) =>
      finishVerb(async () => (await insight.export()).exportDbt({folder, ...json()})),
    );
}

function addDeliver(program: Command, {json, signal}: CliContext): void {
  program
    .command('deliver')
    .description('deliver a snapshot of the star schema to the targets of the settings, now')
    .argument('[target]', 'name of the target (default: every target)')
    .action((target) =>
      finishVerb(async () =>
        (await import('./export.ts')).deliverStar(await config(), {target, ...json()}, signal),
      ),
    );
}

function addMcp(program: Command, {signal}: CliContext): void {
  program
    .command('mcp')
    .description('serve an AI assistant (MCP) over standard input and output, read-only')
    .option('--account <name>', 'account to use, if there are several')
    .option('--personal', 'include personal data')
    .action((options) =>
      finishVerb(async () => (await import('./assistant.ts')).mcp(await config(), options, signal)),
    );
}

const decisions = ['retry', 'hold', 'release', 'cancel', 'accept'] as const;

const loadChanges = () => import('./changes.ts');
const loadDecisions = () => import('./changes-decide.ts');
const loadUndo = () => import('./changes-decide.ts');

export function addChanges(program: Command, context: CliContext): void {
  const changes = program
    .command('changes')
    .description('list, inspect, retry, cancel and undo changes made in the warehouse');
  addList(changes, context);
  addShow(changes, context);
  for (const decision of decisions) addDecision(changes, decision, context);
  addResolve(changes, context);
  addUndo(changes, context);
}

/** The filters by which changes are chosen. */
function withFilters(command: Command): Command {
  return command
    .option(
      '--state <state>',
      'held, pending, sending, in_doubt, conflict, done, rejected, cancelled, altered, needy',
    )
    .option('--table <table>', 'only changes of one table: customers, jobs, job_notes, …')
    .option('--by <name>', 'only changes of this person, database user or application')
    .option(
      '--since <when>',
      'only changes within 30m, 2h or 3d, or since 2027-03-14T09:30:00Z',
      readSince,
    )
    .option('--batch <name>', 'only changes of this batch: SET fieldmirror.batch')
    .option(
      '--transaction <number>',
      'only changes of one transaction, as changes show prints it',
      readNumber,
    )
    .option('--account <name>', 'only one account');
}

/** Numbers, or filters. */
function withChoice(command: Command): Command {
  return withFilters(command.argument('[change...]', 'numbers of changes; or use filters'))
    .option('--all', 'every change that allows it')
    .option('--dry-run', 'show what would be done; do nothing');
}

function addList(changes: Command, {json}: CliContext): void {
  withFilters(changes.command('list').description('list changes and their states'))
    .option('--limit <number>', 'maximum number', readCount, 20)
    .action((options) =>
      finishVerb(async () =>
        (await loadChanges()).changesList(await config(), {...options, ...json()}),
      ),
    );
}

function addShow(changes: Command, {json}: CliContext): void {
  changes
    .command('show')
    .description('show one change: its story, the request, and what happens next')
    .argument('<change>', 'number of the change')
    .action((id) =>
      finishVerb(async () => (await loadChanges()).changesShow(await config(), id, json())),
    );
}

function addDecision(changes: Command, verb: (typeof decisions)[number], {json}: CliContext): void {
  const command = withChoice(changes.command(verb).description(decisionsDo[verb]));
  if (verb === 'cancel') command.option('--reason <text>', 'reason to record');
  command.action((ids, options) =>
    finishVerb(async () =>
      (await loadDecisions()).changesDecide(await config(), {verb, ids}, {...options, ...json()}),
    ),
  );
}

function addResolve(changes: Command, {json}: CliContext): void {
  withChoice(
    changes
      .command('resolve')
      .description('resolve conflicts; changes show lists the possible decisions'),
  )
    .addOption(
      new Option('--take <side>', 'side whose value wins').choices(['service', 'warehouse']),
    )
    .option('--adopt <number>', 'for a create: number of the record that it made')
    .option('--resend', 'send the change again')
    .action((ids, options) =>
      finishVerb(async () =>
        (await loadDecisions()).resolve(await config(), ids, {...options, ...json()}),
      ),
    );
}

function addUndo(changes: Command, {json}: CliContext): void {
  withChoice(
    changes
      .command('undo')
      .description(
        'undo changes: cancel what was not sent; prepare held changes that restore the rest',
      ),
  ).action((ids, options) =>
    finishVerb(async () => (await loadUndo()).undo(await config(), ids, {...options, ...json()})),
  );
}

export function addFeed(program: Command, {json, signal}: CliContext): void {
  program
    .command('feed')
    .description('print the change feed of the warehouse, in order, after a cursor')
    .option(
      '--after <cursor>',
      'start after this cursor; end is the newest entry (default: from the oldest)',
    )
    .option('--table <name>', 'only this table; may be repeated', addWord, [])
    .option('--column <name>', 'leave out changes of other columns; may be repeated', addWord, [])
    .option('--account <name>', 'only one account')
    .option('--limit <number>', 'maximum number', readCount, 100)
    .option('--follow', 'keep printing entries as they arrive; with --json one per line')
    .action((options) =>
      finishVerb(async () =>
        (await import('./feed.ts')).feed(
          await config(),
          {...options, follow: options.follow === true, ...json()},
          signal,
        ),
      ),
    );
}

const loadHooks = () => import('./hooks.ts');

export function addHooks(program: Command, context: CliContext): void {
  const {json, signal} = context;
  const hooks = program
    .command('hooks')
    .description('manage webhooks that receive the feed, signed');
  addHooksAdd(hooks, context);
  hooks
    .command('list')
    .description('list webhooks, their positions and failed deliveries')
    .action(() => finishVerb(async () => (await loadHooks()).hooksList(await config(), json())));
  hooks
    .command('remove')
    .description('remove a webhook')
    .argument('<name>')
    .action((name) =>
      finishVerb(async () => (await loadHooks()).hooksRemove(await config(), name, json())),
    );
  hooks
    .command('retry')
    .description('retry a webhook at once, or one of its dead letters')
    .argument('<name>')
    .option('--letter <number>', 'retry this dead letter, late and out of order', readCount)
    .option('--after <cursor>', 'start after another cursor; end is the newest entry')
    .action((name, options) =>
      finishVerb(async () =>
        (await loadHooks()).hooksRetry(await config(), name, {...options, ...json(), signal}),
      ),
    );
  hooks
    .command('skip')
    .description('skip a batch that a webhook refuses, or drop a dead letter')
    .argument('<name>')
    .option('--letter <number>', 'drop this dead letter permanently', readCount)
    .action((name, options) =>
      finishVerb(async () =>
        (await loadHooks()).skip(await config(), name, {...options, ...json()}),
      ),
    );
}

function addHooksAdd(hooks: Command, {json}: CliContext): void {
  hooks
    .command('add')
    .description(
      'add a webhook, or the address of one from a file of settings; prints its secret once',
    )
    .argument('<name>', 'name of the webhook')
    .requiredOption('--url <url>', 'address; - prompts for it, or reads it from standard input')
    .option('--table <name>', 'only this table; may be repeated', addWord, [])
    .option('--column <name>', 'leave out changes of other columns; may be repeated', addWord, [])
    .option('--account <name>', 'only one account')
    .option(
      '--leave-out <writer>',
      'leave out what this login, or the key http:NAME, wrote; may be repeated',
      addWord,
      [],
    )
    .option('--after <cursor>', 'start after this cursor (default: end, the newest entry)')
    .option('--limit <number>', 'maximum number of entries per request', readCount, 100)
    .option('--mask', 'hide personal values')
    .option('--system <name>', 'outside system whose keys it is sent (default: default)')
    .action((name, options) =>
      finishVerb(async () =>
        (await loadHooks()).hooksAdd(await config(), name, {
          ...options,
          mask: options.mask === true,
          ...json(),
        }),
      ),
    );
}

export function addLinks(program: Command, {json}: CliContext): void {
  const links = program
    .command('links')
    .description('manage the keys by which outside systems, such as an ERP, know records');
  const load = () => import('./links.ts');
  const system = ['--system <name>', 'outside system (default: default)'] as const;
  const account = ['--account <name>', 'account to use, if there are several'] as const;
  links
    .command('list')
    .description('list the keys that a system has for the records of a table')
    .argument('<table>', 'customers, jobs, …')
    .option('--key <key>', 'only this key')
    .option('--limit <number>', 'maximum number of keys', readCount, 100)
    .option(...system)
    .option(...account)
    .action((table, options) =>
      finishVerb(async () =>
        (await load()).linksList(await config(), table, {...options, ...json()}),
      ),
    );
  links
    .command('set')
    .description('set the key of a record, in place of the one that it had')
    .argument('<table>', 'customers, jobs, …')
    .argument('<number>', 'number of the record', readNumber)
    .argument('<key>', 'what the system calls it')
    .option(...system)
    .option(...account)
    .action((table, number, key, options) =>
      finishVerb(async () =>
        (await load()).linksSet(await config(), {table, number}, {...options, key, ...json()}),
      ),
    );
  links
    .command('remove')
    .description('remove the key of a record')
    .argument('<table>', 'customers, jobs, …')
    .argument('<number>', 'number of the record', readNumber)
    .option(...system)
    .option(...account)
    .action((table, number, options) =>
      finishVerb(async () =>
        (await load()).linksSet(
          await config(),
          {table, number},
          {...options, key: null, ...json()},
        ),
      ),
    );
}

export function addMatch(program: Command, {json}: CliContext): void {
  program
    .command('match')
    .description('find which records of an outside system are already here, and link them')
    .argument('<table>', 'customers or employees')
    .option('--from <file>', 'CSV or NDJSON of the outside system; - is standard input')
    .option('--review <file>', 'write the candidates to a new CSV file, for a person to decide')
    .option('--decided <file>', 'read that file back, with yes in the column link')
    .option('--apply', 'write links: of the sure pairs, or of those decided')
    .option('--undo <batch>', 'remove the links of a batch', readNumber)
    .option('--system <name>', 'outside system (default: default)')
    .option('--country <code>', 'country of telephone numbers without a country code', 'US')
    .option('--account <name>', 'account to use, if there are several')
    .action((table, options) =>
      finishVerb(async () =>
        (await import('./links.ts')).match(await config(), table, {
          ...options,
          apply: options.apply === true,
          ...json(),
        }),
      ),
    );
}
