import {html, type SafeHtml} from '@remix-run/html-template';
import type {QuarantineEntry} from '../sweeps/quarantine.ts';
import {drawForm} from './draw-form.ts';
import {type Look, linkTo} from './look.ts';

/** The record by its number, which leads to its row, or where it stood. */
export function nameRecord(
  {stream, number, page, account}: QuarantineEntry,
  look: Look,
): SafeHtml | string {
  if (number === null) return `${stream}, no number${page === null ? '' : `, page ${page}`}`;
  const of = look.seen.length > 1 ? account : undefined;
  return html`<a href="${linkTo(look, `/records/${stream}/${number}`, {account: of})}">${stream} ${number}</a>`;
}

/** Asks for the record by its number; without one the whole list is to be read again. */
export function drawRetry(
  {quarantineId, number, stream, account, resolvedAt}: QuarantineEntry,
  look: Look,
): SafeHtml | string {
  if (resolvedAt !== null) return '';
  return number === null
    ? drawForm(look, {
        to: `/accounts/${encodeURIComponent(account)}/sweep`,
        role: 'operator',
        label: 'Read the whole list again',
        fixed: {stream},
      })
    : drawForm(look, {
        to: `/quarantine/${quarantineId}/retry`,
        role: 'operator',
        label: 'Try again',
      });
}
