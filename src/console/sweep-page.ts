import {html, type SafeHtml} from '@remix-run/html-template';
import {formatDuration, formatNumber} from '../core/format.ts';
import {listSweeps, readSweepStory, type SweepStory, tookMs} from '../sweeps/story.ts';
import type {Sweep} from '../sweeps/sweep.ts';
import {
  describeTarget,
  describeTombstone,
  sweepMeanings,
  tellCounts,
  tellEvidence,
} from '../sweeps/words.ts';
import {drawForm} from './draw-form.ts';
import {drawState} from './draw-mark.ts';
import {drawFacts, drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import {drawTimeline} from './draw-timeline.ts';
import {type Look, linkTo, nameOfAccount} from './look.ts';
import {type Asked, definePage} from './page.ts';
import {notThere} from './refused.ts';

const shownTombstones = 200;

export const sweepPage = definePage({
  path: '/sweeps/:sweepId',
  section: '/sweeps',
  moving: ['sweeps'],
  read: async (asked) => {
    const story = await readSweepStory(asked.db, asked.params.sweepId ?? '');
    if (story !== null && asked.seen.some(({accountId}) => accountId === story.sweep.accountId))
      return story;
    throw notThere(`sweep ${JSON.stringify(asked.params.sweepId)}`, await listNearest(asked));
  },
  title: ({sweep}) => `Sweep ${sweep.sweepId} of ${describeTarget(sweep)}`,
  draw: (story, look) => html`
    <p class="lead">${drawState(story.sweep.state)}: ${sweepMeanings[story.sweep.state]}</p>
    ${drawWhy(story.sweep)}
    ${drawApproval(story, look)}
    ${drawSweepFacts(story, look)}
    ${drawTimeline(story, look)}
    <h2>What the verdict rests on</h2>
    <ul>${[...tellEvidence(story.sweep), ...tellCounts(story.sweep)].map((line) => html`<li>${line}</li>`)}</ul>
    ${drawTombstones(story, look)}`,
  elsewhere: ({params}) => ({
    command: `fieldmirror sweeps show ${params.sweepId}`,
    sql: `SELECT * FROM sync.sweeps WHERE sweep_id = ${params.sweepId};\nSELECT * FROM sync.tombstones WHERE sweep_id = ${params.sweepId};`,
  }),
});

async function listNearest({db, seen}: Asked) {
  const latest = await listSweeps(db, {
    accountIds: seen.map(({accountId}) => accountId),
    stream: null,
    limit: 5,
  });
  return latest.map((sweep) => ({
    href: `/sweeps/${sweep.sweepId}`,
    label: `sweep ${sweep.sweepId} of ${describeTarget(sweep)}, ${sweep.state}`,
  }));
}

function drawWhy({reasons, error}: Sweep): SafeHtml | string {
  const lines = [...reasons, ...(error === null ? [] : [error])];
  return lines.length === 0 ? '' : html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

function drawApproval({sweep, tombstones}: SweepStory, look: Look): SafeHtml | string {
  if (sweep.state !== 'stopped') return '';
  const count = tombstones.filter(({writtenAt}) => writtenAt === null).length;
  return html`<p>${formatNumber(count)} rows would be marked deleted; they are listed below. Each is asked for once more before it goes.</p>
    <div class="actions">${drawForm(look, {
      to: `/sweeps/${sweep.sweepId}/approve`,
      role: 'operator',
      label: `Let ${formatNumber(count)} rows go`,
      isGrave: true,
    })}</div>`;
}

function drawSweepFacts({sweep, usual}: SweepStory, look: Look): SafeHtml {
  const ms = tookMs(sweep, look.now);
  const than = (text: string | null) =>
    text === null ? '' : html` <small>usually ${text}</small>`;
  const {counts} = sweep;
  const changed = counts.inserted + counts.updated + counts.revived + counts.tombstoned;
  return drawFacts([
    ['account', nameOfAccount(look, sweep.accountId)],
    ['began', drawTime(sweep.startedAt, look)],
    ['ended', drawTime(sweep.endedAt, look)],
    ['asked for by', sweep.requestedBy],
    [
      'took',
      ms === null
        ? ''
        : html`${formatDuration(ms)}${than(usual && formatDuration(usual.seconds * 1000))}`,
    ],
    [
      'records read',
      html`${formatNumber(counts.records)}${than(usual && formatNumber(usual.records))}`,
    ],
    [
      'rows that changed',
      html`${formatNumber(changed)}${than(usual && formatNumber(usual.changed))}`,
    ],
    [
      'requests',
      html`${formatNumber(counts.requests)}${than(usual && formatNumber(usual.requests))}`,
    ],
    ['tries that failed', sweep.failures === 0 ? '' : sweep.failures],
    ['let through', drawTime(sweep.approvedAt, look)],
    [
      'in quarantine',
      counts.quarantined === 0
        ? ''
        : html`<a href="${linkTo(look, '/quarantine', {stream: sweep.stream})}">${formatNumber(counts.quarantined)} records</a>`,
    ],
  ]);
}

function drawTombstones({sweep, tombstones}: SweepStory, look: Look): SafeHtml | string {
  if (tombstones.length === 0) return '';
  const left = tombstones.length - shownTombstones;
  return html`<h2>Records that are gone</h2>${drawTable({
    caption: 'Records that are gone at the service',
    columns: ['number', 'the service said', 'asked', 'row'],
    rows: tombstones
      .slice(0, shownTombstones)
      .map((tombstone) => [
        html`<a href="${linkTo(look, `/records/${sweep.stream}/${tombstone.number}`)}">${tombstone.number}</a>`,
        tombstone.status === null ? 'not asked yet' : `${tombstone.status} ${tombstone.words}`,
        drawTime(tombstone.askedAt, look),
        describeTombstone(tombstone),
      ]),
    none: '',
  })}${left > 0 ? html`<p>and ${formatNumber(left)} more; as JSON has all</p>` : ''}`;
}
