// docs/insight.md, from the definitions: the page is what the code says.

import {groupQuestion} from '../../src/star/answer.ts';
import type {Member, Question} from '../../src/star/member.ts';
import {members, questions} from '../../src/star/star.ts';
import {findings, tieOuts} from '../../src/star/tie-outs.ts';

const opening = `# Insight

The schema \`mart\` has the business as a star: dimensions (\`dim_\`), facts (\`fct_\`), and the
answers to the questions of an owner (\`ask_\`). \`fieldmirror ask\` lists the questions, and
answers one by its name; \`fieldmirror check\` checks whether all figures tie out.
\`fieldmirror_reader\` may read all of it.

\`\`\`sql
-- as analyst
SELECT name, owed, older FROM mart.ask_debtors WHERE account_key = 1 ORDER BY owed DESC LIMIT 5;
SELECT sum(completed_amount) FROM mart.fct_job_as_of('2026-11-01')
 WHERE completed_date BETWEEN '2026-10-01' AND '2026-10-31';
\`\`\`

## Rules

- A fact has the live rows that the service has numbered. A dimension also has deleted rows
  (\`is_deleted\`), so that no fact loses its customer. Row \`-1\` represents a missing value, so
  that an inner join loses no fact either.
- A key is one column, and has the same name in facts and dimensions. Numbers of two accounts may
  be equal, keys never are. No view sums over accounts: their currencies may differ.
- \`account_key\` is in every row of a fact. Row \`-1\` of a dimension has none: filter by that of
  the fact, and join by the key of the dimension alone. Another filter or join loses the facts
  with a missing value.
- A date is a date in the zone of the account, also in summer. A week begins on Monday.
- Revenue is before tax, on the day of completion; receivables and collected amounts are with tax.
  Nothing is rounded.
- \`mart.<member>_as_of(moment)\` is a member by what the mirror knew at a time.
  \`dim_account.known_since\` has the time since when it knows.
- Four facts are tables (${members
  .filter(({keptBy}) => keptBy !== undefined)
  .map(({name}) => `\`${name}\``)
  .join(
    ', ',
  )}): they are written at the end of each sweep that wrote, and a few seconds after an edit.
  \`mart.freshness\` shows what they do not have yet. All other members are views.
- A person enters once what the service does not know: \`mart.settings\`, \`mart.capacity\`,
  \`mart.closed_days\`, \`mart.labels\`. A figure that needs a missing setting is left out.
- A question with a period takes \`--from\` and \`--to\`, also in the console and for an assistant.
  A week or month that these days cut has the days within them alone. The answer is compared with
  as many days before, or with as many months if the days are whole months; what is planned is not.
  A total is of all rows, also of those that \`--limit\` leaves out.
- \`--by\` groups an answer by something else, such as \`town\`. Such an answer has no view:
  \`--sql\` prints its statement.
- The prefixes \`dim_\`, \`fct_\` and \`ask_\` in \`mart\` are reserved for Fieldmirror. Your own
  views on top of its views are never dropped. If a version gives a view of Fieldmirror other
  columns than new ones at its end, it names those of your views that must be created again.
`;

/** The test of the states reads this table: each condition is SQL over a row of the jobs. */
const jobStates = `## States of a job

\`fct_job.job_state\` is the first state of this table whose condition holds for the row in
\`warehouse.jobs\`. Its status alone does not decide: a job that is done may still be \`new\`, and a
status that Fieldmirror does not know (finding D6) decides nothing. A job is open while it is
\`unscheduled\`, \`scheduled\` or \`in_progress\`.

${formatTable([
  ['state', 'condition', 'meaning'],
  [
    '`cancelled`',
    "`status IN ('canceled', 'cancelled') OR canceled_on IS NOT NULL`",
    'It was cancelled, whatever happened before.',
  ],
  [
    '`lost`',
    "`status = 'lost' OR lost_date IS NOT NULL AND won_date IS NULL`",
    'The estimate was lost, and not won before or after.',
  ],
  [
    '`completed`',
    "`status = 'complete' OR completed_on IS NOT NULL`",
    'The work is done, also if its status was never changed.',
  ],
  [
    '`in_progress`',
    "`status = 'in_progress' OR started_on IS NOT NULL`",
    'The work has begun, also that of an estimate without an answer.',
  ],
  [
    '`estimate`',
    "`won_date IS NULL AND (status = 'new' OR " +
      'estimate_sent_on IS NOT NULL AND scheduled_on IS NULL)`',
    'Not won, and new by its status, or sent as an estimate while nothing is scheduled.',
  ],
  ['`scheduled`', '`scheduled_on IS NOT NULL`', 'It has an appointment, past or to come.'],
  [
    '`unscheduled`',
    '`true`',
    'Any other job: it waits for an appointment, also if its status is `scheduled`.',
  ],
])}`;

export function formatPage(): string {
  return [
    opening,
    jobStates,
    '## Questions\n',
    ...questions.map(formatQuestion),
    '## The star\n',
    ...members.map(formatMember),
    '## Tie-outs\n',
    'Each tie-out is a query that returns no row, over all accounts. ' +
      '`fieldmirror check` runs all of them.\n',
    ...tieOuts.map(({name, claim}) => `- **${name}** ${claim}`),
    '\n## Findings\n',
    '`fieldmirror check` counts them as well. They concern the business, and are not failures.\n',
    ...findings.map(({name, description}) => `- **${name}** ${description}`),
    '',
  ].join('\n');
}

/** The question as usual, and by each of its other groupings. */
function formatQuestion(question: Question): string {
  const words = Object.keys(question.by ?? {});
  return [formatOne(question), ...words.map((by) => formatOne(groupQuestion(question, by)))].join(
    '\n',
  );
}

function formatOne({
  name,
  question,
  definition,
  caveats,
  tieOuts: ties,
  needs,
  period,
  grouped,
  columns,
}: Question): string {
  const word = name.replace('ask_', '').replaceAll('_', '-');
  const call =
    grouped === undefined
      ? `\`fieldmirror ask ${word}\`, \`mart.${name}\``
      : `\`fieldmirror ask ${word} --by ${grouped}\``;
  const needed = needs === undefined ? '' : ` Needs \`mart.settings.${needs}\`.`;
  const tied = ties.length === 0 ? '' : ` Ties out by ${ties.join(', ')}.`;
  const days = period === undefined ? '' : ' Takes `--from` and `--to`.';
  return [
    `### ${question}\n`,
    `${call}. ${definition} ${caveats}${days}${needed}${tied}\n`,
    formatColumns(columns.filter(([column]) => column !== 'account_key')),
  ].join('\n');
}

function formatMember({name, comment, columns}: Member): string {
  return [`### ${name}\n`, `${comment}\n`, formatColumns(columns)].join('\n');
}

function formatColumns(columns: Member['columns']): string {
  return formatTable([
    ['column', ''],
    ...columns.map(([name, , comment]) => [`\`${name}\``, comment]),
  ]);
}

/** As the formatter of documents writes a table: the first row has its heads. */
function formatTable(rows: readonly (readonly string[])[]): string {
  const places = (rows[0] ?? []).map((_, at) => at);
  const widths = places.map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const draw = (row: readonly string[], filler: string) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0, filler)).join(' | ')} |`;
  const [head = [], ...rest] = rows;
  return [
    draw(head, ' '),
    draw(
      places.map(() => ''),
      '-',
    ),
    ...rest.map((row) => draw(row, ' ')),
    '',
  ].join('\n');
}
