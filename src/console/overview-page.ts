// The overview: what needs a person, how fresh the mirror is, the last nights and the last day.

import {html, type SafeHtml} from '@remix-run/html-template';
import {type Freshness, type OverviewStory, readOverview} from '../alerts/overview.ts';
import {formatDuration} from '../core/format.ts';
import type {Hour, Night} from '../health/figures.ts';
import type {Chart} from '../star/chart.ts';
import {linkOfProblem} from './alerts-page.ts';
import {drawCause} from './documents.ts';
import {definePage, type Look, linkTo} from './page.ts';
import {drawFigure, drawMark, drawState, drawTime, renderTable, showMinute} from './render.ts';

export const overview = definePage({
  path: '/',
  section: '/',
  moving: ['changes', 'sweeps', 'accounts'],
  read: ({db, accounts, doings}) => readOverview(db, accounts, doings.healthInput),
  title: () => 'Overview',
  draw: (story, look) => html`
    <p class="lead">${story.sentence}</p>
    ${drawProblems(story, look)}
    ${drawUnderWay(story)}
    <h2>Freshness</h2>
    ${drawFreshness(story.streams, look)}
    <h2>The last thirty nights</h2>
    ${drawNights(story, look)}
    ${drawHours(story, look)}
    ${drawChanges(story, look)}
    <h2>What comes next</h2>
    ${drawNext(story, look)}`,
  elsewhere: () => ({
    command: 'fieldmirror status',
    sql: [
      'SELECT DISTINCT ON (account_id, stream) account_id, stream, state, started_at, ended_at',
      "  FROM sync.sweeps WHERE mode = 'full' ORDER BY account_id, stream, sweep_id DESC;",
    ].join('\n'),
  }),
});

function drawProblems({problems}: OverviewStory, look: Look): SafeHtml | string {
  if (problems.length === 0) return '';
  return html`<h2>Needs you</h2><ul class="list">${problems.map((problem) => {
    const {kind, account, stream, text, next} = problem;
    const place = [look.seen.length > 1 ? account : null, stream]
      .filter((name) => name !== null)
      .join(', ');
    const link = linkOfProblem(problem, look);
    return html`<li>${drawMark('bad', place === '' ? 'look' : place)} ${text}${
      link === null ? '' : html` <a href="${link}">Look</a>`
    }<br><small>${next === null ? '' : `${next}; `}${drawCause(kind)}</small></li>`;
  })}</ul>`;
}

function drawUnderWay({underWay}: OverviewStory): SafeHtml | string {
  if (underWay.length === 0) return '';
  return html`<h2>Under way</h2><ul class="list">${underWay.map(
    ({text}) => html`<li>${drawMark('busy', 'now')} ${text}</li>`,
  )}</ul>`;
}

function drawFreshness(streams: readonly Freshness[], look: Look): SafeHtml {
  const hasSeveral = look.seen.length > 1;
  return renderTable({
    caption: 'How old what is known of each stream can be at worst',
    columns: [
      ...(hasSeveral ? ['account'] : []),
      'stream',
      'verdict',
      'proven complete as of',
      'may become',
      'next full sweep',
    ],
    rows: streams.map((each) => [
      ...(hasSeveral ? [each.account] : []),
      html`<a href="${linkTo(look, '/sweeps', {stream: each.stream, mode: 'full'})}">${
        each.stream
      }</a>`,
      each.isFresh
        ? drawMark('good', 'fresh')
        : drawMark('bad', each.provenAt === null ? 'never proven' : 'old'),
      drawTime(each.provenAt, look),
      drawBound(each),
      each.isUnderWay ? drawMark('busy', 'under way') : drawTime(each.nextDueAt, look),
    ]),
    none: 'No account is mirrored yet.',
  });
}

/** How old it may become at worst, and what is promised beside the full sweeps. */
function drawBound({targetMs, promise}: Freshness): SafeHtml {
  const bound = targetMs === null ? 'no schedule' : `${formatDuration(targetMs)} old`;
  return html`${bound}${promise === null ? '' : html`<small>${promise}</small>`}`;
}

function drawChanges({changes}: OverviewStory, look: Look): SafeHtml | string {
  if (changes.length === 0) return '';
  return html`<h2>Changes under way</h2>${renderTable({
    caption: 'Changes made here that are not over',
    columns: ['state', {head: 'how many', kind: 'number'}, 'the oldest'],
    rows: changes.map(({state, count, oldestAt}) => [
      html`<a href="${linkTo(look, '/changes', {state})}">${drawState(state)}</a>`,
      count,
      drawTime(oldestAt, look),
    ]),
    none: '',
  })}`;
}

