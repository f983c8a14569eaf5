import {html, type SafeHtml} from '@remix-run/html-template';
import {formatNumber} from '../core/format.ts';

/** A cell: a number is set to the right, with its thousands. */
export type Cell = SafeHtml | string | number | null;

export interface Column {
  readonly head: string;
  readonly kind?: 'number' | 'code';
}

interface Table {
  /** What the table holds, for those who hear it. */
  readonly caption: string;
  readonly columns: readonly (Column | string)[];
  readonly rows: readonly (readonly Cell[])[];
  /** What is said where there is no row. */
  readonly none: string;
}

/** A table stays a table on a phone: it moves sideways in its own frame. */
export function drawTable({caption, columns, rows, none}: Table): SafeHtml {
  if (rows.length === 0) return html`<p class="none">${none}</p>`;
  const heads = columns.map(
    (column): Column => (typeof column === 'string' ? {head: column} : column),
  );
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<caption class="unseen">${caption}</caption>
<thead><tr>${heads.map(({head, kind}) => html`<th scope="col"${classOf(kind)}>${head}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell, at) => drawCell(cell, heads[at]?.kind))}</tr>`)}</tbody>
</table></div>`;
}

function drawCell(cell: Cell, kind: Column['kind']): SafeHtml {
  if (typeof cell === 'number') return html`<td class="number">${formatNumber(cell)}</td>`;
  return html`<td${classOf(kind)}>${cell ?? ''}</td>`;
}

function classOf(kind: Column['kind']): SafeHtml | string {
  return kind === undefined ? '' : html` class="${kind}"`;
}

/** Facts about one thing: each a word and its value. Facts without a value are left out. */
export function drawFacts(facts: readonly (readonly [word: string, value: Cell])[]): SafeHtml {
  const known = facts.filter(([, value]) => value !== null && value !== '');
  return html`<dl class="facts">${known.map(
    ([word, value]) =>
      html`<div><dt>${word}</dt><dd>${typeof value === 'number' ? formatNumber(value) : value}</dd></div>`,
  )}</dl>`;
}
