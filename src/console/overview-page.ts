import {html, type SafeHtml} from '@remix-run/html-template';
import {type Freshness, type OverviewStory, readOverview} from '../alerts/overview.ts';
import {causeNumbers} from '../core/errors.ts';
import {formatDuration} from '../core/format.ts';
import {linkOfConcern} from './concern-link.ts';
import {drawHours} from './draw-hours.ts';
import {drawMark, drawState} from './draw-mark.ts';
import {drawNights} from './draw-nights.ts';
import {drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import {type Look, linkTo} from './look.ts';
import {definePage} from './page.ts';
import {drawPageLink} from './serve-documents.ts';

export const overview = definePage({
  path: '/',
  section: '/',
  moving: ['changes', 'sweeps', 'accounts'],
  read: ({db, accounts, doings}) => readOverview(db, accounts, doings.looker),
  title: () => 'Overview',
  draw: (story, look) => html`
    <p class="lead">${story.sentence}</p>
    ${drawConcerns(story, look)}
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
    sql: "SELECT DISTINCT ON (account_id, stream) account_id, stream, state, started_at, ended_at\n  FROM sync.sweeps WHERE mode = 'full' ORDER BY account_id, stream, sweep_id DESC;",
  }),
});

function drawConcerns({concerns}: OverviewStory, look: Look): SafeHtml | string {
  if (concerns.length === 0) return '';
  return html`<h2>Needs you</h2><ul class="list">${concerns.map((concern) => {
    const {kind, account, stream, text, next} = concern;
    const place = [look.seen.length > 1 ? account : null, stream]
      .filter((name) => name !== null)
      .join(', ');
    const link = linkOfConcern(concern, look);
    return html`<li>${drawMark('bad', place === '' ? 'look' : place)} ${text}${
      link === null ? '' : html` <a href="${link}">Look</a>`
    }<br><small>${next === null ? '' : `${next}; `}see ${drawPageLink(causeNumbers[kind])}</small></li>`;
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
  return drawTable({
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
      html`<a href="${linkTo(look, '/sweeps', {stream: each.stream, mode: 'full'})}">${each.stream}</a>`,
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
  return html`<h2>Changes under way</h2>${drawTable({
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
  return drawTable({
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
