// The business: boards of answers, a page for each question, and its answer as CSV.

import {PassThrough} from 'node:stream';
import {html, type SafeHtml} from '@remix-run/html-template';
import type {FastifyInstance} from 'fastify';
import type pg from 'pg';
import type {Account} from '../accounts/accounts.ts';
import {formatNumber} from '../core/format.ts';
import {nearestOf} from '../core/names.ts';
import {
  type Answered,
  type AnswerOrGap,
  beginReading,
  groupQuestion,
  prepareQuestion,
  readAnswers,
  sortQuestion,
  sqlOf,
  wordOf,
} from '../star/answer.ts';
import {type Board, boards, subjects} from '../star/boards.ts';
import {writeCsv} from '../star/format-answer.ts';
import {describeChange, figureKinds} from '../star/report-figures.ts';
import {questions} from '../star/star.ts';
import {AccessRefused, type FormFields, notThere} from './access.ts';
import {
  askedWords,
  keptWords,
  lacksCurrency,
  linkToQuestion,
  renderAskedMoment,
  renderCounted,
  renderDownload,
  renderTold,
  renderWayToCurrency,
} from './answers.ts';
import {definePage, linkTo, nameOfAccount, type PageContext} from './page.ts';
import {chooseAccounts, readSeenVersion} from './serve.ts';
import type {ConsoleDeps} from './services.ts';
import {viewerOf} from './sign-in.ts';

/** The start page of the business: links to its boards, and to every question. */
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
  render: (story, context) => html`
    ${renderAskedMoment(context)}
    ${renderHeadlines(story.weeks, context)}
    <h2>By role</h2>
    <div class="cards">${story.boards.map(
      ({name, title, sentence}) =>
        html`<div class="card"><h3><a href="${linkToBoard(context, name)}">${title}</a></h3><p>${
          sentence
        }</p></div>`,
    )}</div>
    <h2>Every question</h2>
    <div class="cards">${subjects.map((subject) => renderSubject(subject, context))}</div>`,
  elsewhere: () => ({command: 'fieldmirror ask', sql: 'SELECT * FROM mart.ask_freshness;'}),
});

function renderSubject(
  {title, questions: names}: (typeof subjects)[number],
  context: PageContext,
): SafeHtml {
  const asked = names.flatMap((name) => questions.filter((question) => question.name === name));
  return html`<section class="card"><h3>${title}</h3><ul class="links">${asked.map(
    (question) =>
      html`<li><a href="${linkToQuestion(context, question)}">${question.question}</a></li>`,
  )}</ul></section>`;
}

interface Story {
  readonly board: Board;
  readonly accountId: string;
  readonly told: readonly AnswerOrGap[];
}

const boardRows = 10;
const questionRows = 500;

/** A board: answers that are read together. */
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
  render: ({board, accountId, told}, context) => html`
    <p>${board.sentence}${
      context.seen.length > 1 ? ` Account ${nameOfAccount(context, accountId)}.` : ''
    }</p>
    <nav class="boards" aria-label="Pages of the business">${boards.map(
      ({name, title}) =>
        html`<a href="${linkToBoard(context, name)}"${
          name === board.name ? html` aria-current="page"` : ''
        }>${title}</a>`,
    )}</nav>
    ${renderAskedMoment(context)}
    ${told.some(lacksCurrency) ? renderWayToCurrency(context) : ''}
    <div class="answers">${told.map(
      (each) =>
        html`<section><div class="heading"><h2><a href="${linkToQuestion(
          context,
          each.question,
        )}">${each.question.question}</a></h2>${renderDownload(each, context)}</div>${renderTold(
          each,
          context,
          boardRows,
        )}</section>`,
    )}</div>`,
  elsewhere: ({params}) => {
    const names = boards.find(({name}) => name === params.board)?.questions ?? [];
    return {
      command: names.map((name) => `fieldmirror ask ${wordOf({name})}`).join('\n'),
      sql: names.map((name) => `SELECT * FROM mart.${name};`).join('\n'),
    };
  },
});

