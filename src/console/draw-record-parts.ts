import {html, type SafeHtml} from '@remix-run/html-template';
import type {RecordStory, ToldPart, ToldParts} from '../explain/record-story.ts';
import {drawMark} from './draw-mark.ts';
import {drawValue} from './draw-record-value.ts';
import {type Cell, drawTable} from './draw-table.ts';
import {showMinute} from './draw-time.ts';
import type {Look} from './look.ts';
import {linkToRecord} from './record-link.ts';

/** What hangs on a record, kind by kind. */
export function drawParts(story: RecordStory, look: Look): SafeHtml {
  return html`${story.parts.map(
    (parts) => html`<h2>${title(parts)}</h2>
${drawTable({
  caption: title(parts),
  columns: [...parts.columns, 'where it came from'],
  rows: parts.rows.map((part) => [
    ...parts.columns.map((column, at) =>
      drawCell(parts, part, {story, look, column, isFirst: at === 0}),
    ),
    drawOrigin(part, look),
  ]),
  none: 'There was none.',
})}${parts.hasMore ? html`<p class="quiet">There are more in warehouse.${parts.table}.</p>` : ''}${
  parts.laterCount === 0
    ? ''
    : html`<p>${drawMark('warning', `${parts.laterCount} came later`)}</p>`
}`,
  )}`;
}

interface Place {
  readonly story: RecordStory;
  readonly look: Look;
  readonly column: string;
  readonly isFirst: boolean;
}

/** The first cell leads to the part's own page, where it has one. */
function drawCell(
  {stream, key}: ToldParts,
  part: ToldPart,
  {story, look, column, isFirst}: Place,
): Cell {
  const value = part.fields[column];
  const number = part.fields[key];
  if (!isFirst || stream === null || (typeof number !== 'string' && number !== null))
    return drawValue(value, look);
  const {account} = story;
  const to = linkToRecord(look, {stream, number, rowId: part.rowId, account});
  return html`<a href="${to}">${number === null ? `row ${part.rowId}` : drawValue(value, look)}</a>`;
}

function drawOrigin(part: ToldPart, look: Look): SafeHtml {
  const {isDeleted, differs, since} = part;
  const mark = isDeleted
    ? drawMark('quiet', 'deleted')
    : differs === null
      ? ''
      : drawMark('warning', differs);
  return html`${mark} since ${showMinute(since, look.timeZone)} <small>${drawWriterOf(part)}</small>`;
}

function drawWriterOf({sweepId, changeId, writtenBy}: ToldPart): SafeHtml | string {
  if (writtenBy !== null) return `an edit by ${writtenBy}`;
  if (sweepId !== null) return html`<a href="/sweeps/${sweepId}">sweep ${sweepId}</a>`;
  if (changeId !== null) return html`<a href="/changes/${changeId}">change ${changeId}</a>`;
  return 'not noted by whom';
}

function title({table}: ToldParts): string {
  const words = table.replace('_', ' ');
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}
