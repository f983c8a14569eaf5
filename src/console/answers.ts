// An answer on a page of the business: its chart, its rows with links to the records, the
// definition of its figures and how far it can be trusted. The form that chooses its days.

import {html, type SafeHtml} from '@remix-run/html-template';
import {isId} from '../core/text.ts';
import {
  type AnsweredQuestion,
  type AnswerOrGap,
  describeDates,
  describeScope,
  toQuestionWord,
} from '../star/answer.ts';
import {buildChart, buildGrid, type Grid} from '../star/boards.ts';
import type {Chart} from '../star/chart.ts';
import type {Question} from '../star/member.ts';
import type {FormFields} from './access.ts';
import {linkTo, type PageContext, pageOf} from './page.ts';
import {
  type Cell,
  renderAge,
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

const rowsPerPage = 100;
const justNowMs = 60_000;

/** The filters of a question in an address; the command line has options of the same names. */
export const questionFilters = ['from', 'to', 'by', 'as-of'] as const;
/** The filters that the page of a question depends on, and keeps in its links. */
export const questionPageFilters = [...questionFilters, 'sort'] as const;

/** The address of a question's full answer, for the days and the moment of the page. */
export function linkToQuestion(
  context: PageContext,
  question: Pick<Question, 'name'>,
  format: 'ask' | 'csv' = 'ask',
): string {
  return linkTo(context, `/business/${format}/${toQuestionWord(question)}`, filtersOf(context));
}

function filtersOf({query}: PageContext): FormFields {
  return Object.fromEntries(questionPageFilters.map((name) => [name, query[name]]));
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
  const firstOrder = isNumber ? `-${name}` : name;
  const reverseOrder = isNumber ? name : `-${name}`;
  const sorted = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : undefined;
  return {
    head,
    sorted,
    to: linkTo(context, `/business/ask/${toQuestionWord(question)}`, {
      ...filtersOf(context),
      sort: sort === firstOrder ? reverseOrder : firstOrder,
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
export function renderAnswer(
  answerOrGap: AnswerOrGap,
  context: PageContext,
  shownRows?: number,
): SafeHtml {
  const {question} = answerOrGap;
  if ('missing' in answerOrGap)
    return html`<p>${renderMark('warning', 'not set')} ${answerOrGap.missing}.
      <a href="${linkTo(context, '/settings')}">Set it on the page Settings</a></p>`;
  const {answered} = answerOrGap;
  const {json, drawn} = answered.answer;
  const picture = buildChart(question, answered.answer);
  const chart = picture === null ? null : linkBars(picture, answered, context);
  const grid = buildGrid(question, answered.answer);
  const isDrawn = chart !== null || grid !== null;
  const firstRow = shownRows === undefined ? rowsPerPage * (pageOf(context.query) - 1) : 0;
  const isBare = isDrawn && shownRows !== undefined;
  const cells = isBare ? [] : drawn.cells.slice(firstRow, firstRow + (shownRows ?? rowsPerPage));
  const hasMore = json.isCutOff || cells.length < drawn.cells.length;
  const cutOff = json.isCutOff ? 'The CSV has all rows.' : '';
  const moreRows =
    shownRows === undefined
      ? cutOff
      : html`<a href="${linkToQuestion(context, question)}">All rows</a>`;
  const rows = () => renderRows(cells, answerOrGap, {context, from: firstRow});
  // If no currency is set, the page itself says so.
  const scope = (
    lacksCurrency(answerOrGap) ? describeDates(answered) : describeScope(answered)
  ).join('; ');
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
    ${shownRows === undefined ? renderPageLinks(answered, context) : ''}
    <p class="quiet small">${renderCountedAt(answered, context)}${scope}${
      scope !== '' && hasMore ? '. ' : ''
    }${hasMore ? moreRows : ''}</p>
    <details class="small"${answered.broken.length > 0 ? html` open` : ''}>
    <summary>What is counted</summary>
    <p>${question.definition}</p><p class="quiet">${question.caveats}</p>
    <p>${renderTrust(answered, context)}</p></details>`;
}

/** Some rows of an answer and its foot, as a table that a person can sort. */
function renderRows(
  rows: readonly (readonly string[])[],
  {question, answered}: Extract<AnswerOrGap, {readonly answered: AnsweredQuestion}>,
  {context, from: firstRow}: {readonly context: PageContext; readonly from: number},
): SafeHtml {
  const {json, drawn} = answered.answer;
  return renderTable({
    caption: question.question,
    columns: drawn.head.map((head, index) =>
      renderSortable(json.columns[index] ?? '', head, {
        question,
        context,
        isNumber: drawn.numbers.includes(index),
      }),
    ),
    rows:
      rows.length === 0
        ? []
        : [...linkRows(rows, answered, {context, from: firstRow}), ...drawn.foot],
    none: 'Nothing.',
  });
}

/** `Counted at 14:05. `; empty if the answer was counted just now. */
export function renderCountedAt(
  {countedAt}: AnsweredQuestion,
  context: PageContext,
): SafeHtml | string {
  const ageMs = Date.parse(context.now) - Date.parse(countedAt);
  return ageMs < justNowMs ? '' : html`Counted at ${renderTime(countedAt, context)}. `;
}

/** How old the jobs behind the figures of a page can be; visible without opening an answer. */
export function renderProven(
  {asked: {moment}, fresh}: AnsweredQuestion,
  context: PageContext,
): SafeHtml | string {
  if (moment !== null) return '';
  return fresh.freshAsOf === null
    ? html`<p>${renderMark('warning', 'incomplete')} The jobs were never proven complete: figures
        may lack some of them.</p>`
    : html`<p class="quiet small">Proven complete ${renderAge(fresh.freshAsOf, context)}.</p>`;
}

/** Links to all rows that were read, a hundred at a time. */
function renderPageLinks(
  {asked: {question}, answer: {drawn}}: AnsweredQuestion,
  context: PageContext,
): SafeHtml | string {
  const count = Math.ceil(drawn.cells.length / rowsPerPage);
  if (count < 2) return '';
  const linkToPage = (page: number) =>
    linkTo(context, `/business/ask/${toQuestionWord(question)}`, {
      ...filtersOf(context),
      page: String(page),
    });
  const pages = Array.from({length: count}, (_, index) => index + 1);
  const namePage = (page: number) =>
    `${rowsPerPage * (page - 1) + 1} to ${Math.min(drawn.cells.length, rowsPerPage * page)}`;
  return html`<nav class="boards" aria-label="Pages of the rows">${pages.map((page) => {
    const current = page === pageOf(context.query) ? html` aria-current="page"` : '';
    return html`<a href="${linkToPage(page)}"${current}>${namePage(page)}</a>`;
  })}</nav>`;
}

/** Whether amounts are shown although no currency is set. */
export function lacksCurrency(answerOrGap: AnswerOrGap): boolean {
  return (
    'answered' in answerOrGap &&
    answerOrGap.question.money.length > 0 &&
    answerOrGap.answered.fresh.currency === null
  );
}

export function renderCurrencyLink(context: PageContext): SafeHtml {
  return html`<p class="quiet small">These are amounts without a currency.
    <a href="${linkTo(context, '/settings')}">Set the currency</a></p>`;
}

export function renderDownload(answerOrGap: AnswerOrGap, context: PageContext): SafeHtml | string {
  if ('missing' in answerOrGap) return '';
  const csv = linkToQuestion(context, answerOrGap.question, 'csv');
  return html`<a class="small" href="${csv}" download>Download as CSV</a>`;
}

/** The records that the keys of an answer link to, and the columns that name them. */
const recordColumns = [
  {key: 'job_key', stream: 'jobs', columns: ['job_number', 'job']},
  {key: 'customer_key', stream: 'customers', columns: ['customer', 'name']},
  {key: 'group_key', stream: 'customers', columns: ['name']},
  {key: 'employee_key', stream: 'employees', columns: ['technician', 'name']},
] as const;

/** The page that a cell of an answer links to; null if it names no known record. */
function pathOfCell(
  {answer: {json, keys}}: AnsweredQuestion,
  {place: rowIndex, at: columnIndex}: {readonly place: number; readonly at: number},
  context: PageContext,
): string | null {
  const rowKeys = keys[rowIndex];
  const column = json.columns[columnIndex] ?? '';
  const recordColumn = recordColumns.find(
    ({key, columns}) => isRecordKey(rowKeys?.[key]) && columns.some((name) => name === column),
  );
  return recordColumn === undefined
    ? null
    : linkTo(context, `/records/${recordColumn.stream}/row-${rowKeys?.[recordColumn.key]}`);
}

/** Adds links to some rows of an answer: each cell that names a record links to it. */
function linkRows(
  rows: readonly (readonly string[])[],
  answered: AnsweredQuestion,
  {context, from: firstRow}: {readonly context: PageContext; readonly from: number},
): Cell[][] {
  return rows.map((row, rowIndex) =>
    row.map((cell, columnIndex) => {
      const path =
        cell === ''
          ? null
          : pathOfCell(answered, {place: firstRow + rowIndex, at: columnIndex}, context);
      if (path === null) return renderUnbroken(cell);
      const isNumber = answered.answer.json.columns[columnIndex]?.endsWith('number') === true;
      return html`<a${isNumber ? '' : html` class="what"`} href="${path}">${cell}</a>`;
    }),
  );
}

/** Adds links to a chart whose bars are records: each name links to its record. */
function linkBars(chart: Chart, answered: AnsweredQuestion, context: PageContext): Chart {
  const nameColumn = findNameColumn(answered);
  if (chart.form !== 'rows' || nameColumn === -1) return chart;
  return {
    ...chart,
    links: chart.names.map((_, rowIndex) =>
      pathOfCell(answered, {place: rowIndex, at: nameColumn}, context),
    ),
  };
}

/** The position of the column that names records; -1 if there is none. */
function findNameColumn({answer: {json}}: AnsweredQuestion): number {
  const nameColumns: readonly string[] = recordColumns.flatMap(({columns}) => columns);
  return json.columns.findIndex((column) => nameColumns.includes(column));
}

/** The names of a chart, as links if they are names of records. */
function linkNames({names, links}: Chart): readonly Cell[] {
  return names.map((name, index) => renderName(name, links?.[index] ?? null));
}

/** The names of a grid, as links if they are names of records. */
function linkGrid({rows}: Grid, answered: AnsweredQuestion, context: PageContext): readonly Cell[] {
  const nameColumn = findNameColumn(answered);
  const {columns, rows: answerRows} = answered.answer.json;
  const rowNames = answerRows.map((row) => String(row[columns[nameColumn] ?? ''] ?? ''));
  return rows.map(({name}) =>
    renderName(
      name,
      nameColumn === -1
        ? null
        : pathOfCell(answered, {place: rowNames.indexOf(name), at: nameColumn}, context),
    ),
  );
}

function renderName(name: string, path: string | null): Cell {
  return path === null || name === '' ? name : html`<a class="what" href="${path}">${name}</a>`;
}

/** False for a missing key, and for -1, which means no customer or no employee. */
function isRecordKey(key: string | null | undefined): key is string {
  return key !== null && key !== undefined && isId(key);
}

function renderTrust(
  {asked: {moment}, broken, fresh}: AnsweredQuestion,
  context: PageContext,
): SafeHtml {
  const ageText =
    moment !== null
      ? html`As of ${renderTime(moment, context)}, by what was known then.`
      : fresh.freshAsOf === null
        ? html`The jobs were never proven complete.`
        : html`Proven complete as of ${renderTime(fresh.freshAsOf, context)}.`;
  const waitingText =
    fresh.waitingSince === null
      ? ''
      : html` Without what changed since ${renderTime(fresh.waitingSince, context)}.`;
  const verdict =
    broken.length === 0 ? renderMark('good', 'ties out') : renderMark('bad', broken.join('; '));
  return html`${ageText}${waitingText} ${verdict}`;
}

/**
 * The form for the days, the grouping and the moment of an answer, as far as they can be chosen.
 */
export function renderAnswerFilters(context: PageContext, question?: Question): SafeHtml {
  const nowUrl = linkTo(context, context.path.split('?')[0] ?? '');
  const isChosen = questionFilters.some((name) => context.query[name] !== undefined);
  return html`<form class="filters">
    ${renderChosenAccount(context)}
    ${context.query.sort === undefined ? '' : renderHidden('sort', context.query.sort)}
    ${
      question?.period === undefined
        ? ''
        : html`<label>From <input type="date" name="from" value="${readDay(
            context.query.from,
          )}"></label>
          <label>To <input type="date" name="to" value="${readDay(context.query.to)}"></label>`
    }
    ${renderGroupings(question)}
    <label>As of the end of
      <input type="date" name="as-of" value="${readDay(context.query['as-of'])}"></label>
    <button>Show</button>${isChosen ? html` <a href="${nowUrl}">Now</a>` : ''}</form>`;
}

/** The value of a date field; empty if the text is not a date. */
function readDay(text = ''): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? text : '';
}

function renderGroupings(question: Question | undefined): SafeHtml | string {
  const groupings = Object.keys(question?.by ?? {});
  if (groupings.length === 0) return '';
  return html`<label>By <select name="by"><option value="">as usual</option>${groupings.map(
    (grouping) =>
      html`<option${grouping === question?.grouped ? html` selected` : ''}>${grouping}</option>`,
  )}</select></label>`;
}
