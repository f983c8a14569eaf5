// docs/insight.md, from the definitions: the page is what the code says.

import type {Member, Question} from '../../src/star/member.ts';
import {members, questions} from '../../src/star/star.ts';
import {findings, tieOuts} from '../../src/star/tie-outs.ts';

const opening = `# Insight

The schema \`mart\` has the business as a star: dimensions (\`dim_\`), facts (\`fct_\`), and the answers to the questions of an owner
(\`ask_\`). \`fieldmirror ask\` lists the questions, and answers one by its name; \`fieldmirror check\` checks whether all figures tie out.
\`fieldmirror_reader\` may read all of it.

\`\`\`sql
-- as analyst
SELECT name, owed, older FROM mart.ask_debtors WHERE account_key = 1 ORDER BY owed DESC LIMIT 5;
SELECT sum(completed_amount) FROM mart.fct_job_as_of('2026-11-01') WHERE completed_date BETWEEN '2026-10-01' AND '2026-10-31';
\`\`\`

## Rules

- A fact has the live rows that the service has numbered. A dimension also has deleted rows (\`is_deleted\`), so that no fact
  loses its customer. Row \`-1\` represents a missing value, so that an inner join loses no fact either.
- A key is one column, and has the same name in facts and dimensions. \`account_key\` is in every row; numbers of two accounts may be
  equal, keys never are. No view sums over accounts: their currencies may differ.
- A date is a date in the zone of the account, also in summer. A week begins on Monday.
- Revenue is before tax, on the day of completion; receivables and collected amounts are with tax. Nothing is rounded.
- \`mart.<member>_as_of(moment)\` is a member by what the mirror knew at a time. \`dim_account.known_since\` has the time since when it knows.
- Four facts are tables (${members
  .filter(({keptBy}) => keptBy !== undefined)
  .map(({name}) => `\`${name}\``)
  .join(
    ', ',
  )}): they are written at the end of each sweep that wrote, and a few seconds after an edit.
  \`mart.freshness\` shows what they do not have yet. All other members are views.
- A person enters once what the service does not know: \`mart.settings\`, \`mart.capacity\`, \`mart.closed_days\`, \`mart.labels\`. A figure that
  needs a missing setting is left out.
- The prefixes \`dim_\`, \`fct_\` and \`ask_\` in \`mart\` are reserved for Fieldmirror. Your own views on top of its views are never dropped. If a version gives
  a view of Fieldmirror other columns, it names those of your views that must be created again.
`;

export function drawPage(): string {
  return [
    opening,
    '## Questions\n',
    ...questions.map(drawQuestion),
    '## The star\n',
    ...members.map(drawMember),
    '## Tie-outs\n',
    'Each tie-out is a query that returns no row, over all accounts. `fieldmirror check` runs all of them.\n',
    ...tieOuts.map(({name, claim}) => `- **${name}** ${claim}`),
    '\n## Findings\n',
    '`fieldmirror check` counts them as well. They concern the business, and are not failures.\n',
    ...findings.map(({name, words}) => `- **${name}** ${words}`),
    '',
  ].join('\n');
}

function drawQuestion({
  name,
  question,
  definition,
  caveats,
  tieOuts: ties,
  needs,
  columns,
}: Question): string {
  const word = name.replace('ask_', '').replaceAll('_', '-');
  return [
    `### ${question}\n`,
    `\`fieldmirror ask ${word}\`, \`mart.${name}\`. ${definition} ${caveats}${needs === undefined ? '' : ` Needs \`mart.settings.${needs}\`.`}${ties.length === 0 ? '' : ` Ties out by ${ties.join(', ')}.`}\n`,
    drawColumns(columns.filter(([column]) => column !== 'account_key')),
  ].join('\n');
}

function drawMember({name, comment, columns}: Member): string {
  return [`### ${name}\n`, `${comment}\n`, drawColumns(columns)].join('\n');
}

/** As the formatter of documents writes a table. */
function drawColumns(columns: Member['columns']): string {
  const rows = [['column', ''], ...columns.map(([name, , comment]) => [`\`${name}\``, comment])];
  const widths = [0, 1].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const draw = (row: readonly string[], filler: string) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0, filler)).join(' | ')} |`;
  const [head = [], ...rest] = rows;
  return [draw(head, ' '), draw(['', ''], '-'), ...rest.map((row) => draw(row, ' ')), ''].join(
    '\n',
  );
}
