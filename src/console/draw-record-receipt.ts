import {html, type SafeHtml} from '@remix-run/html-template';
import type {Receipt, Removed} from '../accounts/forget-customer.ts';
import {drawMark} from './draw-mark.ts';
import {drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import type {Look} from './look.ts';

/** Says of a customer that it was forgotten, with what went; nothing of others. */
export function drawReceipts(receipts: readonly Receipt[], look: Look): SafeHtml | string {
  if (receipts.length === 0) return '';
  return html`<h2>Forgotten</h2>${receipts.map(
    ({forgottenAt, forgottenBy, removed}) =>
      html`<p>${drawMark('quiet', 'forgotten')} The personal data went ${drawTime(forgottenAt, look)}, by the login ${forgottenBy}. What the service still sends of them is kept out.</p>
${drawRemoved(removed)}`,
  )}`;
}

/** Rows by table, as the verb shows them. */
export function drawRemoved(removed: readonly Removed[]): SafeHtml {
  return drawTable({
    caption: 'Rows that are emptied or go, by table',
    columns: ['table', {head: 'rows', kind: 'number'}],
    rows: removed.map(({table, rows}) => [table, rows]),
    none: 'Nothing personal of it is here.',
  });
}
