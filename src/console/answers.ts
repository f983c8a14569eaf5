// An answer on a page of the business: its chart, its rows with links to the records, what is
// counted and how far it can be trusted, and the form that chooses its days.

import {html, type SafeHtml} from '@remix-run/html-template';
import {isId} from '../core/text.ts';
import {type Answered, type Told, tellDates, tellScope, wordOf} from '../star/answer.ts';
import {type Grid, gridOf, pictureOf} from '../star/boards.ts';
import type {Chart} from '../star/chart.ts';
import type {Question} from '../star/member.ts';
import type {FormFields} from './access.ts';
import {type Look, linkTo, pageOf} from './page.ts';
import {
  type Cell,
  drawChosenAccount,
  drawFigure,
  drawGrid,
  drawHidden,
  drawMark,
  drawTime,
  drawUnbroken,
  renderTable,
  type TableHead,
} from './render.ts';

const pageRows = 100;
const justNowMs = 60_000;

/** The filters of a question in an address; the command line has options of the same names. */
export const askedWords = ['from', 'to', 'by', 'as-of'] as const;
/** The filters that the page of a question depends on, and keeps in its links. */
export const keptWords = [...askedWords, 'sort'] as const;

/** Where a question is answered in full, for the days and as of the moment of the page. */
export function linkToQuestion(
  look: Look,
  question: Pick<Question, 'name'>,
  as: 'ask' | 'csv' = 'ask',
): string {
  return linkTo(look, `/business/${as}/${wordOf(question)}`, filtersOf(look));
}

function filtersOf({query}: Look): FormFields {
  return Object.fromEntries(keptWords.map((name) => [name, query[name]]));
}

/** The head of a column, with the link that sorts by it: numbers from the largest, else upwards. */
function drawSortable(name: string, head: string, {question, isNumber, look}: Sorting): TableHead {
  const {sort} = look.query;
  const first = isNumber ? `-${name}` : name;
  const other = isNumber ? name : `-${name}`;
  const sorted = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : undefined;
  return {
    head,
    sorted,
    to: linkTo(look, `/business/ask/${wordOf(question)}`, {
      ...filtersOf(look),
      sort: sort === first ? other : first,
    }),
    ...(isNumber ? {kind: 'number' as const} : {}),
  };
}

interface Sorting {
  readonly question: Question;
  readonly isNumber: boolean;
  readonly look: Look;
}

/**
 * An answer: its chart where it has one, its rows, what is counted, and how far it can be trusted.
 * @param shownRows - so many rows, and none beside a chart, which has them in its table; left out:
 *   all, and the chart
 */
export function drawTold(told: Told, look: Look, shownRows?: number): SafeHtml {
  const {question} = told;
  if ('missing' in told)
    return html`<p>${drawMark('warning', 'not set')} ${told.missing}.
      <a href="${linkTo(look, '/settings')}">Set it on the page Settings</a></p>`;
  const {answered} = told;
  const {json, drawn} = answered.answer;
  const picture = pictureOf(question, answered.answer);
  const chart = picture === null ? null : linkBars(picture, answered, look);
  const grid = gridOf(question, answered.answer);
  const isDrawn = chart !== null || grid !== null;
  const from = shownRows === undefined ? pageRows * (pageOf(look.query) - 1) : 0;
  const isBare = isDrawn && shownRows !== undefined;
  const cells = isBare ? [] : drawn.cells.slice(from, from + (shownRows ?? pageRows));
  const hasMore = json.isCutOff || cells.length < drawn.cells.length;
  const rows = () =>
    renderTable({
      caption: question.question,
      columns: drawn.head.map((head, at) =>
        drawSortable(json.columns[at] ?? '', head, {
          ...{question, look},
          isNumber: drawn.numbers.includes(at),
        }),
      ),
      rows: cells.length === 0 ? [] : [...linkRows(cells, answered, {look, from}), ...drawn.foot],
      none: 'Nothing.',
    });
  // The page itself says where no currency is set.
  const scope = (lacksCurrency(told) ? tellDates(answered) : tellScope(answered)).join('; ');
  return html`
    ${chart === null ? '' : drawFigure(chart, cells.length === 0 ? linkNames(chart) : null)}
    ${grid === null ? '' : drawGrid(grid, linkGrid(grid, answered, look))}
    ${
      isDrawn && cells.length === 0
        ? ''
        : grid === null
          ? rows()
          : html`<details><summary>As a list</summary>${rows()}</details>`
    }
    ${shownRows === undefined ? drawPages(answered, look) : ''}
    <p class="quiet small">${drawCounted(answered, look)}${scope}${
      scope !== '' && hasMore ? '. ' : ''
    }${
      !hasMore
        ? ''
        : shownRows !== undefined
          ? html`<a href="${linkToQuestion(look, question)}">All rows</a>`
          : json.isCutOff
            ? 'The CSV has all rows.'
            : ''
    }</p>
    <details class="small"><summary>What is counted</summary>
    <p>${question.definition}</p><p class="quiet">${question.caveats}</p>
    <p>${drawTrust(answered, look)}</p></details>`;
}

