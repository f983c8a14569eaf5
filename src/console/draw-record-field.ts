import {html, type SafeHtml} from '@remix-run/html-template';
import type {FieldStory} from '../explain/explain-record.ts';
import type {RecordStory} from '../explain/record-story.ts';
import {describeLook} from '../explain/record-versions.ts';
import {drawState} from './draw-mark.ts';
import {drawValue, drawWriter} from './draw-record-value.ts';
import {drawFacts, drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import type {Look} from './look.ts';
import {linkToRecord} from './record-link.ts';

/**
 * The whole story of one value: since when it holds, who brought it, whether the service is known
 * to hold it, what was before.
 */
export function drawField(told: FieldStory, story: RecordStory, look: Look): SafeHtml {
  return html`<p><a href="${linkToRecord(look, story)}">The whole record</a></p>
<h2>${told.field}</h2>
${drawFacts([
  ['value', drawValue(told.value, look)],
  ['written by', drawWriter(told.writer, told.field)],
  ['since', drawTime(told.since, look)],
  ['until the row was removed', drawTime(told.removedAt, look)],
  ['on its way', drawWanted(told, look)],
  ['last known to be true', drawLastKnown(told, look)],
  ['next look', drawNextLook(told, look)],
])}
<h2>Earlier values</h2>
${drawTable({
  caption: `Earlier values of ${told.field}`,
  columns: ['from', 'to', 'value', 'written by'],
  rows: told.earlier.map(({from, to, value, isDeleted, writer}) => [
    drawTime(from, look),
    drawTime(to, look),
    html`${drawValue(value, look)}${isDeleted ? html` <small>row marked deleted</small>` : ''}`,
    drawWriter(writer, told.field),
  ]),
  none: 'Nothing else was ever here.',
})}`;
}

function drawWanted({wanted}: FieldStory, look: Look): SafeHtml | null {
  if (wanted === null) return null;
  const {changeId, operation, state, lastSaid} = wanted;
  const what = operation === 'delete' ? 'to be deleted by' : 'wanted by';
  return html`${what} <a href="/changes/${changeId}">change ${changeId}</a> ${drawState(state)}${
    lastSaid === undefined
      ? ''
      : html` <small>the service last said ${drawValue(lastSaid, look)}</small>`
  }`;
}

function drawLastKnown(
  {lastKnownTrue, removedAt, wanted}: FieldStory,
  look: Look,
): SafeHtml | string {
  if (removedAt !== null) return 'not known: the row is no longer here';
  if (wanted !== null) return 'not yet: the change is not over';
  if (lastKnownTrue === null)
    return 'never: the service has not said so; the next sweep brings what it says';
  const {at, by} = lastKnownTrue;
  if ('kind' in by)
    return html`${drawTime(at, look)} when it was read${by.kind === 'sweep' ? '' : ' back'}`;
  return html`${drawTime(at, look)} when <a href="/sweeps/${by.sweepId}">sweep ${by.sweepId}</a> (${by.mode}, certified) began`;
}

function drawNextLook({nextLooks: [next]}: FieldStory, look: Look): SafeHtml | string {
  if (next === undefined) return 'none is planned';
  return html`${drawTime(next.nextDueAt, look)} ${describeLook(next)}`;
}
