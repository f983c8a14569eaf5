// An answer on a page of the business: its chart, its rows with links to the records, the
// definition of its figures and how far it can be trusted. The form that chooses its days.

import {html, type SafeHtml} from '@remix-run/html-template';
import {isId} from '../core/text.ts';
import {
  type Answered,
  type AnswerOrGap,
  describeDates,
  describeScope,
  wordOf,
} from '../star/answer.ts';
import {type Grid, gridOf, pictureOf} from '../star/boards.ts';
import type {Chart} from '../star/chart.ts';
import type {Question} from '../star/member.ts';
import type {FormFields} from './access.ts';
import {linkTo, type PageContext, pageOf} from './page.ts';
import {
  type Cell,
  renderChosenAccount,
  renderFigure,
  renderGrid,
  renderHidden,
  renderMark,
  renderTable,
  renderTime,
  renderUnbroken,
  type TableHead,
} from './render.ts';

const pageRows = 100;
const justNowMs = 60_000;

/** The filters of a question in an address; the command line has options of the same names. */
export const askedWords = ['from', 'to', 'by', 'as-of'] as const;
/** The filters that the page of a question depends on, and keeps in its links. */
export const keptWords = [...askedWords, 'sort'] as const;

/** The address of a question's full answer, for the days and the moment of the page. */
export function linkToQuestion(
  context: PageContext,
  question: Pick<Question, 'name'>,
  as: 'ask' | 'csv' = 'ask',
): string {
  return linkTo(context, `/business/${as}/${wordOf(question)}`, filtersOf(context));
}

function filtersOf({query}: PageContext): FormFields {
  return Object.fromEntries(keptWords.map((name) => [name, query[name]]));
}

/**
 * The head of a column, with the link that sorts by it: numbers start with the largest, other
 * columns ascend.
 */
function renderSortable(
  name: string,
  head: string,
  {question, isNumber, context}: Sorting,
): TableHead {
  const {sort} = context.query;
  const first = isNumber ? `-${name}` : name;
  const other = isNumber ? name : `-${name}`;
  const sorted = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : undefined;
  return {
    head,
    sorted,
    to: linkTo(context, `/business/ask/${wordOf(question)}`, {
      ...filtersOf(context),
      sort: sort === first ? other : first,
    }),
    ...(isNumber ? {kind: 'number' as const} : {}),
  };
}

interface Sorting {
  readonly question: Question;
  readonly isNumber: boolean;
  readonly context: PageContext;
}

/**
 * An answer: its chart if it has one, its rows, the definition of its figures, and how far it can
 * be trusted.
 * @param shownRows - how many rows are shown; none beside a chart, whose table has them; left out:
 *   a page of all rows, and the chart
 */
export function renderTold(told: AnswerOrGap, context: PageContext, shownRows?: number): SafeHtml {
  const {question} = told;
  if ('missing' in told)
    return html`<p>${renderMark('warning', 'not set')} ${told.missing}.
      <a href="${linkTo(context, '/settings')}">Set it on the page Settings</a></p>`;
  const {answered} = told;
  const {json, drawn} = answered.answer;
  const picture = pictureOf(question, answered.answer);
  const chart = picture === null ? null : linkBars(picture, answered, context);
  const grid = gridOf(question, answered.answer);
  const isDrawn = chart !== null || grid !== null;
  const from = shownRows === undefined ? pageRows * (pageOf(context.query) - 1) : 0;
  const isBare = isDrawn && shownRows !== undefined;
  const cells = isBare ? [] : drawn.cells.slice(from, from + (shownRows ?? pageRows));
  const hasMore = json.isCutOff || cells.length < drawn.cells.length;
  const rows = () =>
    renderTable({
      caption: question.question,
      columns: drawn.head.map((head, at) =>
        renderSortable(json.columns[at] ?? '', head, {
          ...{question, context},
          isNumber: drawn.numbers.includes(at),
        }),
      ),
      rows:
        cells.length === 0 ? [] : [...linkRows(cells, answered, {context, from}), ...drawn.foot],
      none: 'Nothing.',
    });
  // If no currency is set, the page itself says so.
  const scope = (lacksCurrency(told) ? describeDates(answered) : describeScope(answered)).join(
    '; ',
  );
  return html`
    ${chart === null ? '' : renderFigure(chart, cells.length === 0 ? linkNames(chart) : null)}
    ${grid === null ? '' : renderGrid(grid, linkGrid(grid, answered, context))}
    ${
      isDrawn && cells.length === 0
        ? ''
        : grid === null
          ? rows()
          : html`<details><summary>As a list</summary>${rows()}</details>`
    }
    ${shownRows === undefined ? renderPages(answered, context) : ''}
    <p class="quiet small">${renderCounted(answered, context)}${scope}${
      scope !== '' && hasMore ? '. ' : ''
    }${
      !hasMore
        ? ''
        : shownRows !== undefined
          ? html`<a href="${linkToQuestion(context, question)}">All rows</a>`
          : json.isCutOff
            ? 'The CSV has all rows.'
            : ''
    }</p>
    <details class="small"><summary>What is counted</summary>
    <p>${question.definition}</p><p class="quiet">${question.caveats}</p>
    <p>${renderTrust(answered, context)}</p></details>`;
}

