import {html, type SafeHtml} from '@remix-run/html-template';
import {formatDuration} from '../core/format.ts';
import {allStreams} from '../streams/all.ts';
import {listSweeps, tookMs} from '../sweeps/story.ts';
import type {Sweep, SweepState} from '../sweeps/sweep.ts';
import {describeTarget, sweepMeanings} from '../sweeps/words.ts';
import {drawChoice, drawFilters} from './draw-filters.ts';
import {drawForm} from './draw-form.ts';
import {drawState} from './draw-mark.ts';
import {type Cell, drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import {type Look, linkTo, nameOfAccount} from './look.ts';
import {type Asked, definePage} from './page.ts';

const perPage = 50;
const modes = ['full', 'window', 'record'] as const;
const streams = allStreams.map(({name}) => name);
const sweepStates = Object.keys(sweepMeanings) as SweepState[];

export const sweepList = definePage({
  path: '/sweeps',
  section: '/sweeps',
  moving: ['sweeps'],
  read: async ({db, ...asked}) => {
    const found = await listSweeps(db, {...filterOf(asked), limit: perPage + 1});
    return {sweeps: found.slice(0, perPage), isLast: found.length <= perPage};
  },
  title: () => 'Sweeps',
  draw: ({sweeps, isLast}, look) => html`
    ${drawFilters(look, [
      drawChoice('stream', 'Stream', streams, look.query.stream),
      drawChoice('mode', 'Kind', modes, look.query.mode),
      drawChoice('state', 'State', sweepStates, look.query.state),
    ])}
    ${drawSweepTable(sweeps, look)}
    ${isLast ? '' : html`<p><a href="${linkTo(look, '/sweeps', {...look.query, before: sweeps.at(-1)?.sweepId})}">Older sweeps</a></p>`}
    <p>Records that could not be read are <a href="${linkTo(look, '/quarantine', {stream: look.query.stream})}">in quarantine</a>.</p>
    <h2>Sweep now</h2>
    <p>A full sweep is due at once; while the same one is unfinished there is no second.</p>
    <div class="actions">${look.accounts.flatMap(({name}) => streams.map((stream) => drawSweepNow(look, {name, stream})))}</div>`,
  elsewhere: ({query}) => ({
    command: `fieldmirror sweeps list${query.stream === undefined ? '' : ` ${query.stream}`}`,
    sql: 'SELECT * FROM sync.sweeps ORDER BY sweep_id DESC LIMIT 50;',
  }),
});

/** Words that are none of ours filter nothing. */
function filterOf({accounts, seen, query}: Pick<Asked, 'accounts' | 'seen' | 'query'>) {
  const isAll = accounts.length === seen.length && seen.length !== 1;
  return {
    accountIds: isAll
      ? seen.map(({accountId}) => accountId)
      : accounts.map(({accountId}) => accountId),
    stream: streams.find((known) => known === query.stream) ?? null,
    mode: modes.find((known) => known === query.mode) ?? null,
    state: sweepStates.find((known) => known === query.state) ?? null,
    before: /^[1-9]\d{0,17}$/.test(query.before ?? '') ? (query.before ?? null) : null,
  };
}

/** Sweeps as rows, the newest first. */
function drawSweepTable(sweeps: readonly Sweep[], look: Look): SafeHtml {
  const hasSeveral = look.seen.length > 1;
  return drawTable({
    caption: 'Sweeps, the newest first',
    columns: [
      'sweep',
      ...(hasSeveral ? ['account'] : []),
      'of',
      'state',
      'began',
      {head: 'took', kind: 'number'},
      {head: 'records', kind: 'number'},
      {head: 'new', kind: 'number'},
      {head: 'changed', kind: 'number'},
      {head: 'gone', kind: 'number'},
      {head: 'requests', kind: 'number'},
    ],
    rows: sweeps.map((sweep) => drawRow(sweep, look, hasSeveral)),
    none: 'No sweep fits.',
  });
}

function drawRow(sweep: Sweep, look: Look, hasSeveral: boolean): Cell[] {
  const {sweepId, accountId, state, startedAt, counts} = sweep;
  const ms = tookMs(sweep, look.now);
  return [
    html`<a href="${linkTo(look, `/sweeps/${sweepId}`)}">${sweepId}</a>`,
    ...(hasSeveral ? [nameOfAccount(look, accountId)] : []),
    describeTarget(sweep),
    drawState(state),
    drawTime(startedAt, look),
    ms === null ? '' : formatDuration(ms),
    counts.records,
    counts.inserted,
    counts.updated + counts.revived,
    counts.tombstoned,
    counts.requests,
  ];
}

function drawSweepNow(
  look: Look,
  {name, stream}: {readonly name: string; readonly stream: string},
) {
  const label = look.accounts.length > 1 ? `${stream} of ${name}` : stream;
  return drawForm(look, {
    to: `/accounts/${encodeURIComponent(name)}/sweep`,
    role: 'operator',
    label,
    fixed: {stream},
  });
}
