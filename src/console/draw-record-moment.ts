import {html, type SafeHtml} from '@remix-run/html-template';
import type {RecordStory} from '../explain/record-story.ts';
import {showMinute} from './draw-time.ts';
import type {Look} from './look.ts';
import {linkToRecord, pathOfRecord} from './record-link.ts';

/**
 * The way to any past moment: along the versions, or by the clock. Both forms work without a
 * script.
 */
export function drawMoment(story: RecordStory, look: Look): SafeHtml {
  const path = pathOfRecord(story);
  const account =
    look.seen.length > 1 ? html`<input type="hidden" name="account" value="${story.account}">` : '';
  const zone = look.accounts.find(({name}) => name === story.account)?.timeZone ?? 'UTC';
  const at = story.at === null ? '' : showMinute(story.at, zone).replace(' ', 'T');
  return html`<h2>At another moment</h2>
${drawSlider(story, look, {path, account})}
<form class="filters" action="${path}">${account}
<label>Day and time in ${zone} <input type="datetime-local" name="at" value="${at}" required></label> <button>Show that moment</button></form>`;
}

function drawSlider(
  {moments, version, at}: RecordStory,
  look: Look,
  {path, account}: {readonly path: string; readonly account: SafeHtml | string},
): SafeHtml | string {
  if (moments.length < 2) return '';
  const shown = version === 0 ? 1 : version;
  const since = showMinute(moments[shown - 1] ?? '', look.timeZone);
  const words = `version ${shown} of ${moments.length}, since ${since}${at === null ? ', which holds now' : ''}`;
  return html`<form class="filters" action="${path}" hx-get="${path}" hx-trigger="change" hx-target="#page" hx-select="#page" hx-swap="outerMorph">${account}
<label>Along its versions: ${words} <input type="range" name="version" min="1" max="${moments.length}" value="${shown}" aria-valuetext="${words}"></label> <button>Show this version</button></form>`;
}

/** Says clearly that a past moment is shown, and leads back to now. */
export function drawPast(story: RecordStory, look: Look): SafeHtml | string {
  const {at, isThere, account} = story;
  if (at === null) return '';
  const when = `${showMinute(at, look.timeZone)} (${at})`;
  const told = isThere
    ? 'This is the record as it stood then; what differs from now is marked.'
    : `There was no row of it in account ${account} then.`;
  return html`<p class="past"><strong>As of ${when}.</strong> ${told} <a href="${linkToRecord(look, story)}">Back to now</a></p>`;
}