/** `Counted at 14:05. `; empty if the answer was counted just now. */
export function renderCounted({countedAt}: Answered, context: PageContext): SafeHtml | string {
  const ageMs = Date.parse(context.now) - Date.parse(countedAt);
  return ageMs < justNowMs ? '' : html`Counted at ${renderTime(countedAt, context)}. `;
}

/** Links to all rows that were read, a hundred at a time. */
function renderPages(
  {asked: {question}, answer: {drawn}}: Answered,
  context: PageContext,
): SafeHtml | string {
  const count = Math.ceil(drawn.cells.length / pageRows);
  if (count < 2) return '';
  const to = (page: number) =>
    linkTo(context, `/business/ask/${wordOf(question)}`, {
      ...filtersOf(context),
      page: String(page),
    });
  const pages = Array.from({length: count}, (_, at) => at + 1);
  const nameOf = (page: number) =>
    `${pageRows * (page - 1) + 1} to ${Math.min(drawn.cells.length, pageRows * page)}`;
  return html`<nav class="boards" aria-label="Pages of the rows">${pages.map((page) => {
    const current = page === pageOf(context.query) ? html` aria-current="page"` : '';
    return html`<a href="${to(page)}"${current}>${nameOf(page)}</a>`;
  })}</nav>`;
}

/** Whether amounts are shown although no currency is set. */
export function lacksCurrency(told: AnswerOrGap): boolean {
  return (
    'answered' in told && told.question.money.length > 0 && told.answered.fresh.currency === null
  );
}

export function renderWayToCurrency(context: PageContext): SafeHtml {
  return html`<p class="quiet small">These are amounts without a currency.
    <a href="${linkTo(context, '/settings')}">Set the currency</a></p>`;
}

export function renderDownload(told: AnswerOrGap, context: PageContext): SafeHtml | string {
  if ('missing' in told) return '';
  const csv = linkToQuestion(context, told.question, 'csv');
  return html`<a class="small" href="${csv}" download>Download as CSV</a>`;
}

/** The records that the keys of an answer link to, and the columns that name them. */
const leads = [
  {key: 'job_key', stream: 'jobs', columns: ['job_number', 'job']},
  {key: 'customer_key', stream: 'customers', columns: ['customer', 'name']},
  {key: 'group_key', stream: 'customers', columns: ['name']},
  {key: 'employee_key', stream: 'employees', columns: ['technician', 'name']},
] as const;

/** The page that a cell of an answer links to; null if it names no known record. */
function pathOfCell(
  {answer: {json, keys}}: Answered,
  {place, at}: {readonly place: number; readonly at: number},
  context: PageContext,
): string | null {
  const own = keys[place];
  const column = json.columns[at] ?? '';
  const lead = leads.find(
    ({key, columns}) => isRow(own?.[key]) && columns.some((name) => name === column),
  );
  return lead === undefined
    ? null
    : linkTo(context, `/records/${lead.stream}/row-${own?.[lead.key]}`);
}