function linkToBoard(context: PageContext, name: string): string {
  return linkTo(context, `/business/${name}`, {'as-of': context.query['as-of']});
}

function wayTo({name, title}: Board) {
  return {href: `/business/${name}`, label: title};
}

/** One question, with all its rows. */
export const questionPage = definePage<{readonly accountId: string; readonly told: AnswerOrGap}>({
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
  render: ({told, accountId}, context) => html`
    ${context.seen.length > 1 ? html`<p>Account ${nameOfAccount(context, accountId)}.</p>` : ''}
    <div class="heading">${renderAskedMoment(context, told.question)}${renderDownload(
      told,
      context,
    )}</div>
    ${lacksCurrency(told) ? renderWayToCurrency(context) : ''}
    ${renderTold(told, context)}`,
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

type Weeks = Extract<AnswerOrGap, {answered: Answered}>['answered'] | null;

/** The last 53 whole weeks of the first account; null if none is mirrored. */
async function readWeeks(
  db: pg.Pool,
  [account]: readonly Account[],
  asked: {readonly asOf: string | undefined; readonly isMasked: boolean},
): Promise<Weeks> {
  const question = questions.find(({name}) => name === 'ask_weeks');
  if (account === undefined || question === undefined) return null;
  const wanted = {accountKey: account.accountId, ...asked, limit: 53};
  // No total is shown: a total over all earlier days would take as long as the rows.
  const [told] = await readAnswers(db, [{...question, totals: []}], wanted);
  return told !== undefined && 'answered' in told ? told.answered : null;
}

/** The last week in five figures, each beside the week and the year before. */
function renderHeadlines(weeks: Weeks, context: PageContext): SafeHtml | string {
  const rows = weeks?.answer.json.rows ?? [];
  const [last, before] = rows;
  if (weeks === null || last === undefined) return '';
  const yearBefore = rows[52];
  const to = linkTo(context, '/business/ask/weeks', {'as-of': context.query['as-of']});
  const {currency} = weeks.fresh;
  const counted = renderCounted(weeks, context);
  return html`<h2>Last week, from ${String(last.week)}</h2>
  ${counted === '' ? '' : html`<p class="quiet small">${counted}</p>`}
  <div class="cards tiles">${figureKinds.map(({metric, label, unit}) => {
    const [value, ...others] = [last, before, yearBefore].map((row) => textOf(row?.[metric]));
    const [week = '', year = ''] = others.map((other) => describeChange(value ?? null, other));
    return html`<section class="card"><h3><a href="${to}">${label}</a></h3>
      <p class="figure">${formatNumber(Math.round(Number(value)))}${
        unit === 'money' && currency !== null ? html` <small>${currency}</small>` : ''
      }</p>
      <p class="small">${describeCourse(week, 'week on week')}<br>${describeCourse(
        year,
        'year on year',
      )}</p></section>`;
  })}</div>`;
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** `▲ 12.5 % week on week` */
function describeCourse(change: string, course: string): string {
  return `${change === '' ? 'no figure' : change === '=' ? '± 0 %' : change} ${course}`;
}

/**
 * The account whose business is shown: the chosen one, or else the first. No figure sums over
 * accounts, because their currencies may differ.
 */
function chooseOne([first]: readonly Account[]): Account {
  if (first !== undefined) return first;
  throw new AccessRefused(404, {title: 'Nothing to show', text: 'No account is mirrored yet.'});
}

/**
 * Serves an answer as CSV, row by row as Postgres makes it. The cells are escaped, so that a
 * spreadsheet runs no formulas.
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

/**
 * Ends the transaction. If that fails, the connection is closed, because its answer was cut off.
 */
async function endReading(client: {
  query: (text: string) => Promise<unknown>;
  release: (error?: Error) => void;
}) {
  await client.query('ROLLBACK').then(
    () => client.release(),
    (error: Error) => client.release(error),
  );
}
