import {html, type SafeHtml} from '@remix-run/html-template';
import {nameEvent} from '../explain/explain-record.ts';
import type {RecordStory, ToldVersion} from '../explain/record-story.ts';
import {drawValue, drawWriter} from './draw-record-value.ts';
import {drawTime} from './draw-time.ts';
import type {Look} from './look.ts';
import {linkToRecord} from './record-link.ts';

/** Fields that one version shows; the rest is in history. */
const mostChanges = 30;

/** Every version, with what it changed, the newest first. */
export function drawEvents(story: RecordStory, look: Look): SafeHtml {
  const {events, olderFrom} = story;
  return html`<h2>Versions</h2>
<ol class="story">${events.map((event) => html`<li>${drawEvent(event, {story, look})}</li>`)}</ol>
${olderFrom === null ? '' : html`<p><a href="${linkToRecord(look, story, {older: String(olderFrom)})}">Older versions</a></p>`}`;
}

function drawEvent(
  {at, what, writer, changes, evidence}: ToldVersion,
  {story, look}: {readonly story: RecordStory; readonly look: Look},
): SafeHtml {
  const told = what === 'appeared' ? [] : changes.slice(0, mostChanges);
  return html`<a href="${linkToRecord(look, story, {at})}">${drawTime(at, look)}</a> <strong>${nameEvent(what, changes.length)}</strong> by ${drawWriter(writer)}
${evidence === null ? '' : html`<p>Asked for at ${evidence.askedAt}, the service said ${String(evidence.status)}: ${evidence.words}</p>`}
${
  told.length === 0
    ? ''
    : html`<ul>${told.map(({field, from, to}) => html`<li><code>${field}</code> ${drawValue(from, look)} → ${drawValue(to, look)}</li>`)}</ul>`
}${told.length < changes.length && what !== 'appeared' ? html`<p class="quiet">and ${String(changes.length - told.length)} more fields</p>` : ''}`;
}
