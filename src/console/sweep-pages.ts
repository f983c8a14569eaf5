// Sweeps: the list, one sweep with its timeline, and the actions.

import {html, type SafeHtml} from '@remix-run/html-template';
import {z} from 'zod';
import {formatDuration, formatElapsed, formatNumber} from '../core/format.ts';
import {isId} from '../core/text.ts';
import {allStreams} from '../streams/all.ts';
import {
  listQuietRuns,
  listSweeps,
  measureSweepMs,
  type QuietRuns,
  readSweepStory,
  type SweepStory,
} from '../sweeps/story.ts';
import {
  readSweep,
  requestSweep,
  type Sweep,
  type SweepCounts,
  type SweepState,
} from '../sweeps/sweeps.ts';
import {approveDeletions, describeApproval} from '../sweeps/tombstones.ts';
import {
  describeCounts,
  describeEvidence,
  describeTarget,
  describeTombstone,
  sweepMeanings,
} from '../sweeps/words.ts';
import {findSeenAccount, makeNotFound, refuseInactive} from './access.ts';
import {
  defineAction,
  definePage,
  linkTo,
  nameOfAccount,
  type PageContext,
  type PageRequest,
} from './page.ts';
import {
  type Cell,
  renderChoice,
  renderFacts,
  renderFilters,
  renderForm,
  renderMark,
  renderOption,
  renderProse,
  renderState,
  renderTable,
  renderTime,
} from './render.ts';
import {renderTimeline} from './sweep-timeline.ts';

const perPage = 50;
const modes = ['full', 'window', 'record'] as const;
const streams = allStreams.map(({name}) => name);
const sweepStates = Object.keys(sweepMeanings) as SweepState[];

interface ListStory {
  readonly sweeps: readonly Sweep[];
  /** The runs that are folded by day: windows and single records that changed nothing. */
  readonly quiet: readonly QuietRuns[];
  readonly isLast: boolean;
}

export const sweepListPage = definePage<ListStory>({
  path: '/sweeps',
  section: '/sweeps',
  moving: ['sweeps'],
  read: readList,
  title: () => 'Sweeps',
  render: ({sweeps, quiet, isLast}, context) => html`
    ${renderFilters(context, [
      renderChoice('stream', 'Stream', streams, context.query.stream),
      renderChoice('mode', 'Kind', modes, context.query.mode),
      renderChoice('state', 'State', sweepStates, context.query.state),
      html`<label>Quiet runs <select name="quiet">
        ${renderOption('', !isUnfolded(context), 'by day')}
        ${renderOption('each', isUnfolded(context), 'each')}</select></label>`,
    ])}
    ${renderSweepTable({sweeps, quiet}, context)}
    ${isLast ? '' : renderOlderLink({sweeps, quiet}, context)}
    <p>Records that could not be read are <a href="${linkTo(context, '/quarantine', {
      stream: context.query.stream,
    })}">in quarantine</a>.</p>
    <h2>Sweep now</h2>
    <p>Requests a full sweep. While one of the same stream is unfinished, no second one begins.</p>
    <div class="actions">${context.accounts.flatMap(({name}) =>
      streams.map((stream) => renderSweepNow(context, {name, stream})),
    )}</div>`,
  elsewhere: ({query}) => ({
    command: `fieldmirror sweeps list${query.stream === undefined ? '' : ` ${query.stream}`}`,
    sql: 'SELECT * FROM sync.sweeps ORDER BY sweep_id DESC LIMIT 50;',
  }),
});

/** Reads the newest sweeps and quiet runs, as many together as a page has lines. */
async function readList({db, ...request}: PageRequest): Promise<ListStory> {
  const isFolded = !isUnfolded(request);
  const filter = {...filterOf(request), isFolded, limit: perPage + 1};
  const sweeps = await listSweeps(db, filter);
  const quiet = isFolded ? await listQuietRuns(db, filter) : [];
  const lines = mergeLines({sweeps, quiet});
  const shownLines = new Set(lines.slice(0, perPage));
  return {
    sweeps: sweeps.filter((sweep) => shownLines.has(sweep)),
    quiet: quiet.filter((runs) => shownLines.has(runs)),
    isLast: lines.length <= perPage,
  };
}

const isUnfolded = ({query}: Pick<PageRequest, 'query'>) => query.quiet === 'each';

