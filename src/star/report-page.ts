// The weekly report as one file of HTML: no script, no external resources.

import {escapeXml} from '../core/text.ts';
import {type Chart, chartStyle, renderChart} from './chart.ts';
import {
  describeFindings,
  describeReportFreshness,
  describeRestated,
  formatCells,
  type Report,
  type ReportList,
  tabulateFigures,
} from './report.ts';
import {showNumber} from './report-figures.ts';

const style = `
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { padding: .3rem .5rem; text-align: left; border-bottom: 1px solid #8884; }
  .number { text-align: right; font-variant-numeric: tabular-nums; }
  figure { margin: 0; break-inside: avoid; }${chartStyle}
  .quiet { opacity: .75; }
  body { overflow-wrap: anywhere; } details { max-width: 100%; overflow-x: auto; }
  @media (max-width: 36rem) {
    table, tbody, tr { display: block; } thead { display: none; }
    tr { padding: .4rem 0; border-bottom: 1px solid #8884; }
    td { display: flex; justify-content: space-between; gap: 1rem; padding: .1rem 0; border: 0; }
    td::before { content: attr(data-name); opacity: .75; }
    td:first-child { font-weight: 600; } td:first-child::before, td:empty { display: none; }
  }
  @media print { details { display: none; } body { margin: 0; max-width: none; } }`;

/**
 * @param warning - shown on top, if the data is too old for a report and a person requested it
 *   anyway
 */
export function renderPage(report: Report, warning: string | null): string {
  const {account, from, to, moves, pictures, lists, unseen} = report;
  const title = escapeXml(`${account}, week of ${from}`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><style>${style}</style></head>
<body><main>
<h1>${title}</h1>
<p class="quiet">${escapeXml(`${from} to ${to}. ${describeReportFreshness(report)}`)}</p>
${warning === null ? '' : `<p><strong>Beware: ${escapeXml(warning)}.</strong></p>`}
${renderFigures(report)}
<h2>What moved more than usual</h2>
${renderSentences(moves, 'Nothing did.')}
${pictures.map(renderPicture).join('\n')}
${lists.map(renderList).join('\n')}
<h2>What changed since the last report</h2>
${renderSentences(describeRestated(report), 'Nothing that earlier reports showed.')}
<h2>What cannot be seen</h2>
${renderSentences(unseen, '')}
<h2>What a person may want to look at</h2>
${renderSentences(describeFindings(report), 'Nothing.')}
</main></body></html>
`;
}

function renderFigures(report: Report): string {
  const {columns, rows} = tabulateFigures(report);
  return renderTable(columns, rows);
}

/** A chart, the sentence that describes it, and its table. */
function renderPicture(chart: Chart): string {
  const {title, sentence, names, series} = chart;
  const rows = names.map((name, index) => [
    name,
    ...series.map(({values}) =>
      values[index] === null || values[index] === undefined
        ? ''
        : showNumber(String(values[index])),
    ),
  ]);
  const table = renderTable(['', ...series.map(({name}) => name)], rows);
  return `<h2>${escapeXml(title)}</h2>
<figure>${renderChart(chart)}<figcaption class="quiet">${escapeXml(sentence)}</figcaption></figure>
<details><summary>as a table</summary>${table}</details>`;
}

function renderList(list: ReportList): string {
  const cells = formatCells(list);
  const table = cells.length === 0 ? '<p>None.</p>' : renderTable(list.columns, cells);
  return `<h2>${escapeXml(list.title)}</h2>\n${table}`;
}

function renderSentences(sentences: readonly string[], none: string): string {
  if (sentences.length === 0) return `<p>${escapeXml(none)}</p>`;
  return `<ul>${sentences.map((sentence) => `<li>${escapeXml(sentence)}</li>`).join('')}</ul>`;
}

const isNumber = (text: string) => /^-?[\d,]+(\.\d+)?$/.test(text);

function renderTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const renderAlignment = (at: number) =>
    rows.every((row) => row[at] === '' || isNumber(row[at] ?? '')) ? ' class="number"' : '';
  // On a phone each row is a card, whose cells are named.
  const renderDataName = (at: number) => ` data-name="${escapeXml(columns[at] ?? '')}"`;
  const renderCells = (row: readonly string[]) =>
    row
      .map(
        (cell, index) =>
          `<td${renderAlignment(index)}${renderDataName(index)}>${escapeXml(cell)}</td>`,
      )
      .join('');
  const body = rows.map((row) => `<tr>${renderCells(row)}</tr>`).join('');
  const titles = columns
    .map((title, index) =>
      // A head without text is a plain cell.
      title === '' ? '<td></td>' : `<th${renderAlignment(index)}>${escapeXml(title)}</th>`,
    )
    .join('');
  const head = `<tr>${titles}</tr>`;
  return `<table><thead>${head}</thead><tbody>${body}</tbody></table>`;
}
