// The weekly report as text: for a terminal, and for the part of a mail that every program shows.

import {drawTable} from '../core/table.ts';
import {
  cellsOf,
  type Report,
  type ReportList,
  tableOfFigures,
  tellFindings,
  tellReportFreshness,
  tellRestated,
} from './report.ts';

/**
 * @param warning - stands on top, as on the page
 * @param width - of the terminal; null where there is none
 */
export function drawReport(made: Report, warning: string | null, width: number | null): string {
  const {account, from, to, moves, lists, unseen} = made;
  const {columns, rows} = tableOfFigures(made);
  const numbers = drawTable(columns, rows, {numbers: [1, 2, 3, 4], width});
  const section = (title: string, sentences: readonly string[], none: string) =>
    [`\n${title}`, ...(sentences.length === 0 ? [none] : sentences)].join('\n');
  return [
    `${account}, ${from} to ${to}`,
    tellReportFreshness(made),
    ...(warning === null ? [] : [`Beware: ${warning}.`]),
    numbers,
    section('What moved more than usual', moves, 'Nothing did.'),
    ...lists.map((list) => drawList(list, width)),
    section(
      'What changed since the last report',
      tellRestated(made),
      'Nothing of what earlier reports told.',
    ),
    section('What cannot be seen', unseen, ''),
    section('What a person may want to look at', tellFindings(made), 'Nothing.'),
  ].join('\n');
}

function drawList(list: ReportList, width: number | null): string {
  const {title, columns, amounts} = list;
  const cells = cellsOf(list);
  const layout = {numbers: amounts, width};
  return `\n${title}\n${cells.length === 0 ? 'None.' : drawTable(columns, cells, layout)}`;
}