/** When an answer was counted that was not counted just now: `Counted at 14:05. ` */
export function drawCounted({countedAt}: Answered, look: Look): SafeHtml | string {
  const ageMs = Date.parse(look.now) - Date.parse(countedAt);
  return ageMs < justNowMs ? '' : html`Counted at ${drawTime(countedAt, look)}. `;
}

/** The ways to all rows that were read, a hundred at a time. */
function drawPages({asked: {question}, answer: {drawn}}: Answered, look: Look): SafeHtml | string {
  const count = Math.ceil(drawn.cells.length / pageRows);
  if (count < 2) return '';
  const to = (page: number) =>
    linkTo(look, `/business/ask/${wordOf(question)}`, {...filtersOf(look), page: String(page)});
  const pages = Array.from({length: count}, (_, at) => at + 1);
  const nameOf = (page: number) =>
    `${pageRows * (page - 1) + 1} to ${Math.min(drawn.cells.length, pageRows * page)}`;
  return html`<nav class="boards" aria-label="Pages of the rows">${pages.map((page) => {
    const current = page === pageOf(look.query) ? html` aria-current="page"` : '';
    return html`<a href="${to(page)}"${current}>${nameOf(page)}</a>`;
  })}</nav>`;
}

/** Whether amounts are shown, and nobody has said in which currency. */
export function lacksCurrency(told: Told): boolean {
  return (
    'answered' in told && told.question.money.length > 0 && told.answered.fresh.currency === null
  );
}

export function drawWayToCurrency(look: Look): SafeHtml {
  return html`<p class="quiet small">These are amounts without a currency.
    <a href="${linkTo(look, '/settings')}">Set the currency</a></p>`;
}

export function drawDownload(told: Told, look: Look): SafeHtml | string {
  if ('missing' in told) return '';
  const csv = linkToQuestion(look, told.question, 'csv');
  return html`<a class="small" href="${csv}" download>Download as CSV</a>`;
}

/** The records that the keys of an answer lead to, and the columns that name them. */
const leads = [
  {key: 'job_key', stream: 'jobs', columns: ['job_number', 'job']},
  {key: 'customer_key', stream: 'customers', columns: ['customer', 'name']},
  {key: 'group_key', stream: 'customers', columns: ['name']},
  {key: 'employee_key', stream: 'employees', columns: ['technician', 'name']},
] as const;

/** Where a cell of an answer leads to; null where it names no record that is known. */
function pathOfCell(
  {answer: {json, keys}}: Answered,
  {place, at}: {readonly place: number; readonly at: number},
  look: Look,
): string | null {
  const own = keys[place];
  const column = json.columns[at] ?? '';
  const lead = leads.find(
    ({key, columns}) => isRow(own?.[key]) && columns.some((name) => name === column),
  );
  return lead === undefined ? null : linkTo(look, `/records/${lead.stream}/row-${own?.[lead.key]}`);
}

