import {html} from '@remix-run/html-template';
import {nearestOf} from '../core/names.ts';
import {readAnswers, sqlOf, type Told, wordOf} from '../star/answer.ts';
import {questions} from '../star/star.ts';
import {chooseOne} from './choose-account.ts';
import {drawMoment, drawTold} from './draw-answer.ts';
import {definePage} from './page.ts';
import {notThere} from './refused.ts';

const shownRows = 500;

/** One question, with all its rows. */
export const questionPage = definePage<{readonly account: string; readonly told: Told}>({
  path: '/business/ask/:question',
  section: '/business',
  moving: [],
  keptMs: 60_000,
  read: async ({db, accounts, params, query, masks}) => {
    const question = findQuestion(params.question);
    const {accountId: accountKey, name: account} = chooseOne(accounts);
    const wanted = {accountKey, asOf: query['as-of'], isMasked: masks, limit: shownRows};
    const [told] = await readAnswers(db, [question], wanted);
    if (told === undefined) throw notThere('answer');
    return {account, told};
  },
  title: ({told}) => told.question.question,
  draw: ({told, account}, look) => html`
    ${look.seen.length > 1 ? html`<p>Account ${account}.</p>` : ''}
    ${drawMoment(look)}
    ${drawTold(told, look)}`,
  elsewhere: ({query}, {told}) => {
    const asOf = query['as-of'] === undefined ? '' : ` --as-of ${query['as-of']}`;
    const {name} = told.question;
    return {
      command: `fieldmirror ask ${wordOf(told.question)}${asOf}`,
      sql: 'answered' in told ? `${sqlOf(told.answered.asked)};` : `SELECT * FROM mart.${name};`,
    };
  },
});

/** @throws {Refused} there is no question of that name */
export function findQuestion(word: string | undefined) {
  const found = questions.find((question) => wordOf(question) === word);
  if (found !== undefined) return found;
  const near = nearestOf(word ?? '', questions.map(wordOf));
  throw notThere(
    `question ${JSON.stringify(word)}`,
    near === null ? [] : [{href: `/business/ask/${near}`, label: near}],
  );
}