function drawNext({next}: OverviewStory, look: Look): SafeHtml {
  const hasSeveral = look.seen.length > 1;
  return renderTable({
    caption: 'Sweeps that come round next',
    columns: [...(hasSeveral ? ['account'] : []), 'sweep', 'due', 'every'],
    rows: next.map(({account, name, nextDueAt, everyMs}) => [
      ...(hasSeveral ? [account] : []),
      name,
      drawTime(nextDueAt, look),
      formatDuration(everyMs),
    ]),
    none: 'Nothing is planned: no account is active.',
  });
}

const shownDays = 30;
const dayMs = 86_400_000;
const signs: Readonly<Record<string, string>> = {
  certified: '✓',
  uncertified: '!',
  stopped: '✕',
  failed: '✕',
};

/** A strip of days for each stream: the verdict of the last full sweep that ended on each. */
function drawNights({nights, streams, now}: OverviewStory, look: Look): SafeHtml {
  const days = listDays(now, look.timeZone);
  const rows = streams.map(({account, stream}) => {
    const accountId = look.seen.find(({name}) => name === account)?.accountId;
    const own = nights.filter((night) => night.stream === stream && night.accountId === accountId);
    const name = look.seen.length > 1 ? `${account}, ${stream}` : stream;
    return html`<tr><th scope="row" class="strip">${name}</th>${days.map((day) =>
      drawDay(day, own, look),
    )}</tr>`;
  });
  return html`<div class="scroll" role="region" aria-label="The last thirty nights" tabindex="0"><table class="nights">
<caption class="unseen">The verdict of the last full sweep of each day, from ${days[0]} to ${days.at(-1)}</caption>
<tbody>${rows}</tbody></table></div>
<p class="quiet">${days[0]} to ${days.at(-1)}: ✓ certified, ! uncertified, ✕ failed or stopped, · no full sweep ended.</p>`;
}

function drawDay(day: string, nights: readonly Night[], look: Look): SafeHtml {
  const night = nights.find((each) => each.day === day);
  if (night === undefined) return html`<td class="day">${drawSign(`${day}: none`, '·')}</td>`;
  const {sweepId, state} = night;
  const title = `${day}: ${state}`;
  const told = drawSign(title, signs[state] ?? '·');
  if (sweepId === null)
    return html`<td class="day"><span class="night ${state}" title="${title}">${told}</span></td>`;
  const to = linkTo(look, `/sweeps/${sweepId}`);
  return html`<td class="day"><a class="night ${state}" href="${to}" title="${title}">${told}</a></td>`;
}

function drawSign(words: string, sign: string): SafeHtml {
  return html`<span class="unseen">${words}</span><span aria-hidden="true">${sign}</span>`;
}

/** The last thirty days by a clock, the oldest first. */
function listDays(now: string, timeZone: string): string[] {
  return Array.from({length: shownDays}, (_, at) => {
    const instant = new Date(Date.parse(now) - (shownDays - 1 - at) * dayMs).toISOString();
    return showMinute(instant, timeZone).slice(0, 10);
  });
}

/** Reads and writes of the last day, as two histograms. */
function drawHours({hours}: OverviewStory, look: Look): SafeHtml {
  const names = hours.map(({from}) => showMinute(from, look.timeZone).slice(11));
  return html`<h2>The last day</h2><div class="cards">
    ${drawFigure(
      chartOf(
        'Records read',
        'Records that sweeps read in each hour, and those of them that brought something new.',
        {
          names,
          hours,
          series: [
            ['read', ({read}) => read],
            ['new, changed or gone', ({changed}) => changed],
          ],
        },
      ),
    )}
    ${drawFigure(
      chartOf('Changes carried', 'Changes made here that came to their end in each hour.', {
        names,
        hours,
        series: [
          ['done', ({done}) => done],
          ['refused', ({refused}) => refused],
        ],
      }),
    )}
  </div>`;
}

interface Histogram {
  readonly names: readonly string[];
  readonly hours: readonly Hour[];
  readonly series: readonly (readonly [name: string, value: (hour: Hour) => number])[];
}

function chartOf(title: string, sentence: string, {names, hours, series}: Histogram): Chart {
  return {
    ...{form: 'columns', title, sentence, names},
    series: series.map(([name, value]) => ({name, kind: 'bar', values: hours.map(value)})),
  };
}
