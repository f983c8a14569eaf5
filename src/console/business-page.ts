import {html} from '@remix-run/html-template';
import {wordOf} from '../star/answer.ts';
import {boards} from '../star/boards.ts';
import {questions} from '../star/star.ts';
import {drawMoment, linkToQuestion} from './draw-answer.ts';
import {drawTable} from './draw-table.ts';
import {linkTo} from './look.ts';
import {definePage} from './page.ts';

/** The pages of the business, and every question by itself. */
export const businessPage = definePage({
  path: '/business',
  section: '/business',
  moving: [],
  read: async () => ({
    boards: boards.map(({name, title, sentence}) => ({name, title, sentence})),
    questions: questions.map((question) => ({name: wordOf(question), question: question.question})),
  }),
  title: () => 'Business',
  draw: (story, look) => html`
    ${drawMoment(look)}
    <div class="cards">${story.boards.map(
      ({name, title, sentence}) =>
        html`<div class="card"><h2><a href="${linkTo(look, `/business/${name}`, {'as-of': look.query['as-of']})}">${title}</a></h2><p>${sentence}</p></div>`,
    )}</div>
    <h2>Every question</h2>
    ${drawTable({
      caption: 'Questions that have an answer',
      columns: ['question', 'on the command line'],
      rows: questions.map((question) => [
        html`<a href="${linkToQuestion(look, question)}">${question.question}</a>`,
        html`<code>ask ${wordOf(question)}</code>`,
      ]),
      none: '',
    })}`,
  elsewhere: () => ({command: 'fieldmirror ask', sql: 'SELECT * FROM mart.ask_freshness;'}),
});
