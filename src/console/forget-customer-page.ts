import {html, type SafeHtml} from '@remix-run/html-template';
import {describeEnd, type ForgettingStory, readForgetting} from '../accounts/forget-customer.ts';
import {drawForm} from './draw-form.ts';
import {drawMark} from './draw-mark.ts';
import {drawReceipts, drawRemoved} from './draw-record-receipt.ts';
import {findAsked} from './find-record.ts';
import type {Look} from './look.ts';
import {type Asked, definePage, hidden} from './page.ts';
import {linkToRecord} from './record-link.ts';
import {notThere} from './refused.ts';

/**
 * The rows that would go, before an admin types the number back. Counting does it and takes it
 * back, so that none but admins may open it.
 */
export const forgetPage = definePage<ForgettingStory>({
  path: '/records/customers/:number/forget',
  section: '/records',
  role: 'admin',
  moving: [],
  read: readStory,
  title: ({number}) => `Forget customer ${number}`,
  draw,
  hide: (story) => ({...story, name: story.name === null ? null : hidden}),
  elsewhere: (_asked, {number, account}) => ({
    command: `fieldmirror forget customers ${number} --account ${account}`,
    sql: `SELECT forgotten_at, forgotten_by, removed FROM sync.forgotten WHERE customer_number = ${number};`,
  }),
});

async function readStory(asked: Asked): Promise<ForgettingStory> {
  const {account, number} = await findAsked({
    ...asked,
    params: {...asked.params, stream: 'customers'},
  });
  if (number === null)
    throw notThere(
      `number of this customer: the service does not know it yet, and nothing can be kept out`,
    );
  const story = await readForgetting(asked.db, account, number);
  if (story === null) throw notThere(`customer ${number}`);
  return story;
}

function draw(story: ForgettingStory, look: Look): SafeHtml {
  const {number, account, name, receipts, refusal} = story;
  const record = linkToRecord(look, {stream: 'customers', number, rowId: '', account});
  return html`${name === null ? '' : html`<p class="lead">${name}</p>`}
<p><a href="${record}">Back to the record</a></p>
${receipts.length > 0 ? drawReceipts(receipts, look) : refusal === null ? drawChoice(story, look) : drawRefusal(refusal)}`;
}

function drawChoice(
  {number, account, name, isLive, removed}: ForgettingStory,
  look: Look,
): SafeHtml {
  const told = describeEnd(`customer ${number} of ${account}`, {name, isLive});
  return html`<ul>${told.map((sentence) => html`<li>${sentence}</li>`)}</ul>
<p>This cannot be taken back. Nothing is done yet.</p>
${drawForm(look, {
  to: `/records/customers/${number}/forget`,
  role: 'admin',
  label: `Forget customer ${number}`,
  fixed: {account},
  fields: html`<label>Its number, typed back <input name="typed" required maxlength="18" size="12" inputmode="numeric" autocomplete="off"></label>`,
  isGrave: true,
})}
<h2>What goes</h2>
${drawRemoved(removed)}`;
}

function drawRefusal(refusal: string): SafeHtml {
  return html`<p>${drawMark('warning', 'not now')} ${refusal}</p>`;
}
