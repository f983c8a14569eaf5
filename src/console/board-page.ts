import {html} from '@remix-run/html-template';
import type {Account} from '../accounts/accounts.ts';
import {readAnswers, type Told, wordOf} from '../star/answer.ts';
import {type Board, boards, mostDrawn} from '../star/boards.ts';
import {questions} from '../star/star.ts';
import {chooseOne} from './choose-account.ts';
import {drawMoment, drawTold, linkToQuestion} from './draw-answer.ts';
import {linkTo} from './look.ts';
import {definePage} from './page.ts';
import {notThere} from './refused.ts';

interface Story {
  readonly board: Board;
  readonly account: string;
  readonly told: readonly Told[];
}

const shownRows = 10;

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
      limit: mostDrawn,
    };
    const asked = board.questions.flatMap((name) =>
      questions.filter((question) => question.name === name),
    );
    return {board, account: account.name, told: await readAnswers(db, asked, wanted)};
  },
  title: ({board}) => board.title,
  draw: ({board, account, told}, look) => html`
    <p>${board.sentence}${look.seen.length > 1 ? ` Account ${account}.` : ''}</p>
    ${drawMoment(look)}
    <nav class="boards" aria-label="Pages of the business">${boards.map(
      ({name, title}) =>
        html`<a href="${linkTo(look, `/business/${name}`, {'as-of': look.query['as-of']})}"${name === board.name ? html` aria-current="page"` : ''}>${title}</a>`,
    )}</nav>
    ${told.map(
      (each) =>
        html`<section><h2><a href="${linkToQuestion(look, each.question)}">${each.question.question}</a></h2>${drawTold(each, look, shownRows)}</section>`,
    )}`,
  elsewhere: ({params}) => {
    const names = boards.find(({name}) => name === params.board)?.questions ?? [];
    return {
      command: names.map((name) => `fieldmirror ask ${wordOf({name})}`).join('\n'),
      sql: names.map((name) => `SELECT * FROM mart.${name};`).join('\n'),
    };
  },
});

function wayTo({name, title}: Board) {
  return {href: `/business/${name}`, label: title};
}