/** Sorts the lines, the newest first; quiet runs have the place of the newest of them. */
function mergeLines({sweeps, quiet}: Pick<ListStory, 'sweeps' | 'quiet'>) {
  return [...sweeps, ...quiet].toSorted((one, other) =>
    BigInt(one.sweepId) < BigInt(other.sweepId) ? 1 : -1,
  );
}

function renderOlderLink(
  list: Pick<ListStory, 'sweeps' | 'quiet'>,
  context: PageContext,
): SafeHtml {
  const olderUrl = linkTo(context, '/sweeps', {
    ...context.query,
    before: mergeLines(list).at(-1)?.sweepId,
  });
  return html`<p><a href="${olderUrl}">Older sweeps</a></p>`;
}

/** The filter of an address; unknown words filter nothing. */
function filterOf({accounts, seen, query}: Pick<PageRequest, 'accounts' | 'seen' | 'query'>) {
  const isAll = accounts.length === seen.length && seen.length !== 1;
  return {
    accountIds: isAll
      ? seen.map(({accountId}) => accountId)
      : accounts.map(({accountId}) => accountId),
    stream: streams.find((candidate) => candidate === query.stream) ?? null,
    mode: modes.find((candidate) => candidate === query.mode) ?? null,
    state: sweepStates.find((candidate) => candidate === query.state) ?? null,
    before: isId(query.before ?? '') ? (query.before ?? null) : null,
  };
}

/** Sweeps and quiet runs as rows, each with a bar beside the longest of them. */
function renderSweepTable(
  list: Pick<ListStory, 'sweeps' | 'quiet'>,
  context: PageContext,
): SafeHtml {
  const longestMs = Math.max(
    ...list.sweeps.map((sweep) => measureSweepMs(sweep, context.now) ?? 0),
    ...list.quiet.map(({ms}) => ms),
  );
  return renderTable({
    caption: 'Sweeps, the newest first',
    columns: [
      {head: 'sweep', isTitle: true},
      {head: 'state', isTitle: true},
      'began',
      'took',
      'what changed',
      {head: 'records', kind: 'number'},
      {head: 'requests', kind: 'number'},
    ],
    rows: mergeLines(list).map((line) =>
      'count' in line
        ? renderQuietRuns(line, context, longestMs)
        : renderSweep(line, context, longestMs),
    ),
    none: 'No sweep fits.',
    isStacked: true,
  });
}

function renderSweep(sweep: Sweep, context: PageContext, longestMs: number): Cell[] {
  const {sweepId, accountId, stream, recordNumber, state, startedAt, counts} = sweep;
  const ms = measureSweepMs(sweep, context.now);
  const account = nameAccountIfSeveral(accountId, context);
  const sweepUrl = linkTo(context, `/sweeps/${sweepId}`);
  const record =
    recordNumber === null
      ? ''
      : html`, <a href="${linkTo(context, `/records/${stream}/${recordNumber}`)}">record</a>`;
  return [
    html`<a href="${sweepUrl}">${describeTarget(sweep)}</a><small>${account}<a href="${
      sweepUrl
    }">sweep ${sweepId}</a>${record}</small>`,
    renderState(state),
    renderTime(startedAt, context),
    ms === null ? '' : renderLength(ms, longestMs),
    describeChanged(counts),
    counts.records,
    counts.requests,
  ];
}

/** All quiet runs of a day in one row, with a link to a list of each of them. */
function renderQuietRuns(runs: QuietRuns, context: PageContext, longestMs: number): Cell[] {
  const {accountId, targets, day, count, requests, ms, sweepId, lastEndedAt} = runs;
  const before = String(BigInt(sweepId) + 1n);
  const runsUrl = linkTo(context, '/sweeps', {...context.query, before, quiet: 'each'});
  const target = `${nameAccountIfSeveral(accountId, context)}${targets.join(', ')}`;
  const name = `${formatNumber(count)} quiet ${count === 1 ? 'run' : 'runs'} of ${day}`;
  return [
    html`<a class="whole" href="${runsUrl}">${name}</a><small>${target}</small>`,
    renderMark('quiet', 'quiet'),
    renderTime(lastEndedAt, context),
    renderLength(ms, longestMs, count === 1 ? '' : ' each'),
    html`<span class="quiet">nothing</span>`,
    '',
    requests,
  ];
}

