import {html, type SafeHtml} from '@remix-run/html-template';
import type {RecordStory, ToldValue} from '../explain/record-story.ts';
import {drawMark} from './draw-mark.ts';
import {drawValue, drawWriter} from './draw-record-value.ts';
import {drawTable} from './draw-table.ts';
import {showMinute} from './draw-time.ts';
import type {Look} from './look.ts';
import {linkToRecord} from './record-link.ts';

/**
 * The values of a record, each with where it came from; what is empty and what no column takes is
 * folded away.
 */
export function drawValues(story: RecordStory, look: Look): SafeHtml {
  const {values, emptyFields, attributes} = story;
  return html`<h2>Values</h2>
${drawTold('Values of the record', values, {story, look})}
${emptyFields.length === 0 ? '' : html`<details><summary>${emptyFields.length} fields are empty</summary><p>${emptyFields.join(', ')}</p></details>`}
${
  attributes.length === 0
    ? ''
    : html`<details><summary>${attributes.length} more fields that no column takes</summary>
${drawTold('Fields that no column takes', attributes, {story, look})}</details>`
}`;
}

function drawTold(
  caption: string,
  values: readonly ToldValue[],
  {story, look}: {readonly story: RecordStory; readonly look: Look},
): SafeHtml {
  return drawTable({
    caption,
    columns: ['field', 'value', 'where it came from'],
    rows: values.map((told) => [
      html`<a href="${linkToRecord(look, story, {field: told.field})}">${told.field}</a>${
        told.promotedAs === null ? '' : html` <small>in mart: ${told.promotedAs}</small>`
      }`,
      html`${drawValue(told.value, look)}${'now' in told ? html` <small>${drawMark('warning', 'now:')} ${drawValue(told.now, look)}</small>` : ''}`,
      html`since ${showMinute(told.since, look.timeZone)} <small>${drawWriter(told.writer, told.field)}</small>`,
    ]),
    none: 'It has no values.',
  });
}