/** Adds links to some rows of an answer: each cell that names a record links to it. */
function linkRows(
  rows: readonly (readonly string[])[],
  answered: Answered,
  {context, from}: {readonly context: PageContext; readonly from: number},
): Cell[][] {
  return rows.map((row, place) =>
    row.map((cell, at) => {
      const to = cell === '' ? null : pathOfCell(answered, {place: from + place, at}, context);
      if (to === null) return renderUnbroken(cell);
      const isNumber = answered.answer.json.columns[at]?.endsWith('number') === true;
      return html`<a${isNumber ? '' : html` class="what"`} href="${to}">${cell}</a>`;
    }),
  );
}

/** Adds links to a chart whose bars are records: each name links to its record. */
function linkBars(chart: Chart, answered: Answered, context: PageContext): Chart {
  const at = findNames(answered);
  if (chart.form !== 'rows' || at === -1) return chart;
  return {
    ...chart,
    links: chart.names.map((_, place) => pathOfCell(answered, {place, at}, context)),
  };
}

/** The position of the column that names records; -1 if there is none. */
function findNames({answer: {json}}: Answered): number {
  const leading: readonly string[] = leads.flatMap(({columns}) => columns);
  return json.columns.findIndex((column) => leading.includes(column));
}

/** The names of a chart, as links if they are names of records. */
function linkNames({names, links}: Chart): readonly Cell[] {
  return names.map((name, place) => renderName(name, links?.[place] ?? null));
}

/** The names of a grid, as links if they are names of records. */
function linkGrid({rows}: Grid, answered: Answered, context: PageContext): readonly Cell[] {
  const at = findNames(answered);
  const {columns, rows: told} = answered.answer.json;
  const places = told.map((row) => String(row[columns[at] ?? ''] ?? ''));
  return rows.map(({name}) =>
    renderName(
      name,
      at === -1 ? null : pathOfCell(answered, {place: places.indexOf(name), at}, context),
    ),
  );
}

function renderName(name: string, to: string | null): Cell {
  return to === null || name === '' ? name : html`<a class="what" href="${to}">${name}</a>`;
}

/** False for a missing key, and for -1, which means no customer or no employee. */
function isRow(key: string | null | undefined): key is string {
  return key !== null && key !== undefined && isId(key);
}

function renderTrust({asked: {moment}, broken, fresh}: Answered, context: PageContext): SafeHtml {
  const age =
    moment !== null
      ? html`As of ${renderTime(moment, context)}, by what was known then.`
      : fresh.freshAsOf === null
        ? html`The jobs were never proven complete.`
        : html`Proven complete as of ${renderTime(fresh.freshAsOf, context)}.`;
  const behind =
    fresh.waitingSince === null
      ? ''
      : html` Without what changed since ${renderTime(fresh.waitingSince, context)}.`;
  const verdict =
    broken.length === 0 ? renderMark('good', 'ties out') : renderMark('bad', broken.join('; '));
  return html`${age}${behind} ${verdict}`;
}

/**
 * The form for the days, the grouping and the moment of an answer, as far as they can be chosen.
 */
export function renderAskedMoment(context: PageContext, question?: Question): SafeHtml {
  const now = linkTo(context, context.path.split('?')[0] ?? '');
  const isChosen = askedWords.some((name) => context.query[name] !== undefined);
  return html`<form class="filters">
    ${renderChosenAccount(context)}
    ${context.query.sort === undefined ? '' : renderHidden('sort', context.query.sort)}
    ${
      question?.period === undefined
        ? ''
        : html`<label>From <input type="date" name="from" value="${dayOf(
            context.query.from,
          )}"></label>
          <label>To <input type="date" name="to" value="${dayOf(context.query.to)}"></label>`
    }
    ${renderGroupings(question)}
    <label>As of the end of
      <input type="date" name="as-of" value="${dayOf(context.query['as-of'])}"></label>
    <button>Show</button>${isChosen ? html` <a href="${now}">Now</a>` : ''}</form>`;
}

/** The value of a date field; empty if the text is not a date. */
function dayOf(typed = ''): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(typed) ? typed : '';
}

function renderGroupings(question: Question | undefined): SafeHtml | string {
  const words = Object.keys(question?.by ?? {});
  if (words.length === 0) return '';
  return html`<label>By <select name="by"><option value="">as usual</option>${words.map(
    (word) => html`<option${word === question?.grouped ? html` selected` : ''}>${word}</option>`,
  )}</select></label>`;
}