/** `acme, `, if the viewer sees several accounts. */
function nameAccountIfSeveral(accountId: string, context: PageContext): string {
  return context.seen.length > 1 ? `${nameOfAccount(context, accountId)}, ` : '';
}

/** The duration: a bar, in proportion to the longest of the page, and words. */
function renderLength(ms: number, longestMs: number, suffix = ''): SafeHtml {
  const width = Math.max(1, Math.round((100 * ms) / Math.max(1, longestMs)));
  return html`<span class="value">${formatElapsed(ms)}${suffix}
    <svg class="bar thin" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
    <rect class="ground" width="100" height="12"/>
    <rect class="span" width="${width}" height="12"/></svg></span>`;
}

/** `3 new, 12 changed`, or `nothing`. */
function describeChanged({inserted, updated, revived, tombstoned}: SweepCounts): Cell {
  const parts = [
    [inserted, 'new'],
    [updated + revived, 'changed'],
    [tombstoned, 'gone'],
  ] as const;
  const changes = parts.flatMap(([count, word]) =>
    count === 0 ? [] : [`${formatNumber(count)} ${word}`],
  );
  return changes.length === 0 ? html`<span class="quiet">nothing</span>` : changes.join(', ');
}

function renderSweepNow(
  context: PageContext,
  {name, stream}: Readonly<Record<'name' | 'stream', string>>,
) {
  const label = context.accounts.length > 1 ? `${stream} of ${name}` : stream;
  return renderForm(context, {
    to: `/accounts/${encodeURIComponent(name)}/sweep`,
    role: 'operator',
    label,
    fixed: {stream},
  });
}

const tombstoneLimit = 200;

export const sweepPage = definePage({
  path: '/sweeps/:sweepId',
  section: '/sweeps',
  moving: ['sweeps'],
  read: async (request) => {
    const story = await readSweepStory(request.db, request.params.sweepId ?? '');
    if (story !== null && request.seen.some(({accountId}) => accountId === story.sweep.accountId))
      return story;
    throw makeNotFound(
      `sweep ${JSON.stringify(request.params.sweepId)}`,
      await listNearest(request),
    );
  },
  title: ({sweep}) => `Sweep ${sweep.sweepId} of ${describeTarget(sweep)}`,
  render: (story, context) => html`
    <p class="lead">${renderState(story.sweep.state)}: ${sweepMeanings[story.sweep.state]}</p>
    ${renderReasons(story.sweep, context)}
    ${renderApproval(story, context)}
    ${renderSweepFacts(story, context)}
    ${renderTimeline(story, context)}
    <h2>Evidence</h2>
    <ul>${[...describeEvidence(story.sweep), ...describeCounts(story.sweep)].map(
      (line) => html`<li>${renderProse(line, context)}</li>`,
    )}</ul>
    ${renderTombstones(story, context)}`,
  elsewhere: ({params}) => ({
    command: `fieldmirror sweeps show ${params.sweepId}`,
    sql: [
      `SELECT * FROM sync.sweeps WHERE sweep_id = ${params.sweepId};`,
      `SELECT * FROM sync.tombstones WHERE sweep_id = ${params.sweepId};`,
    ].join('\n'),
  }),
});

