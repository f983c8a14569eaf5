// The weekly report as text, for a terminal and for the part of a mail that every mail program
// shows; and as a mail in HTML. The HTML is limited to what mail programs show: tables with inline
// styles, no picture, no external resources.

import {formatTable} from '../core/format.ts';
import {escapeXml} from '../core/text.ts';
import {
  describeFindings,
  describeReportFreshness,
  describeRestated,
  formatCells,
  type Report,
  type ReportList,
  tabulateFigures,
} from './report.ts';

/**
 * @param warning - shown on top, as on the page
 * @param width - of the terminal; null if there is none
 */
export function formatReport(report: Report, warning: string | null, width: number | null): string {
  const {account, from, to, moves, lists, unseen} = report;
  const {columns, rows} = tabulateFigures(report);
  const numbers = formatTable(columns, rows, {numbers: [1, 2, 3, 4], width});
  const section = (title: string, sentences: readonly string[], none: string) =>
    [`\n${title}`, ...(sentences.length === 0 ? [none] : sentences)].join('\n');
  return [
    `${account}, ${from} to ${to}`,
    describeReportFreshness(report),
    ...(warning === null ? [] : [`Beware: ${warning}.`]),
    numbers,
    section('What moved more than usual', moves, 'Nothing did.'),
    ...lists.map((list) => formatListAsText(list, width)),
    section(
      'What changed since the last report',
      describeRestated(report),
      'Nothing that earlier reports showed.',
    ),
    section('What cannot be seen', unseen, ''),
    section('What a person may want to look at', describeFindings(report), 'Nothing.'),
  ].join('\n');
}

function formatListAsText(list: ReportList, width: number | null): string {
  const {title, columns, amounts} = list;
  const cells = formatCells(list);
  const layout = {numbers: amounts, width};
  return `\n${title}\n${cells.length === 0 ? 'None.' : formatTable(columns, cells, layout)}`;
}

