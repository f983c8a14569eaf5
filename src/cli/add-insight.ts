// The verbs that answer questions about the business.

import type {Command} from 'commander';
import {readCount} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

const insight = {
  ask: () => import('./ask.ts'),
  export: () => import('./insight-export.ts'),
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
    .action(() =>
      finish(async () => (await import('./insight-check.ts')).check(await config(), json())),
    );
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
        (await import('./insight-report.ts')).report(await config(), {...given, ...json()}),
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
  verb
    .command('metabase')
    .description(
      'a script that brings every question, with its chart, and dashboards into Metabase',
    )
    .action(() => finish(async () => (await insight.export()).exportMetabase(json())));
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
      finish(async () => (await import('./assistant-mcp.ts')).mcp(await config(), given, signal)),
    );
}
