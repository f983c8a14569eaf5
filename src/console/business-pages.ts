// The business: boards of answers, a page for each question, and its answer as CSV.

import {PassThrough} from 'node:stream';
import {html, type SafeHtml} from '@remix-run/html-template';
import type {FastifyInstance} from 'fastify';
import type pg from 'pg';
import type {Account} from '../accounts/accounts.ts';
import {formatNumber} from '../core/format.ts';
import {nearestOf} from '../core/names.ts';
import {
  type AnsweredQuestion,
  type AnswerOrGap,
  beginReading,
  buildAnswerSql,
  groupQuestion,
  prepareQuestion,
  readAnswers,
  sortQuestion,
  toQuestionWord,
} from '../star/answer.ts';
import {type Board, boards, subjects} from '../star/boards.ts';
import {writeCsv} from '../star/format-answer.ts';
import {describeChange, figureKinds} from '../star/report-figures.ts';
import {questions} from '../star/star.ts';
import {AccessRefused, type FormFields, makeNotFound} from './access.ts';
import {
  lacksCurrency,
  linkToQuestion,
  questionFilters,
  questionPageFilters,
  renderAnswer,
  renderAnswerFilters,
  renderCountedAt,
  renderCurrencyLink,
  renderDownload,
  renderProven,
} from './answers.ts';
import {type ConsoleDeps, definePage, linkTo, nameOfAccount, type PageContext} from './page.ts';
import {chooseAccounts, readSeenAccounts} from './serve.ts';
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
    questions: questions.map((question) => ({
      name: toQuestionWord(question),
      question: question.question,
    })),
    weeks: await readWeeks(db, accounts, {asOf: query['as-of'], isMasked: masks}),
  }),
  title: () => 'Business',
  render: (story, context) => html`
    ${renderAnswerFilters(context)}
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
  {title, questions: questionNames}: (typeof subjects)[number],
  context: PageContext,
): SafeHtml {
  const subjectQuestions = questionNames.flatMap((name) =>
    questions.filter((question) => question.name === name),
  );
  return html`<section class="card"><h3>${title}</h3><ul class="links">${subjectQuestions.map(
    (question) =>
      html`<li><a href="${linkToQuestion(context, question)}">${question.question}</a></li>`,
  )}</ul></section>`;
}

interface Story {
  readonly board: Board;
  readonly accountId: string;
  readonly answers: readonly AnswerOrGap[];
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
      throw makeNotFound(`page ${JSON.stringify(params.board)}`, boards.map(makeBoardLink));
    const {accountId} = chooseAccount(accounts);
    const options = {
      accountKey: accountId,
      asOf: query['as-of'],
      isMasked: masks,
      limit: questionRows,
    };
    const boardQuestions = board.questions.flatMap((name) =>
      questions.filter((question) => question.name === name),
    );
    return {board, accountId, answers: await readAnswers(db, boardQuestions, options)};
  },
  title: ({board}) => board.title,
  render: ({board, accountId, answers}, context) => html`
    <p>${board.sentence}${
      context.seen.length > 1 ? ` Account ${nameOfAccount(context, accountId)}.` : ''
    }</p>
    <nav class="boards" aria-label="Pages of the business">${boards.map(
      ({name, title}) =>
        html`<a href="${linkToBoard(context, name)}"${
          name === board.name ? html` aria-current="page"` : ''
        }>${title}</a>`,
    )}</nav>
    ${renderAnswerFilters(context)}
    ${renderProvenOf(answers, context)}
    ${answers.some(lacksCurrency) ? renderCurrencyLink(context) : ''}
    <div class="answers">${answers.map(
      (answer) =>
        html`<section><div class="heading"><h2><a href="${linkToQuestion(
          context,
          answer.question,
        )}">${answer.question.question}</a></h2>${renderDownload(
          answer,
          context,
        )}</div>${renderAnswer(answer, context, boardRows)}</section>`,
    )}</div>`,
  elsewhere: ({params}) => {
    const questionNames = boards.find(({name}) => name === params.board)?.questions ?? [];
    return {
      command: questionNames.map((name) => `fieldmirror ask ${toQuestionWord({name})}`).join('\n'),
      sql: questionNames.map((name) => `SELECT * FROM mart.${name};`).join('\n'),
    };
  },
});

/** The answers of a page are about the same jobs. */
function renderProvenOf(answers: readonly AnswerOrGap[], context: PageContext): SafeHtml | string {
  const answer = answers.find((candidate) => 'answered' in candidate);
  return answer === undefined ? '' : renderProven(answer.answered, context);
}

function linkToBoard(context: PageContext, name: string): string {
  return linkTo(context, `/business/${name}`, {'as-of': context.query['as-of']});
}

function makeBoardLink({name, title}: Board) {
  return {href: `/business/${name}`, label: title};
}

/** One question, with all its rows. */
export const questionPage = definePage<{readonly accountId: string; readonly told: AnswerOrGap}>({
  path: '/business/ask/:question',
  section: '/business',
  moving: [],
  keptMs: 60_000,
  words: questionPageFilters,
  ages: ({params}) =>
    questions.some(
      (question) => toQuestionWord(question) === params.question && question.from.includes('{now}'),
    ),
  read: async ({db, accounts, params, query, masks}) => {
    const question = sortQuestion(findQuestion(params.question, query.by), query.sort);
    const {accountId} = chooseAccount(accounts);
    const options = {
      accountKey: accountId,
      asOf: query['as-of'],
      isMasked: masks,
      limit: questionRows,
      ...pickDays(query),
    };
    const [answer] = await readAnswers(db, [question], options);
    if (answer === undefined) throw makeNotFound('answer');
    return {accountId, told: answer};
  },
  title: ({told: answer}) => answer.question.question,
  render: ({told: answer, accountId}, context) => html`
    ${context.seen.length > 1 ? html`<p>Account ${nameOfAccount(context, accountId)}.</p>` : ''}
    <div class="heading">${renderAnswerFilters(context, answer.question)}${renderDownload(
      answer,
      context,
    )}</div>
    ${renderProvenOf([answer], context)}
    ${lacksCurrency(answer) ? renderCurrencyLink(context) : ''}
    ${renderAnswer(answer, context)}`,
  elsewhere: ({query}, {told: answer}) => {
    const options = questionFilters.flatMap((name) =>
      query[name] === undefined ? [] : [` --${name} ${query[name]}`],
    );
    const {name} = answer.question;
    return {
      command: `fieldmirror ask ${toQuestionWord(answer.question)}${options.join('')}`,
      sql:
        'answered' in answer
          ? `${buildAnswerSql(answer.answered.asked)};`
          : `SELECT * FROM mart.${name};`,
    };
  },
});

function pickDays({from, to}: FormFields) {
  return {from, to};
}

/**
 * @throws {AccessRefused} there is no question of that name
 * @throws {UsageError} it has no such grouping
 */
function findQuestion(questionWord: string | undefined, grouping: string | undefined) {
  const foundQuestion = questions.find((question) => toQuestionWord(question) === questionWord);
  if (foundQuestion !== undefined) return groupQuestion(foundQuestion, grouping);
  const nearestWord = nearestOf(questionWord ?? '', questions.map(toQuestionWord));
  throw makeNotFound(
    `question ${JSON.stringify(questionWord)}`,
    nearestWord === null ? [] : [{href: `/business/ask/${nearestWord}`, label: nearestWord}],
  );
}

type Weeks = Extract<AnswerOrGap, {answered: AnsweredQuestion}>['answered'] | null;

/** The last 53 whole weeks of the first account; null if none is mirrored. */
async function readWeeks(
  db: pg.Pool,
  [account]: readonly Account[],
  options: {readonly asOf: string | undefined; readonly isMasked: boolean},
): Promise<Weeks> {
  const question = questions.find(({name}) => name === 'ask_weeks');
  if (account === undefined || question === undefined) return null;
  const answerOptions = {accountKey: account.accountId, ...options, limit: 53};
  // No total is shown: a total over all earlier days would take as long as the rows.
  const [answer] = await readAnswers(db, [{...question, totals: []}], answerOptions);
  return answer !== undefined && 'answered' in answer ? answer.answered : null;
}

/** The last week in five figures, each beside the week and the year before. */
function renderHeadlines(weeks: Weeks, context: PageContext): SafeHtml | string {
  const rows = weeks?.answer.json.rows ?? [];
  const [lastWeek, weekBefore] = rows;
  if (weeks === null || lastWeek === undefined) return '';
  const yearBefore = rows[52];
  const url = linkTo(context, '/business/ask/weeks', {'as-of': context.query['as-of']});
  const {currency} = weeks.fresh;
  const countedAt = renderCountedAt(weeks, context);
  return html`<h2>Last week, from ${String(lastWeek.week)}</h2>
  ${renderProven(weeks, context)}
  ${countedAt === '' ? '' : html`<p class="quiet small">${countedAt}</p>`}
  <div class="cards tiles">${figureKinds.map(({metric, label, unit}) => {
    const [value, ...earlierValues] = [lastWeek, weekBefore, yearBefore].map((row) =>
      toText(row?.[metric]),
    );
    const [weekChange = '', yearChange = ''] = earlierValues.map((earlierValue) =>
      describeChange(value ?? null, earlierValue),
    );
    return html`<section class="card"><h3><a href="${url}">${label}</a></h3>
      <p class="figure">${formatNumber(Math.round(Number(value)))}${
        unit === 'money' && currency !== null ? html` <small>${currency}</small>` : ''
      }</p>
      <p class="small">${describeTrend(weekChange, 'week on week')}<br>${describeTrend(
        yearChange,
        'year on year',
      )}</p></section>`;
  })}</div>`;
}

function toText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** `▲ 12.5 % week on week` */
function describeTrend(change: string, period: string): string {
  return `${change === '' ? 'no figure' : change === '=' ? '± 0 %' : change} ${period}`;
}

/**
 * The account whose business is shown: the chosen one, or else the first. No figure sums over
 * accounts, because their currencies may differ.
 */
function chooseAccount([firstAccount]: readonly Account[]): Account {
  if (firstAccount !== undefined) return firstAccount;
  throw new AccessRefused(404, {title: 'Nothing to show', text: 'No account is mirrored yet.'});
}

/**
 * Serves an answer as CSV, row by row as Postgres makes it. The cells are escaped, so that a
 * spreadsheet runs no formulas.
 */
export function addCsv(app: FastifyInstance, deps: ConsoleDeps): void {
  const path = '/business/csv/:question';
  app.get<{Querystring: FormFields; Params: {question: string}}>(path, async (request, reply) => {
    const viewer = viewerOf(request);
    const {query, params} = request;
    const question = sortQuestion(findQuestion(params.question, query.by), query.sort);
    const {accountId} = chooseAccount(
      chooseAccounts(await readSeenAccounts(viewer, deps), query.account),
    );
    const client = await deps.pools.reads.connect();
    const csv = new PassThrough();
    try {
      await beginReading(client);
      const preparedQuestion = await prepareQuestion(client, question, {
        accountKey: accountId,
        asOf: query['as-of'],
        isMasked: viewer.masks,
        ...pickDays(query),
      });
      void writeCsv(client, buildAnswerSql(preparedQuestion), {out: csv, isForSpreadsheet: true})
        .then(
          () => csv.end(),
          (error: Error) => csv.destroy(error),
        )
        .finally(() => endReading(client));
    } catch (error) {
      await endReading(client);
      throw error;
    }
    return await reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="${toQuestionWord(question)}.csv"`)
      .send(csv);
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
