import {html, type SafeHtml} from '@remix-run/html-template';
import type {ChangeInFull} from '../changes/change-in-full.ts';
import type {FieldSides} from '../changes/change-sides.ts';
import {showWanted} from '../changes/change-words.ts';
import {drawMark} from './draw-mark.ts';
import {drawTable} from './draw-table.ts';

const sides = ['base', 'wanted', 'row', 'service'] as const;

/** Each field with its value before, the one wanted, the row's and the service's, side by side. */
export function drawSides({change, sides: fields}: ChangeInFull): SafeHtml {
  return html`<h2>Side by side</h2>
  ${change.operation === 'delete' ? html`<p>The record is to be deleted.</p>` : ''}
  ${drawTable({
    caption: 'The fields of the change, side by side',
    columns: ['field', 'before', 'wanted here', 'row now', 'at the service', 'note'],
    rows: fields.map((field) => [
      html`<code>${field.field}</code>`,
      ...sides.map((side) => drawValue(field, side)),
      field.isFought
        ? html`${drawMark('bad', 'conflict')} <small>${field.note}</small>`
        : (field.note ?? ''),
    ]),
    none:
      change.operation === 'delete'
        ? 'No field changes.'
        : 'It wants no field: all are as the service makes them.',
  })}`;
}

/** A value that is not known leaves its cell empty; an empty value says so. */
function drawValue(field: FieldSides, side: (typeof sides)[number]): SafeHtml | string {
  const value = field[side];
  if (value === undefined) return '';
  if (field.field === 'password' && side === 'base') return '';
  return html`<span class="value">${showWanted(field.field, value)}</span>`;
}