/** The cells of an answer, from so many rows on: each that names a record leads to it. */
function linkRows(
  rows: readonly (readonly string[])[],
  answered: Answered,
  {look, from}: {readonly look: Look; readonly from: number},
): Cell[][] {
  return rows.map((row, place) =>
    row.map((cell, at) => {
      const to = cell === '' ? null : pathOfCell(answered, {place: from + place, at}, look);
      if (to === null) return drawUnbroken(cell);
      const isNumber = answered.answer.json.columns[at]?.endsWith('number') === true;
      return html`<a${isNumber ? '' : html` class="what"`} href="${to}">${cell}</a>`;
    }),
  );
}

/** A chart whose bars are records: their names lead to them. */
function linkBars(chart: Chart, answered: Answered, look: Look): Chart {
  const at = findNames(answered);
  if (chart.form !== 'rows' || at === -1) return chart;
  return {...chart, links: chart.names.map((_, place) => pathOfCell(answered, {place, at}, look))};
}

/** The place of the column that names records; -1 where there is none. */
function findNames({answer: {json}}: Answered): number {
  const leading: readonly string[] = leads.flatMap(({columns}) => columns);
  return json.columns.findIndex((column) => leading.includes(column));
}

/** The names of a chart, as links where each is a record's. */
function linkNames({names, links}: Chart): readonly Cell[] {
  return names.map((name, place) => drawName(name, links?.[place] ?? null));
}

/** The names of a grid, as links where each is a record's. */
function linkGrid({rows}: Grid, answered: Answered, look: Look): readonly Cell[] {
  const at = findNames(answered);
  const {columns, rows: told} = answered.answer.json;
  const places = told.map((row) => String(row[columns[at] ?? ''] ?? ''));
  return rows.map(({name}) =>
    drawName(
      name,
      at === -1 ? null : pathOfCell(answered, {place: places.indexOf(name), at}, look),
    ),
  );
}

function drawName(name: string, to: string | null): Cell {
  return to === null || name === '' ? name : html`<a class="what" href="${to}">${name}</a>`;
}

/** -1 stands for no customer, or no employee. */
function isRow(key: string | null | undefined): key is string {
  return key !== null && key !== undefined && isId(key);
}

function drawTrust({asked: {moment}, broken, fresh}: Answered, look: Look): SafeHtml {
  const age =
    moment !== null
      ? html`As of ${drawTime(moment, look)}, by what was known then.`
      : fresh.freshAsOf === null
        ? html`The jobs were never proven complete.`
        : html`Proven complete as of ${drawTime(fresh.freshAsOf, look)}.`;
  const behind =
    fresh.waitingSince === null
      ? ''
      : html` Without what changed since ${drawTime(fresh.waitingSince, look)}.`;
  const verdict =
    broken.length === 0 ? drawMark('good', 'ties out') : drawMark('bad', broken.join('; '));
  return html`${age}${behind} ${verdict}`;
}

/** The days, the grouping and the moment of an answer, as far as they can be chosen. */
export function drawAskedMoment(look: Look, question?: Question): SafeHtml {
  const now = linkTo(look, look.path.split('?')[0] ?? '');
  const isChosen = askedWords.some((name) => look.query[name] !== undefined);
  return html`<form class="filters">
    ${drawChosenAccount(look)}
    ${look.query.sort === undefined ? '' : drawHidden('sort', look.query.sort)}
    ${
      question?.period === undefined
        ? ''
        : html`<label>From <input type="date" name="from" value="${dayOf(look.query.from)}"></label>
          <label>To <input type="date" name="to" value="${dayOf(look.query.to)}"></label>`
    }
    ${drawGroupings(question)}
    <label>As of the end of
      <input type="date" name="as-of" value="${dayOf(look.query['as-of'])}"></label>
    <button>Show</button>${isChosen ? html` <a href="${now}">Now</a>` : ''}</form>`;
}

/** The value for a field of a day; empty where it is no day. */
function dayOf(typed = ''): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(typed) ? typed : '';
}

function drawGroupings(question: Question | undefined): SafeHtml | string {
  const words = Object.keys(question?.by ?? {});
  if (words.length === 0) return '';
  return html`<label>By <select name="by"><option value="">as usual</option>${words.map(
    (word) => html`<option${word === question?.grouped ? html` selected` : ''}>${word}</option>`,
  )}</select></label>`;
}
