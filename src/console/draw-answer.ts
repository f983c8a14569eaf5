import {html, type SafeHtml} from '@remix-run/html-template';
import type {Told} from '../star/answer.ts';
import {type Answered, wordOf} from '../star/answer.ts';
import {pictureOf} from '../star/boards.ts';
import type {Question} from '../star/member.ts';
import {drawFigure} from './draw-figure.ts';
import {drawMark} from './draw-mark.ts';
import {drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import {type Look, linkTo} from './look.ts';

/** Where a question is answered in full, as of the moment of the page. */
export function linkToQuestion(
  look: Look,
  question: Pick<Question, 'name'>,
  as: 'ask' | 'csv' = 'ask',
): string {
  return linkTo(look, `/business/${as}/${wordOf(question)}`, {'as-of': look.query['as-of']});
}

/**
 * An answer: its chart where it has one, its rows, what is counted, and how far it can be trusted.
 * @param shownRows - so many rows, and none beside a chart, which has them in its table; left out:
 *   all, and the chart
 */
export function drawTold(told: Told, look: Look, shownRows?: number): SafeHtml {
  const {question} = told;
  if ('missing' in told) return html`<p>${drawMark('warning', 'not set')} ${told.missing}</p>`;
  const {answered} = told;
  const {json, drawn} = answered.answer;
  const chart = pictureOf(question, answered.answer);
  const cells = chart !== null && shownRows !== undefined ? [] : drawn.cells.slice(0, shownRows);
  const hasMore = json.isCutOff || cells.length < drawn.cells.length;
  return html`
    ${chart === null ? '' : drawFigure(chart)}
    ${
      chart !== null && cells.length === 0
        ? ''
        : drawTable({
            caption: question.question,
            columns: drawn.head.map((head, at) =>
              drawn.numbers.includes(at) ? {head, kind: 'number'} : head,
            ),
            rows: cells,
            none: 'Nothing.',
          })
    }
    ${hasMore ? html`<p><a href="${linkToQuestion(look, question)}">All rows</a></p>` : ''}
    <details><summary>What is counted</summary><p>${question.definition}</p><p class="quiet">${question.caveats}</p>
    <p>${drawTrust(answered, look)} <a href="${linkToQuestion(look, question, 'csv')}">CSV</a></p></details>`;
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
  return html`${age}${behind} ${broken.length === 0 ? drawMark('good', 'ties out') : drawMark('bad', broken.join('; '))}`;
}

/** The day or moment that answers are about: any that the mirror knows. */
export function drawMoment(look: Look): SafeHtml {
  const {account, 'as-of': asOf = ''} = look.query;
  return html`<form class="filters">
    ${account === undefined ? '' : html`<input type="hidden" name="account" value="${account}">`}
    <label>As of the end of <input type="date" name="as-of" value="${/^\d{4}-\d{2}-\d{2}$/.test(asOf) ? asOf : ''}"></label>
    <button>Show</button>${asOf === '' ? '' : html` <a href="${linkTo(look, look.path.split('?')[0] ?? '')}">Now</a>`}</form>`;
}