async function listNearest({db, seen}: PageRequest) {
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

function renderReasons({reasons, error}: Sweep, context: PageContext): SafeHtml | string {
  const lines = [...reasons, ...(error === null ? [] : [error])];
  const items = lines.map((line) => html`<li>${renderProse(line, context)}</li>`);
  return lines.length === 0 ? '' : html`<ul>${items}</ul>`;
}

function renderApproval({sweep, tombstones}: SweepStory, context: PageContext): SafeHtml | string {
  if (sweep.state !== 'stopped') return '';
  const count = tombstones.filter(({writtenAt}) => writtenAt === null).length;
  return html`<p>${formatNumber(count)} rows would be marked as deleted. They are listed below.
      Each record is requested again before its row is marked.</p>
    <div class="actions">${renderForm(context, {
      to: `/sweeps/${sweep.sweepId}/approve`,
      role: 'operator',
      label: `Mark ${formatNumber(count)} ${count === 1 ? 'row' : 'rows'} as deleted`,
      isGrave: true,
    })}</div>`;
}

function renderSweepFacts({sweep, usual}: SweepStory, context: PageContext): SafeHtml {
  const ms = measureSweepMs(sweep, context.now);
  const renderUsual = (text: string | null) =>
    text === null ? '' : html` <small>usually ${text}</small>`;
  const {counts} = sweep;
  const changed = counts.inserted + counts.updated + counts.revived + counts.tombstoned;
  return renderFacts([
    ['account', nameOfAccount(context, sweep.accountId)],
    ['began', renderTime(sweep.startedAt, context)],
    ['ended', renderTime(sweep.endedAt, context)],
    ['requested by', sweep.requestedBy],
    [
      'took',
      ms === null
        ? ''
        : html`${formatDuration(ms)}${renderUsual(usual && formatDuration(usual.seconds * 1000))}`,
    ],
    [
      'records read',
      html`${formatNumber(counts.records)}${renderUsual(usual && formatNumber(usual.records))}`,
    ],
    [
      'rows that changed',
      html`${formatNumber(changed)}${renderUsual(usual && formatNumber(usual.changed))}`,
    ],
    [
      'requests',
      html`${formatNumber(counts.requests)}${renderUsual(usual && formatNumber(usual.requests))}`,
    ],
    ['tries that failed', sweep.failures === 0 ? '' : sweep.failures],
    ['approved', renderTime(sweep.approvedAt, context)],
    [
      'in quarantine',
      counts.quarantined === 0
        ? ''
        : html`<a href="${linkTo(context, '/quarantine', {stream: sweep.stream})}">${formatNumber(
            counts.quarantined,
          )} records</a>`,
    ],
  ]);
}

function renderTombstones(
  {sweep, tombstones}: SweepStory,
  context: PageContext,
): SafeHtml | string {
  if (tombstones.length === 0) return '';
  const restCount = tombstones.length - tombstoneLimit;
  return html`<h2>Deleted records</h2>${renderTable({
    caption: 'Records that are deleted at the service',
    columns: ['number', 'the service said', 'requested', 'row'],
    rows: tombstones
      .slice(0, tombstoneLimit)
      .map((tombstone) => [
        html`<a href="${linkTo(context, `/records/${sweep.stream}/${tombstone.number}`)}">${
          tombstone.number
        }</a>`,
        tombstone.status === null
          ? 'not requested yet'
          : `${tombstone.status} ${tombstone.message}`,
        renderTime(tombstone.requestedAt, context),
        describeTombstone(tombstone),
      ]),
    none: '',
  })}${restCount > 0 ? html`<p>and ${formatNumber(restCount)} more; as JSON has all</p>` : ''}`;
}

export const sweepNow = defineAction({
  path: '/accounts/:account/sweep',
  name: 'sweeps.request',
  role: 'operator',
  form: z.object({stream: z.enum(streams as [string, ...string[]])}),
  act: async (db, {seen, params, fields: {stream}}) => {
    const account = findSeenAccount(seen, params.account);
    refuseInactive(account);
    const {sweepId} = await requestSweep(db, {
      accountId: account.accountId,
      stream,
      mode: 'full',
      requestedBy: 'command',
    });
    return {
      subject: `sweep ${sweepId} of ${stream}`,
      accountId: account.accountId,
      after: {sweepId, stream, mode: 'full'},
      message: `Sweep ${sweepId} of ${stream} is due: a worker takes it up as soon as one is free.`,
      to: `/sweeps/${sweepId}`,
    };
  },
});

export const approveSweepAction = defineAction({
  path: '/sweeps/:sweepId/approve',
  name: 'sweeps.approve',
  role: 'operator',
  form: z.object({}),
  act: async (db, {seen, params}) => {
    const sweepId = params.sweepId ?? '';
    const sweep = isId(sweepId) ? await readSweep(db, sweepId) : null;
    if (sweep === null || !seen.some(({accountId}) => accountId === sweep.accountId))
      throw makeNotFound(`sweep ${JSON.stringify(sweepId)}`);
    const approved = await approveDeletions(db, sweep);
    return {
      subject: `sweep ${sweepId}`,
      accountId: sweep.accountId,
      before: {state: sweep.state, reasons: sweep.reasons},
      after: {state: approved.state},
      message: `${describeApproval(approved)}.`,
    };
  },
});
