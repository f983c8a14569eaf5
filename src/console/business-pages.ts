// The business: boards of answers, every question by itself, and its answer as CSV.

import {PassThrough} from 'node:stream';
import {html, type SafeHtml} from '@remix-run/html-template';
import type {FastifyInstance} from 'fastify';
import type pg from 'pg';
import type {Account} from '../accounts/accounts.ts';
import {formatNumber} from '../core/format.ts';
import {nearestOf} from '../core/names.ts';
import {isId} from '../core/text.ts';
import {
  type Answered,
  beginReading,
  groupQuestion,
  prepareQuestion,
  readAnswers,
  sortQuestion,
  sqlOf,
  type Told,
  tellDates,
  wordOf,
} from '../star/answer.ts';
import {type Board, boards, gridOf, pictureOf, subjects} from '../star/boards.ts';
import type {Chart} from '../star/chart.ts';
import {writeCsv} from '../star/draw-answer.ts';
import type {Question} from '../star/member.ts';
import {figureKinds, tellChange} from '../star/report-figures.ts';
import {questions} from '../star/star.ts';
import {AccessRefused, type FormFields, notThere} from './access.ts';
import {definePage, type Look, linkTo} from './page.ts';
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
import {chooseAccounts, readSeenVersion} from './serve.ts';
import type {ConsoleDeps} from './services.ts';
import {viewerOf} from './sign-in.ts';

/** The pages of the business, and every question by itself. */
export const businessPage = definePage({
  path: '/business',
  section: '/business',
  moving: [],
  keptMs: 60_000,
  read: async ({db, accounts, query, masks}) => ({
    boards: boards.map(({name, title, sentence}) => ({name, title, sentence})),
    questions: questions.map((question) => ({name: wordOf(question), question: question.question})),
    weeks: await readWeeks(db, accounts, {asOf: query['as-of'], isMasked: masks}),
  }),
  title: () => 'Business',
  draw: (story, look) => html`
    ${drawMoment(look)}
    ${drawHeadlines(story.weeks, look)}
    <h2>By role</h2>
    <div class="cards">${story.boards.map(
      ({name, title, sentence}) =>
        html`<div class="card"><h3><a href="${linkToBoard(look, name)}">${title}</a></h3><p>${
          sentence
        }</p></div>`,
    )}</div>
    <h2>Every question</h2>
    <div class="cards">${subjects.map((subject) => drawSubject(subject, look))}</div>`,
  elsewhere: () => ({command: 'fieldmirror ask', sql: 'SELECT * FROM mart.ask_freshness;'}),
});

function drawSubject({title, questions: names}: (typeof subjects)[number], look: Look): SafeHtml {
  const asked = names.flatMap((name) => questions.filter((question) => question.name === name));
  return html`<section class="card"><h3>${title}</h3><ul class="links">${asked.map(
    (question) =>
      html`<li><a href="${linkToQuestion(look, question)}">${question.question}</a></li>`,
  )}</ul></section>`;
}

interface Story {
  readonly board: Board;
  readonly account: string;
  readonly told: readonly Told[];
}

const boardRows = 10;
const questionRows = 500;
const pageRows = 100;

