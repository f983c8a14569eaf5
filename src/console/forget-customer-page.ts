// Forgetting a customer: the rows that would be removed, the receipt, and the action.

import {html, type SafeHtml} from '@remix-run/html-template';
import type pg from 'pg';
import {z} from 'zod';
import {
  type CustomerKey,
  describeEnd,
  type ForgettingStory,
  type ForgottenRows,
  findCustomer,
  forgetCustomer as forget,
  listNames,
  listReceipts,
  type Receipt,
  readForgetting,
  sumRemoved,
} from '../accounts/forget-customer.ts';
import {FatalError, RetryableError, UsageError} from '../core/errors.ts';
import {isId} from '../core/text.ts';
import {AccessRefused, findSeenAccount, makeNotFound} from './access.ts';
import {defineAction, definePage, hidden, type PageContext, type PageRequest} from './page.ts';
import {findRequestedRecord, linkToRecord} from './records-page.ts';
import {renderForm, renderMark, renderTable, renderTime} from './render.ts';

/** The rows that would be removed, before an admin types the number to confirm. */
export const forgetPage = definePage<ForgettingStory>({
  path: '/records/customers/:number/forget',
  section: '/records',
  role: 'admin',
  moving: [],
  read: readStory,
  title: ({number}) => `Forget customer ${number}`,
  render: renderForgetting,
  hide: (story) => ({...story, name: story.name === null ? null : hidden}),
  elsewhere: (_request, {number, account}) => ({
    command: `fieldmirror forget customers ${number} --account ${account}`,
    sql: [
      'SELECT forgotten_at, forgotten_by, removed FROM sync.forgotten',
      `WHERE customer_number = ${number};`,
    ].join(' '),
  }),
});

async function readStory(request: PageRequest): Promise<ForgettingStory> {
  const {account, number} = await findRequestedRecord({
    ...request,
    params: {...request.params, stream: 'customers'},
  });
  if (number === null)
    throw makeNotFound(
      `number of this customer: the service does not know it yet, and nothing can be kept out`,
    );
  const story = await readForgetting(request.db, account, number);
  if (story === null) throw makeNotFound(`customer ${number}`);
  return story;
}

function renderForgetting(story: ForgettingStory, context: PageContext): SafeHtml {
  const {number, account, name, receipts, refusal} = story;
  const recordUrl = linkToRecord(context, {stream: 'customers', number, rowId: '', account});
  return html`${name === null ? '' : html`<p class="lead">${name}</p>`}
<p><a href="${recordUrl}">Back to the record</a></p>
${
  receipts.length > 0
    ? renderReceipts(receipts, context)
    : refusal === null
      ? renderConfirmation(story, context)
      : renderRefusal(refusal)
}`;
}

function renderConfirmation(
  {number, account, name, isLive, removed}: ForgettingStory,
  context: PageContext,
): SafeHtml {
  const sentences = describeEnd(`customer ${number} of ${account}`, {name, isLive});
  return html`<ul>${sentences.map((sentence) => html`<li>${sentence}</li>`)}</ul>
<p>This cannot be taken back. Nothing is done yet.</p>
${renderForm(context, {
  to: `/records/customers/${number}/forget`,
  role: 'admin',
  label: `Forget customer ${number}`,
  fixed: {account},
  fields: html`<label>Its number, typed back <input name="typed" required maxlength="18"
    size="12" inputmode="numeric" autocomplete="off"></label>`,
  isGrave: true,
})}
<h2>What is removed</h2>
${renderRemoved(removed)}`;
}

function renderRefusal(refusal: string): SafeHtml {
  return html`<p>${renderMark('warning', 'not now')} ${refusal}</p>`;
}

/** The receipts of a forgotten customer, with the removed rows; empty for other customers. */
export function renderReceipts(
  receipts: readonly Receipt[],
  context: PageContext,
): SafeHtml | string {
  if (receipts.length === 0) return '';
  const mark = renderMark('quiet', 'forgotten');
  return html`<h2>Forgotten</h2>${receipts.map(({forgottenAt, forgottenBy, removed}) => {
    const when = renderTime(forgottenAt, context);
    return html`<p>${mark} The personal data was removed ${when}, by the login ${forgottenBy}.
What the service still sends of them is kept out.</p>
${renderRemoved(removed)}`;
  })}`;
}

/** Rows by table, as the verb prints them. */
function renderRemoved(removed: readonly ForgottenRows[]): SafeHtml {
  return renderTable({
    caption: 'Rows that are emptied or deleted, by table',
    columns: ['table', {head: 'rows', kind: 'number'}],
    rows: removed.map(({table, rows}) => [table, rows]),
    none: 'Nothing personal of it is here.',
  });
}

/**
 * Forgets a customer, as `fieldmirror forget customers` does: the receipt and the entry of the
 * audit hold none of the data.
 */
export const forgetCustomerAction = defineAction({
  path: '/records/customers/:number/forget',
  name: 'customers.forget',
  role: 'admin',
  form: z.object({account: z.string(), typed: z.string().trim().max(100).default('')}),
  act: async (db, {seen, params, fields, services}) => {
    const {accountId, name} = findSeenAccount(seen, fields.account);
    const {number = ''} = params;
    const label = `customer ${number} of ${name}`;
    if (!isId(number)) throw makeNotFound(label);
    if (fields.typed !== number)
      throw new UsageError(
        `expected the number ${number}, typed back to forget ${label}, got another one`,
      );
    const customer = {accountId, number};
    if ((await findCustomer(db, customer)) === null) throw makeNotFound(label);
    const receiptUrl = `/records/customers/${number}?${new URLSearchParams({account: name})}`;
    const {names, removed} = await forgetOnce(db, customer, {label, to: receiptUrl});
    return {
      subject: `customers ${number}`,
      accountId,
      after: {removed: Object.fromEntries(removed.map(({table, rows}) => [table, rows]))},
      message: `Customer ${number} of ${name} is forgotten: ${sumRemoved(removed)}.`,
      to: receiptUrl,
      dropsReadings: true,
      afterwards: () => services.clearUpForgotten({accountId, names}),
    };
  },
});

/**
 * Forgets a customer once. The receipts are checked again behind the locks: two persons may have
 * continued from the same preview.
 */
async function forgetOnce(
  db: pg.ClientBase,
  customer: CustomerKey,
  target: {readonly label: string; readonly to: string},
): Promise<Receipt & {readonly names: readonly string[]}> {
  refuseForgotten(await listReceipts(db, customer), target);
  try {
    const names = await listNames(db, customer);
    const receipt = await forget(db, customer);
    refuseForgotten((await listReceipts(db, customer)).slice(1), target);
    return {...receipt, names};
  } catch (error) {
    if (error instanceof FatalError || error instanceof RetryableError)
      throw new UsageError(error.message.replace(/\.$/, ''), {cause: error});
    throw error;
  }
}

function refuseForgotten(
  [receipt]: readonly Receipt[],
  {label, to: receiptUrl}: {readonly label: string; readonly to: string},
): void {
  if (receipt === undefined) return;
  throw new AccessRefused(409, {
    title: 'It came too late',
    text: `It was forgotten already, at ${receipt.forgottenAt}: ${label}. Nothing was done.`,
    ways: [{href: receiptUrl, label: 'Look at the receipt'}],
  });
}
