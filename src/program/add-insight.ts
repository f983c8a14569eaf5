// The verbs that answer questions about the business.

import type {Command} from 'commander';
import {readCount} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

export function addInsight(program: Command, {json}: Surroundings): void {
  const load = () => import('../commands/insight/ask.ts');
  program
    .command('ask')
    .description('answers to the questions of an owner; without a name, the questions')
    .argument('[name]', 'such as debtors')
    .option('--account <name>', 'which account, where there are several')
    .option('--as-of <moment>', 'by what was known at the end of a day, or at an instant')
    .option('--limit <number>', 'how many rows', readCount, 20)
    .option('--csv', 'all rows as CSV')
    .option('--sql', 'the statement, to run it yourself')
    .action((name, given) =>
      finish(async () =>
        name === undefined
          ? (await load()).listQuestions(json())
          : await (await load()).ask(await config(), name, {...given, ...json()}),
      ),
    );
  program
    .command('check')
    .description(
      'whether the figures tie out with the warehouse, and what in them a person may want to look at',
    )
    .action(() =>
      finish(async () => (await import('../commands/insight/check.ts')).check(await config(), json())),
    );
  program
    .command('export')
    .description('the star for other tools')
    .command('dbt')
    .description('sources.yml of a dbt project: names, descriptions, keys, relations and freshness')
    .action(() => finish(async () => (await import('../commands/insight/export.ts')).exportDbt(json())));
}