/** The answers that somebody looks at together. */
export const boardPage = definePage<Story>({
  path: '/business/:board',
  section: '/business',
  moving: [],
  keptMs: 60_000,
  read: async ({db, accounts, params, query, masks}) => {
    const board = boards.find(({name}) => name === params.board);
    if (board === undefined)
      throw notThere(`page ${JSON.stringify(params.board)}`, boards.map(wayTo));
    const account: Account = chooseOne(accounts);
    const wanted = {
      accountKey: account.accountId,
      asOf: query['as-of'],
      isMasked: masks,
      limit: questionRows,
    };
    const asked = board.questions.flatMap((name) =>
      questions.filter((question) => question.name === name),
    );
    return {board, account: account.name, told: await readAnswers(db, asked, wanted)};
  },
  title: ({board}) => board.title,
  draw: ({board, account, told}, look) => html`
    <p>${board.sentence}${look.seen.length > 1 ? ` Account ${account}.` : ''}</p>
    <nav class="boards" aria-label="Pages of the business">${boards.map(
      ({name, title}) =>
        html`<a href="${linkToBoard(look, name)}"${
          name === board.name ? html` aria-current="page"` : ''
        }>${title}</a>`,
    )}</nav>
    ${drawMoment(look)}
    ${told.some(lacksCurrency) ? drawWayToCurrency(look) : ''}
    <div class="answers">${told.map(
      (each) =>
        html`<section><div class="heading"><h2><a href="${linkToQuestion(look, each.question)}">${
          each.question.question
        }</a></h2>${drawDownload(each, look)}</div>${drawTold(each, look, boardRows)}</section>`,
    )}</div>`,
  elsewhere: ({params}) => {
    const names = boards.find(({name}) => name === params.board)?.questions ?? [];
    return {
      command: names.map((name) => `fieldmirror ask ${wordOf({name})}`).join('\n'),
      sql: names.map((name) => `SELECT * FROM mart.${name};`).join('\n'),
    };
  },
});

function linkToBoard(look: Look, name: string): string {
  return linkTo(look, `/business/${name}`, {'as-of': look.query['as-of']});
}

function wayTo({name, title}: Board) {
  return {href: `/business/${name}`, label: title};
}

/** One question, with all its rows. */
export const questionPage = definePage<{readonly account: string; readonly told: Told}>({
  path: '/business/ask/:question',
  section: '/business',
  moving: [],
  keptMs: 60_000,
  read: async ({db, accounts, params, query, masks}) => {
    const question = sortQuestion(findQuestion(params.question, query.by), query.sort);
    const {accountId: accountKey, name: account} = chooseOne(accounts);
    const wanted = {
      ...{accountKey, asOf: query['as-of'], isMasked: masks, limit: questionRows},
      ...daysOf(query),
    };
    const [told] = await readAnswers(db, [question], wanted);
    if (told === undefined) throw notThere('answer');
    return {account, told};
  },
  title: ({told}) => told.question.question,
  draw: ({told, account}, look) => html`
    ${look.seen.length > 1 ? html`<p>Account ${account}.</p>` : ''}
    <div class="heading">${drawMoment(look, told.question)}${drawDownload(told, look)}</div>
    ${lacksCurrency(told) ? drawWayToCurrency(look) : ''}
    ${drawTold(told, look)}`,
  elsewhere: ({query}, {told}) => {
    const options = asked.flatMap((name) =>
      query[name] === undefined ? [] : [` --${name} ${query[name]}`],
    );
    const {name} = told.question;
    return {
      command: `fieldmirror ask ${wordOf(told.question)}${options.join('')}`,
      sql: 'answered' in told ? `${sqlOf(told.answered.asked)};` : `SELECT * FROM mart.${name};`,
    };
  },
});

/** What is asked of a question in an address, by the same words as on the command line. */
const asked = ['from', 'to', 'by', 'as-of'] as const;
/** What is asked of a question on its page alone. */
const kept = [...asked, 'sort'] as const;

function daysOf({from, to}: FormFields) {
  return {from, to};
}

/**
 * @throws {AccessRefused} there is no question of that name
 * @throws {UsageError} it has no such grouping
 */
function findQuestion(word: string | undefined, by: string | undefined) {
  const found = questions.find((question) => wordOf(question) === word);
  if (found !== undefined) return groupQuestion(found, by);
  const near = nearestOf(word ?? '', questions.map(wordOf));
  throw notThere(
    `question ${JSON.stringify(word)}`,
    near === null ? [] : [{href: `/business/ask/${near}`, label: near}],
  );
}

/** Where a question is answered in full, for the days and as of the moment of the page. */
function linkToQuestion(
  look: Look,
  question: Pick<Question, 'name'>,
  as: 'ask' | 'csv' = 'ask',
): string {
  return linkTo(look, `/business/${as}/${wordOf(question)}`, filtersOf(look));
}

