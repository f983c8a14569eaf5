// The business: boards of answers, every question by itself, and its answer as CSV.

import {PassThrough} from 'node:stream';
import {html, type SafeHtml} from '@remix-run/html-template';
import type {FastifyInstance} from 'fastify';
import type pg from 'pg';
import type {Account} from '../accounts/accounts.ts';
import {formatNumber} from '../core/format.ts';
import {nearestOf} from '../core/names.ts';
import {
  type Answered,
  beginReading,
  groupQuestion,
  prepareQuestion,
  readAnswers,
  sortQuestion,
  sqlOf,
  type Told,
  wordOf,
} from '../star/answer.ts';
import {type Board, boards, subjects} from '../star/boards.ts';
import {writeCsv} from '../star/draw-answer.ts';
import {figureKinds, tellChange} from '../star/report-figures.ts';
import {questions} from '../star/star.ts';
import {AccessRefused, type FormFields, notThere} from './access.ts';
import {
  askedWords,
  drawAskedMoment,
  drawCounted,
  drawDownload,
  drawTold,
  drawWayToCurrency,
  keptWords,
  lacksCurrency,
  linkToQuestion,
} from './answers.ts';
import {definePage, type Look, linkTo, nameOfAccount} from './page.ts';
import {chooseAccounts, readSeenVersion} from './serve.ts';
import type {ConsoleDeps} from './services.ts';
import {viewerOf} from './sign-in.ts';

/** The pages of the business, and every question by itself. */
export const businessPage = definePage({
  path: '/business',
  section: '/business',
  moving: [],
  keptMs: 60_000,
  words: ['as-of'],
  read: async ({db, accounts, query, masks}) => ({
    boards: boards.map(({name, title, sentence}) => ({name, title, sentence})),
    questions: questions.map((question) => ({name: wordOf(question), question: question.question})),
    weeks: await readWeeks(db, accounts, {asOf: query['as-of'], isMasked: masks}),
  }),
  title: () => 'Business',
  draw: (story, look) => html`
    ${drawAskedMoment(look)}
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
  readonly accountId: string;
  readonly told: readonly Told[];
}

const boardRows = 10;
const questionRows = 500;

/** The answers that somebody looks at together. */
export const boardPage = definePage<Story>({
  path: '/business/:board',
  section: '/business',
  moving: [],
  keptMs: 60_000,
  words: ['as-of'],
  read: async ({db, accounts, params, query, masks}) => {
    const board = boards.find(({name}) => name === params.board);
    if (board === undefined)
      throw notThere(`page ${JSON.stringify(params.board)}`, boards.map(wayTo));
    const {accountId} = chooseOne(accounts);
    const wanted = {
      accountKey: accountId,
      asOf: query['as-of'],
      isMasked: masks,
      limit: questionRows,
    };
    const asked = board.questions.flatMap((name) =>
      questions.filter((question) => question.name === name),
    );
    return {board, accountId, told: await readAnswers(db, asked, wanted)};
  },
  title: ({board}) => board.title,
  draw: ({board, accountId, told}, look) => html`
    <p>${board.sentence}${
      look.seen.length > 1 ? ` Account ${nameOfAccount(look, accountId)}.` : ''
    }</p>
    <nav class="boards" aria-label="Pages of the business">${boards.map(
      ({name, title}) =>
        html`<a href="${linkToBoard(look, name)}"${
          name === board.name ? html` aria-current="page"` : ''
        }>${title}</a>`,
    )}</nav>
    ${drawAskedMoment(look)}
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
export const questionPage = definePage<{readonly accountId: string; readonly told: Told}>({
  path: '/business/ask/:question',
  section: '/business',
  moving: [],
  keptMs: 60_000,
  words: keptWords,
  ages: ({params}) =>
    questions.some(
      (question) => wordOf(question) === params.question && question.from.includes('{now}'),
    ),
  read: async ({db, accounts, params, query, masks}) => {
    const question = sortQuestion(findQuestion(params.question, query.by), query.sort);
    const {accountId} = chooseOne(accounts);
    const wanted = {
      ...{accountKey: accountId, asOf: query['as-of'], isMasked: masks, limit: questionRows},
      ...daysOf(query),
    };
    const [told] = await readAnswers(db, [question], wanted);
    if (told === undefined) throw notThere('answer');
    return {accountId, told};
  },
  title: ({told}) => told.question.question,
  draw: ({told, accountId}, look) => html`
    ${look.seen.length > 1 ? html`<p>Account ${nameOfAccount(look, accountId)}.</p>` : ''}
    <div class="heading">${drawAskedMoment(look, told.question)}${drawDownload(told, look)}</div>
    ${lacksCurrency(told) ? drawWayToCurrency(look) : ''}
    ${drawTold(told, look)}`,
  elsewhere: ({query}, {told}) => {
    const options = askedWords.flatMap((name) =>
      query[name] === undefined ? [] : [` --${name} ${query[name]}`],
    );
    const {name} = told.question;
    return {
      command: `fieldmirror ask ${wordOf(told.question)}${options.join('')}`,
      sql: 'answered' in told ? `${sqlOf(told.answered.asked)};` : `SELECT * FROM mart.${name};`,
    };
  },
});

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
  // No total is shown: that of the days before would take as long as the rows.
  const [told] = await readAnswers(db, [{...question, totals: []}], wanted);
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
  const counted = drawCounted(weeks, look);
  return html`<h2>Last week, from ${String(last.week)}</h2>
  ${counted === '' ? '' : html`<p class="quiet small">${counted}</p>`}
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