/** The subject and the bodies of a mail. */
interface ReportMailParts {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const font = 'font:15px/1.5 -apple-system,Segoe UI,Roboto,sans-serif';
const tableStyle = 'border-collapse:collapse;width:100%';
const cellStyle = 'padding:4px 6px;border-bottom:1px solid #ddd;vertical-align:top';
const textStyle = `${cellStyle};text-align:left`;
const numberStyle = `${cellStyle};text-align:right`;
const headStyle = 'font-size:17px;margin:24px 0 8px';
/** Further sentences are folded. */
const maxShownRestated = 5;

/**
 * Renders the mail of a report.
 * @param consoleUrl - the address of the console that people use, to whose pages the mail links;
 *   null: the mail has no links
 */
export function renderReportMail(report: Report, consoleUrl: URL | null): ReportMailParts {
  const {account, from, to} = report;
  const title = `${account}, week of ${from}`;
  const linkTo: LinkTo = (path) => {
    if (consoleUrl === null) return null;
    const url = new URL(`${consoleUrl.href.replace(/\/$/, '')}${path}`);
    url.searchParams.set('account', account);
    return url.href;
  };
  const answers = linkTo('/business');
  const seeAll = answers === null ? '' : `\n\nAll answers: ${answers}`;
  return {
    subject: `Weekly report: ${title}${describeRevenue(report)}`,
    text: `${formatReport(report, null, null)}${seeAll}\n\n${advice}\n`,
    html: `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeXml(title)}</title></head>
<body style="${font};max-width:680px;margin:0 auto;padding:16px;word-break:break-word">
<div role="main">
<h1 style="font-size:21px">${escapeXml(title)}</h1>
${renderParagraph(`${from} to ${to}. ${describeReportFreshness(report)}`)}
${renderSections(report, linkTo).join('\n')}
${answers === null ? '' : `<p>${renderLink('All answers', answers)}</p>`}
${renderParagraph(advice)}
</div></body></html>
`,
  };
}

/** The address of a page of the console; null if there is none. */
type LinkTo = (path: string) => string | null;

const advice =
  'fieldmirror report --to week.html draws this report with its charts. ' +
  'The section reports of the settings names who gets this mail.';

/** `, revenue 12,340.50 USD ▲ 4.2 %` */
function describeRevenue(report: Report): string {
  const row = tabulateFigures(report).rows[0];
  const [, now = '', change = ''] = row ?? [];
  if (now === '') return '';
  const amount = report.currency === null ? now : `${now} ${report.currency}`;
  return `, revenue ${amount}${change === '' ? '' : ` ${change}`}`;
}

function renderSections(report: Report, linkTo: LinkTo): string[] {
  return [
    renderFiguresOfMail(report),
    renderHead('What moved more than usual'),
    renderSentences(report.moves, 'Nothing did.'),
    ...report.lists.map((list) => renderList(list, linkTo)),
    renderHead('What changed since the last report'),
    renderRestated(describeRestated(report)),
    renderHead('What cannot be seen'),
    renderSentences(report.unseen, ''),
    renderHead('What a person may want to look at'),
    renderSentences(describeFindings(report), 'Nothing.'),
  ];
}

/** The comparisons of a figure are in words: five columns do not fit on a phone. */
function renderFiguresOfMail(report: Report): string {
  const rows = tabulateFigures(report).rows.map(([label = '', now = '', ...comparisons]) => {
    const [change = '', before = '', yearAgo = ''] = comparisons;
    const parts = [
      before === '' ? '' : `${change} on ${before}`.trim(),
      yearAgo === '' ? '' : `a year ago ${yearAgo}`,
    ];
    return [label, now, parts.filter((part) => part !== '').join('; ')];
  });
  return renderMailTable(['', 'this week', 'beside the week before'], rows, {numbers: [1]});
}

/** A mail program that does not fold shows all sentences. */
function renderRestated(sentences: readonly string[]): string {
  const shown = renderSentences(
    sentences.slice(0, maxShownRestated),
    'Nothing that earlier reports showed.',
  );
  const rest = sentences.slice(maxShownRestated);
  if (rest.length === 0) return shown;
  const folded = `<summary>${rest.length} more</summary>${renderSentences(rest, '')}`;
  return `${shown}<details>${folded}</details>`;
}

/** The title of the list links to the answer, and the first cell of a row to its record. */
function renderList(list: ReportList, linkTo: LinkTo): string {
  const {title, columns, amounts, word, stream, keys} = list;
  const cells = formatCells(list);
  const links = keys.map((key) =>
    stream === null || key === null || key === '-1'
      ? null
      : linkTo(`/records/${stream}/row-${key}`),
  );
  const table =
    cells.length === 0
      ? renderParagraph('None.')
      : renderMailTable(columns, cells, {numbers: amounts, links});
  return `${renderHead(title, linkTo(`/business/ask/${word}`))}\n${table}`;
}

function renderHead(title: string, link: string | null = null): string {
  return `<h2 style="${headStyle}">${renderLink(title, link)}</h2>`;
}

function renderLink(text: string, link: string | null): string {
  return link === null ? escapeXml(text) : `<a href="${escapeXml(link)}">${escapeXml(text)}</a>`;
}

function renderParagraph(text: string): string {
  return `<p style="color:#555">${escapeXml(text)}</p>`;
}

function renderSentences(sentences: readonly string[], none: string): string {
  if (sentences.length === 0) return none === '' ? '' : renderParagraph(none);
  return `<ul>${sentences.map((sentence) => `<li>${escapeXml(sentence)}</li>`).join('')}</ul>`;
}

/**
 * @param numbers - columns that are aligned to the right
 * @param links - the target of the first cell of each row
 */
function renderMailTable(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  {
    numbers,
    links = [],
  }: {readonly numbers: readonly number[]; readonly links?: readonly (string | null)[]},
): string {
  const cells = (tag: 'th' | 'td', row: readonly string[], link: string | null = null) =>
    row
      .map((cell, index) => {
        // A head without text is a plain cell.
        if (tag === 'th' && cell === '') return '<td></td>';
        const style = numbers.includes(index) ? numberStyle : textStyle;
        return `<${tag} style="${style}">${renderLink(cell, index === 0 ? link : null)}</${tag}>`;
      })
      .join('');
  const body = rows.map((row, index) => `<tr>${cells('td', row, links[index])}</tr>`).join('');
  const head = `<thead><tr>${cells('th', columns)}</tr></thead>`;
  const table = `<table style="${tableStyle}">${head}<tbody>${body}</tbody></table>`;
  return `<div style="overflow-x:auto">${table}</div>`;
}