function filtersOf({query}: Look): FormFields {
  return Object.fromEntries(kept.map((name) => [name, query[name]]));
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
function drawTold(told: Told, look: Look, shownRows?: number): SafeHtml {
  const {question} = told;
  if ('missing' in told)
    return html`<p>${drawMark('warning', 'not set')} ${told.missing}.
      <a href="${linkTo(look, '/settings')}">Set it on the page Settings</a></p>`;
  const {answered} = told;
  const {json, drawn} = answered.answer;
  const chart = pictureOf(question, answered.answer);
  const grid = gridOf(question, answered.answer);
  const isDrawn = chart !== null || grid !== null;
  const from = shownRows === undefined ? pageRows * (pageOf(look) - 1) : 0;
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
  const scope = [...tellDates(answered), ...tellCurrency(answered)].join('; ');
  return html`
    ${
      chart === null
        ? ''
        : drawFigure(chart, cells.length === 0 ? linkNames(chart, answered, look) : null)
    }
    ${grid === null ? '' : drawGrid(grid)}
    ${
      isDrawn && cells.length === 0
        ? ''
        : grid === null
          ? rows()
          : html`<details><summary>As a list</summary>${rows()}</details>`
    }
    ${shownRows === undefined ? drawPages(answered, look) : ''}
    <p class="quiet small">${scope}${scope !== '' && hasMore ? '. ' : ''}${
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

/** The page of the rows that an address asks for, from 1. */
function pageOf({query: {page = ''}}: Look): number {
  return /^[1-9]\d{0,3}$/.test(page) ? Number(page) : 1;
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
    const current = page === pageOf(look) ? html` aria-current="page"` : '';
    return html`<a href="${to(page)}"${current}>${nameOf(page)}</a>`;
  })}</nav>`;
}

/** Whether amounts are shown, and nobody has said in which currency. */
function lacksCurrency(told: Told): boolean {
  return (
    'answered' in told && told.question.money.length > 0 && told.answered.fresh.currency === null
  );
}

function tellCurrency({asked: {question}, fresh: {currency}}: Answered): string[] {
  return question.money.length === 0 || currency === null ? [] : [`amounts in ${currency}`];
}

function drawWayToCurrency(look: Look): SafeHtml {
  return html`<p class="quiet small">Amounts are shown without a currency.
    <a href="${linkTo(look, '/settings')}">Set the currency</a></p>`;
}

function drawDownload(told: Told, look: Look): SafeHtml | string {
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

/** The cells of an answer, from so many rows on: each that names a record leads to it. */
function linkRows(
  rows: readonly (readonly string[])[],
  {answer: {json, keys}}: Answered,
  {look, from}: {readonly look: Look; readonly from: number},
): Cell[][] {
  return rows.map((row, place) =>
    row.map((cell, at) => {
      const column = json.columns[at] ?? '';
      const own = keys[from + place];
      const lead = leads.find(
        ({key, columns}) => isRow(own?.[key]) && columns.some((name) => name === column),
      );
      const rowId = lead === undefined ? undefined : own?.[lead.key];
      if (lead === undefined || !isRow(rowId) || cell === '') return drawUnbroken(cell);
      const name = column.endsWith('number') ? '' : html` class="what"`;
      return html`<a${name} href="${linkTo(
        look,
        `/records/${lead.stream}/row-${rowId}`,
      )}">${cell}</a>`;
    }),
  );
}

/** The names of a chart, as links where each is a record's. */
function linkNames({form, names}: Chart, answered: Answered, look: Look): readonly Cell[] {
  const {json, drawn} = answered.answer;
  const leading: readonly string[] = leads.flatMap(({columns}) => columns);
  const at = json.columns.findIndex((column) => leading.includes(column));
  if (form !== 'rows' || at === -1) return names;
  const rows = linkRows(drawn.cells.slice(0, names.length), answered, {look, from: 0});
  return names.map((name, place) => rows[place]?.[at] ?? name);
}

/** -1 stands for no customer, or no employee. */
function isRow(key: string | null | undefined): key is string {
  return key !== null && key !== undefined && isId(key);
}

type Weeks = Extract<Told, {answered: Answered}>['answered'] | null;

/** The last 53 whole weeks of the first account; null where none is mirrored. */
async function readWeeks(
  db: pg.Pool,
  [account]: readonly Account[],
  asked: {readonly asOf: string | undefined; readonly isMasked: boolean},
): Promise<Weeks> {
  const question = questions.find(({name}) => name === 'ask_weeks');
  if (account === undefined || question === undefined) return null;
  const wanted = {accountKey: account.accountId, ...asked, limit: 53};
  const [told] = await readAnswers(db, [question], wanted);
  return told !== undefined && 'answered' in told ? told.answered : null;
}

/** The last week in five figures, each beside the week and the year before. */
function drawHeadlines(weeks: Weeks, look: Look): SafeHtml | string {
  const rows = weeks?.answer.json.rows ?? [];
  const [last, before] = rows;
  if (weeks === null || last === undefined) return '';
  const yearBefore = rows[52];
  const to = linkTo(look, '/business/ask/weeks', {'as-of': look.query['as-of']});
  const {currency} = weeks.fresh;
  return html`<h2>Last week, from ${String(last.week)}</h2>
  <div class="cards tiles">${figureKinds.map(({metric, label, unit}) => {
    const [value, ...others] = [last, before, yearBefore].map((row) => textOf(row?.[metric]));
    const [week = '', year = ''] = others.map((other) => tellChange(value ?? null, other));
    return html`<section class="card"><h3><a href="${to}">${label}</a></h3>
      <p class="figure">${formatNumber(Math.round(Number(value)))}${
        unit === 'money' && currency !== null ? html` <small>${currency}</small>` : ''
      }</p>
      <p class="small">${tellCourse(week, 'week on week')}<br>${tellCourse(
        year,
        'year on year',
      )}</p></section>`;
  })}</div>`;
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** `▲ 12.5 % week on week` */
function tellCourse(change: string, course: string): string {
  return `${change === '' ? 'no figure' : change === '=' ? '± 0 %' : change} ${course}`;
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
function drawMoment(look: Look, question?: Question): SafeHtml {
  const now = linkTo(look, look.path.split('?')[0] ?? '');
  const isChosen = asked.some((name) => look.query[name] !== undefined);
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

/** What a field for a day takes: nothing else than a day. */
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

/**
 * The account whose business is shown: the chosen one, else the first. Nothing sums over accounts:
 * their currencies may differ.
 */
function chooseOne([first]: readonly Account[]): Account {
  if (first !== undefined) return first;
  throw new AccessRefused(404, {title: 'Nothing to show', text: 'No account is mirrored yet.'});
}

/**
 * Serves an answer as CSV, row by row as Postgres makes it; a spreadsheet opens it without
 * formulas.
 */
export function addCsv(app: FastifyInstance, deps: ConsoleDeps): void {
  app.get('/business/csv/:question', async (request, reply) => {
    const viewer = viewerOf(request);
    const query = request.query as FormFields;
    const {question: word} = request.params as {readonly question: string};
    const question = sortQuestion(findQuestion(word, query.by), query.sort);
    const {accountId} = chooseOne(
      chooseAccounts(await readSeenVersion(viewer, deps), query.account),
    );
    const client = await deps.pools.reads.connect();
    const out = new PassThrough();
    try {
      await beginReading(client);
      const asked = await prepareQuestion(client, question, {
        ...{accountKey: accountId, asOf: query['as-of'], isMasked: viewer.masks},
        ...daysOf(query),
      });
      void writeCsv(client, sqlOf(asked), {out, isForSpreadsheet: true})
        .then(
          () => out.end(),
          (error: Error) => out.destroy(error),
        )
        .finally(() => endReading(client));
    } catch (error) {
      await endReading(client);
      throw error;
    }
    return await reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="${wordOf(question)}.csv"`)
      .send(out);
  });
}

/** A connection whose answer was cut off is of no use to others. */
async function endReading(client: {
  query: (text: string) => Promise<unknown>;
  release: (error?: Error) => void;
}) {
  await client.query('ROLLBACK').then(
    () => client.release(),
    (error: Error) => client.release(error),
  );
}
