import {html, type SafeHtml} from '@remix-run/html-template';
import type {OverviewStory} from '../alerts/overview.ts';
import type {Night} from '../health/sweep-activity.ts';
import {showMinute} from './draw-time.ts';
import {type Look, linkTo} from './look.ts';

const shownDays = 30;
const dayMs = 86_400_000;
const signs: Readonly<Record<string, string>> = {
  certified: '✓',
  uncertified: '!',
  stopped: '✕',
  failed: '✕',
};

/** A strip of days for each stream: the verdict of the last full sweep that ended on each. */
export function drawNights({nights, streams, now}: OverviewStory, look: Look): SafeHtml {
  const days = listDays(now, look.timeZone);
  const rows = streams.map(({account, stream}) => {
    const accountId = look.seen.find(({name}) => name === account)?.accountId;
    const own = nights.filter((night) => night.stream === stream && night.accountId === accountId);
    const name = look.seen.length > 1 ? `${account}, ${stream}` : stream;
    return html`<tr><th scope="row" class="strip">${name}</th>${days.map((day) => drawDay(day, own, look))}</tr>`;
  });
  return html`<div class="scroll" role="region" aria-label="The last thirty nights" tabindex="0"><table class="nights">
<caption class="unseen">The verdict of the last full sweep of each day, from ${days[0]} to ${days.at(-1)}</caption>
<tbody>${rows}</tbody></table></div>
<p class="quiet">${days[0]} to ${days.at(-1)}: ✓ certified, ! uncertified, ✕ failed or stopped, · no full sweep ended.</p>`;
}

function drawDay(day: string, nights: readonly Night[], look: Look): SafeHtml {
  const night = nights.find((each) => each.day === day);
  if (night === undefined)
    return html`<td class="day"><span class="unseen">${day}: none</span><span aria-hidden="true">·</span></td>`;
  const {sweepId, state} = night;
  const told = html`<span class="unseen">${day}: ${state}</span><span aria-hidden="true">${signs[state] ?? '·'}</span>`;
  if (sweepId === null)
    return html`<td class="day"><span class="night ${state}" title="${day}: ${state}">${told}</span></td>`;
  return html`<td class="day"><a class="night ${state}" href="${linkTo(look, `/sweeps/${sweepId}`)}" title="${day}: ${state}">${told}</a></td>`;
}

/** The last thirty days by a clock, the oldest first. */
function listDays(now: string, timeZone: string): string[] {
  return Array.from({length: shownDays}, (_, at) => {
    const instant = new Date(Date.parse(now) - (shownDays - 1 - at) * dayMs).toISOString();
    return showMinute(instant, timeZone).slice(0, 10);
  });
}
