import {html, type SafeHtml} from '@remix-run/html-template';
import type {Look} from './look.ts';

/** A form whose state is the address of the page, so that it can be sent to a colleague. */
export function drawFilters(look: Look, fields: readonly SafeHtml[]): SafeHtml {
  const {account} = look.query;
  return html`<form class="filters">
    ${account === undefined ? '' : html`<input type="hidden" name="account" value="${account}">`}
    ${[...fields]}
    <button>Show</button></form>`;
}

/** One of some words, or any. */
export function drawChoice(
  name: string,
  label: string,
  words: readonly string[],
  chosen: string | undefined,
): SafeHtml {
  return html`<label>${label} <select name="${name}"><option value="">any</option>${words.map(
    (word) =>
      html`<option value="${word}"${word === chosen ? html` selected` : ''}>${word.replaceAll('_', ' ')}</option>`,
  )}</select></label>`;
}
