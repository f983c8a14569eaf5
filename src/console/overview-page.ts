// The overview: the problems that need a person, how fresh the mirror is, the last nights and the
// last day.

import {html, type SafeHtml} from '@remix-run/html-template';
import type pg from 'pg';
import type {Account} from '../accounts/accounts.ts';
import type {Problem} from '../alerts/alerts.ts';
import {findProblems, type HealthInput, readInstallation} from '../alerts/problems.ts';
import {readChangeTitles} from '../changes/change-list.ts';
import {type ChangeCount, countChanges} from '../changes/states.ts';
import {formatDuration, formatNumber, type WorkInProgress} from '../core/format.ts';
import {capitalise, isId} from '../core/text.ts';
import {type AccountFacts, readAccountFacts, readWorkInProgress} from '../health/account-status.ts';
import {type Hour, listHours, listNights, type Night} from '../health/figures.ts';
import type {Chart} from '../star/chart.ts';
import {allStreams} from '../streams/all.ts';
import {closestPromise, describePromise} from '../sweeps/freshness.ts';
import type {Schedule} from '../sweeps/schedules.ts';
import {linkToProblem, nameLink} from './alerts-page.ts';
import {renderCause} from './documents.ts';
import {definePage, hidden, linkTo, type PageContext} from './page.ts';
import {
  renderAge,
  renderBanner,
  renderFacts,
  renderFigure,
  renderMark,
  renderProse,
  renderState,
  renderTable,
  renderTime,
  showMinute,
} from './render.ts';

export const overviewPage = definePage({
  path: '/',
  section: '/',
  moving: ['changes', 'sweeps', 'accounts'],
  read: ({db, accounts, services}) => readOverview(db, accounts, services.healthInput),
  title: () => 'Overview',
  render: (story, context) => html`
    ${renderBanner(isWell(story), story.sentence)}
    ${renderProblems(story, context)}
    ${renderUnderWay(story, context)}
    <h2>Streams</h2>
    ${renderStreams(story.streams, context)}
    <h2>The last thirty nightly runs</h2>
    ${renderNights(story, context)}
    ${renderHours(story, context)}
    ${renderChanges(story, context)}
    <h2>What comes next</h2>
    ${renderNextSweeps(story, context)}`,
  hide: ({titles, ...story}) => ({
    ...story,
    titles: Object.fromEntries(Object.keys(titles).map((changeId) => [changeId, hidden])),
  }),
  elsewhere: () => ({
    command: 'fieldmirror status',
    sql: [
      'SELECT DISTINCT ON (account_id, stream) account_id, stream, state, started_at, ended_at',
      "  FROM sync.sweeps WHERE mode = 'full' ORDER BY account_id, stream, sweep_id DESC;",
    ].join('\n'),
  }),
});

/** True if no stream is old, no account is paused, and no problem waits for a person. */
function isWell({streams, paused, problems}: OverviewStory): boolean {
  return problems.length === 0 && paused.length === 0 && !streams.some(isOld);
}

/** A stream whose first sweep is in progress is not proven yet; nothing is wrong with it. */
function isOld(stream: Pick<Freshness, 'isFresh' | 'provenAt' | 'underWay'>): boolean {
  return !stream.isFresh && !isFirstUnderWay(stream);
}

function isFirstUnderWay({provenAt, underWay}: Pick<Freshness, 'provenAt' | 'underWay'>): boolean {
  return provenAt === null && underWay !== null;
}

/** Problems of one cause that are shown; the list behind the link has the others. */
const problemsPerCause = 5;

function renderProblems(story: OverviewStory, context: PageContext): SafeHtml | string {
  const {problems} = story;
  if (problems.length === 0) return '';
  const allLink = problems.some((problem) => findChangeId(problem) !== '')
    ? html`<a href="${linkTo(context, '/changes', {state: 'needy'})}">All changes that need you</a>`
    : '';
  const byCause = [...Map.groupBy(problems, ({kind}) => kind).values()];
  const shownProblems = new Set(
    byCause.flatMap((sameCause) => sameCause.slice(0, problemsPerCause)),
  );
  return html`<div class="heading"><h2>Needs you</h2>${allLink}</div>
    <ul class="list needs">${problems
      .filter((problem) => shownProblems.has(problem))
      .map((problem) => renderProblem(problem, story, context))}${byCause.map((sameCause) =>
      renderRest(sameCause.slice(problemsPerCause), context),
    )}</ul>`;
}

function renderProblem(problem: Problem, {titles}: OverviewStory, context: PageContext): SafeHtml {
  const {kind, account, stream, text, next} = problem;
  const place = [context.seen.length > 1 ? account : null, stream]
    .filter((name) => name !== null)
    .join(', ');
  const name = nameCause(kind);
  const changeId = findChangeId(problem);
  const title = titles[changeId] ?? (place === '' ? name : `${name}: ${place}`);
  return html`<li>
      <div><p>${renderMark(
        'bad',
        changeId === '' ? title : renderLinkToChange(title, changeId, context),
      )}</p>
        <p>${renderProse(text, context)}</p>
        <small>${next === null ? '' : `${next}; `}${renderCause(kind)}</small></div>
      ${renderProblemLink(problem, context)}</li>`;
}

function renderLinkToChange(title: string, changeId: string, context: PageContext): SafeHtml {
  return html`<a href="${linkTo(context, `/changes/${changeId}`)}">${title}</a>`;
}

/** How many more problems there are of one cause, with a link to all of them. */
function renderRest(
  [first, ...otherProblems]: readonly Problem[],
  context: PageContext,
): SafeHtml | string {
  if (first === undefined) return '';
  return html`<li><p>${renderMark(
    'bad',
    `${formatNumber(otherProblems.length + 1)} more: ${nameCause(first.kind)}`,
  )}</p>${renderListLink(first, context)}</li>`;
}

/** `Change held`, of the cause `change-held`. */
function nameCause(kind: string): string {
  return capitalise(kind.replaceAll('-', ' '));
}

/** The number of the change that a problem is about; empty if it is about none, or many. */
function findChangeId({kind, subject}: Problem): string {
  return kind.startsWith('change-') && isId(subject) ? subject : '';
}

function renderProblemLink(problem: Problem, context: PageContext): SafeHtml | string {
  const changeId = findChangeId(problem);
  return changeId === ''
    ? renderListLink(problem, context)
    : renderButton(linkTo(context, `/changes/${changeId}`), 'Decide');
}

function renderListLink(problem: Problem, context: PageContext): SafeHtml | string {
  const listUrl = linkToProblem(problem, context);
  return listUrl === null ? '' : renderButton(listUrl, nameLink(listUrl));
}

function renderButton(url: string, label: string): SafeHtml {
  return html`<div><a class="button" href="${url}">${label}</a></div>`;
}

function renderUnderWay({underWay}: OverviewStory, context: PageContext): SafeHtml | string {
  if (underWay.length === 0) return '';
  return html`<h2>Running now</h2><ul class="list">${underWay.map(
    ({text}) => html`<li>${renderMark('busy', 'now')} ${renderProse(text, context)}</li>`,
  )}</ul>`;
}

function nameStream(
  {account, stream}: Pick<Freshness, 'account' | 'stream'>,
  context: PageContext,
): string {
  return context.seen.length > 1 ? `${account}, ${stream}` : stream;
}

/** A tile for each stream: how many rows, how old, when it is read again. */
function renderStreams(streams: readonly Freshness[], context: PageContext): SafeHtml {
  if (streams.length === 0) return html`<p class="none">No account is mirrored yet.</p>`;
  return html`<div class="cards tiles">${streams.map((freshness) => {
    const {stream, rows, provenAt, underWay, nextDueAt} = freshness;
    const sweepsUrl = linkTo(context, '/sweeps', {stream, mode: 'full'});
    return html`<section class="card">
      <h3><a href="${sweepsUrl}">${nameStream(freshness, context)}</a> ${renderFreshness(
        freshness,
        context,
      )}</h3>
      <p class="figure">${rows === null ? '–' : formatNumber(rows)} <small>records</small></p>
      ${renderFacts([
        ['proven complete', renderAge(provenAt, context)],
        [
          'next full sweep',
          underWay === null ? renderAge(nextDueAt, context) : renderMark('busy', underWay),
        ],
        ['allowed age', renderAllowedAge(freshness)],
      ])}</section>`;
  })}</div>`;
}

/** Nothing more is read of an account that is paused or stopped, however fresh it still is. */
function renderFreshness(stream: Freshness, context: PageContext): SafeHtml {
  const {accountState, isFresh, provenAt} = stream;
  if (accountState !== 'active')
    return html`<a href="${linkTo(context, '/accounts')}">${renderState(accountState)}</a>`;
  if (isFirstUnderWay(stream)) return renderMark('busy', 'first sweep');
  return isFresh
    ? renderMark('good', 'fresh')
    : renderMark('bad', provenAt === null ? 'never proven' : 'old');
}

/** How old a stream may become at worst, and the freshness that is promised between full sweeps. */
function renderAllowedAge({targetMs, promise}: Freshness): SafeHtml {
  const bound = targetMs === null ? 'no schedule' : formatDuration(targetMs);
  return html`${bound}${promise === null ? '' : html`<small>${promise}</small>`}`;
}

function renderChanges({changes}: OverviewStory, context: PageContext): SafeHtml | string {
  if (changes.length === 0) return '';
  return html`<h2>Changes in progress</h2>${renderTable({
    caption: 'Changes made here that are not over',
    columns: ['state', {head: 'how many', kind: 'number'}, 'the oldest'],
    rows: changes.map(({state, count, oldestAt}) => [
      html`<a href="${linkTo(context, '/changes', {state})}">${renderState(state)}</a>`,
      count,
      renderTime(oldestAt, context),
    ]),
    none: '',
  })}`;
}

function renderNextSweeps({next}: OverviewStory, context: PageContext): SafeHtml {
  const hasSeveral = context.seen.length > 1;
  return renderTable({
    caption: 'Sweeps that come round next',
    columns: [...(hasSeveral ? ['account'] : []), 'sweep', 'due', 'every'],
    rows: next.map(({account, name, nextDueAt, everyMs}) => [
      ...(hasSeveral ? [account] : []),
      name,
      renderTime(nextDueAt, context),
      formatDuration(everyMs),
    ]),
    none: 'Nothing is planned: no account is active.',
  });
}

const dayCount = 30;
const dayMs = 86_400_000;
/** Thirty squares for each stream: the verdict of the last full sweep that ended on each day. */
function renderNights({nights, streams, now}: OverviewStory, context: PageContext): SafeHtml {
  const days = listDays(now, context.timeZone);
  const rows = streams.map(({account, stream}) => {
    const accountId = context.seen.find(({name}) => name === account)?.accountId;
    const streamNights = nights.filter(
      (night) => night.stream === stream && night.accountId === accountId,
    );
    const squares = days.map((day) => renderDay(day, streamNights, context));
    return html`<div><span>${nameStream(
      {account, stream},
      context,
    )}</span><ol>${squares}</ol></div>`;
  });
  const dayLabels = [days[0], days[14], days.at(-1)].map(
    (day) => html`<span>${day?.slice(5)}</span>`,
  );
  return html`<div class="card nights">${rows}
    <div aria-hidden="true"><span></span><p class="days">${dayLabels}</p></div></div>
<p class="quiet small">The newest day is on the right. A plain green square: certified;
  ! uncertified; ✕ failed or stopped; grey: no full sweep ended.</p>`;
}

function renderScreenReaderText(text: string): SafeHtml {
  return html`<span class="unseen">${text}</span>`;
}

function renderDay(day: string, nights: readonly Night[], context: PageContext): SafeHtml {
  const night = nights.find((candidate) => candidate.day === day);
  if (night === undefined)
    return html`<li class="night">${renderScreenReaderText(`${day}: none`)}</li>`;
  const {sweepId, state} = night;
  const title = `${day}: ${state}`;
  if (sweepId === null)
    return html`<li class="night ${state}" title="${title}">${renderScreenReaderText(title)}</li>`;
  const sweepUrl = linkTo(context, `/sweeps/${sweepId}`);
  return html`<li><a class="night ${state}" href="${sweepUrl}" title="${title}"></a></li>`;
}

/** The last thirty days by a clock, the oldest first. */
function listDays(now: string, timeZone: string): string[] {
  return Array.from({length: dayCount}, (_, index) => {
    const instant = new Date(Date.parse(now) - (dayCount - 1 - index) * dayMs).toISOString();
    return showMinute(instant, timeZone).slice(0, 10);
  });
}

/** Reads and writes of the last day, as two histograms. */
function renderHours({hours}: OverviewStory, context: PageContext): SafeHtml {
  const names = hours.map(({from}) => showMinute(from, context.timeZone).slice(11));
  return html`<h2>The last day</h2><div class="cards">
    ${renderFigure(
      makeChart(
        'Records read',
        'Records that sweeps read in each hour, and those of them that brought something new.',
        {
          names,
          hours,
          series: [
            ['read', ({read}) => read],
            ['new, changed or deleted', ({changed}) => changed],
          ],
        },
      ),
    )}
    ${renderFigure(
      makeChart('Changes carried', 'Changes made here that came to their end in each hour.', {
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

function makeChart(title: string, sentence: string, {names, hours, series}: Histogram): Chart {
  return {
    form: 'columns',
    title,
    sentence,
    names,
    series: series.map(([name, value]) => ({name, kind: 'bar', values: hours.map(value)})),
  };
}

// The story of the overview: whether all is fine, and what a person must do.

/** The greatest possible age of our copy of a stream, and the age that is allowed. */
interface Freshness {
  readonly account: string;
  readonly accountState: Account['state'];
  readonly stream: string;
  /** When the last certified sweep began; null: never proven. */
  readonly provenAt: string | null;
  /** Live rows when the last full sweep ended that did not fail; null before the first. */
  readonly rows: number | null;
  /** Two intervals of its full sweep: one night may fail. Null if no schedule sweeps it. */
  readonly targetMs: number | null;
  readonly isFresh: boolean;
  /**
   * The freshness that is promised of it during the day, and whether the promise is kept; null if
   * there is none.
   */
  readonly promise: string | null;
  /** When it is swept in full again; null if that is not planned. */
  readonly nextDueAt: string | null;
  /** The state of a full sweep that is in progress or due; null if nothing works on one. */
  readonly underWay: string | null;
}

interface OverviewStory {
  /** By the database's clock. */
  readonly now: string;
  /** `All four streams are fresh; nothing needs you.` */
  readonly sentence: string;
  readonly streams: readonly Freshness[];
  /** The names of accounts that a person paused. */
  readonly paused: readonly string[];
  readonly problems: readonly Problem[];
  /** The titles of the changes among the problems, by number: `Kaja Thornholt: phone number`. */
  readonly titles: Readonly<Record<string, string>>;
  readonly underWay: readonly WorkInProgress[];
  /** Changes made here that have not ended, by state. */
  readonly changes: readonly ChangeCount[];
  readonly hours: readonly Hour[];
  readonly nights: readonly Night[];
  /** The next scheduled sweeps of every account, the soonest first. */
  readonly next: readonly (Schedule & {readonly account: string})[];
}

const nextSweepLimit = 6;
const numberWords = ['no', 'one', 'two', 'three', 'four'];

/**
 * Reads the overview of some accounts, without a count of their rows.
 * @param pool - runs the readings in parallel
 */
async function readOverview(
  pool: pg.Pool,
  accounts: readonly Account[],
  healthInput: HealthInput,
): Promise<OverviewStory> {
  const accountIds = accounts.map(({accountId}) => accountId);
  const [{now, accounts: facts}, installation, underWay, changes, hours, nights] =
    await Promise.all([
      readAccountFacts(pool, accounts),
      readInstallation(pool, healthInput),
      readWorkInProgress(pool, accounts),
      countChanges(pool, accountIds),
      listHours(pool, accountIds),
      listNights(pool, accountIds),
    ]);
  const problems = findProblems(facts, installation, now);
  const titles = await readChangeTitles(pool, problems.map(findChangeId).filter(isId));
  const streams = facts.flatMap((accountFacts) => listFreshness(accountFacts, now));
  const paused = accounts.filter(({state}) => state === 'paused').map(({name}) => name);
  return {
    now,
    sentence: describeOverview(streams, problems, paused),
    streams,
    paused,
    problems,
    titles,
    underWay,
    changes,
    hours,
    nights,
    next: listNextSweeps(facts),
  };
}

function listFreshness(
  {account, streams, schedules, promises}: AccountFacts,
  now: string,
): Freshness[] {
  return allStreams.flatMap(({name}) => {
    const streamFacts = streams.find(({stream}) => stream === name);
    const schedule = schedules.find(({stream, mode}) => stream === name && mode === 'full');
    if (streamFacts === undefined || (streamFacts.provenAt === null && schedule === undefined))
      return [];
    const targetMs = schedule === undefined ? null : 2 * schedule.everyMs;
    const promise = closestPromise(promises.filter(({stream}) => stream === name));
    const ageMs =
      streamFacts.provenAt === null ? null : Date.parse(now) - Date.parse(streamFacts.provenAt);
    const latestSweep = streamFacts.sweeps.find(({mode}) => mode === 'full');
    return {
      account: account.name,
      accountState: account.state,
      stream: name,
      provenAt: streamFacts.provenAt,
      rows: streamFacts.rows,
      targetMs,
      isFresh: ageMs !== null && (targetMs === null || ageMs <= targetMs),
      promise: promise === undefined ? null : describePromise(promise, now),
      nextDueAt: account.state === 'active' ? (schedule?.nextDueAt ?? null) : null,
      underWay:
        account.state === 'active' && latestSweep?.endedAt === null ? latestSweep.state : null,
    };
  });
}

type StreamAge = Pick<Freshness, 'stream' | 'isFresh' | 'provenAt' | 'underWay'>;

/** Whether all is fine, and how much needs a person, in one sentence. */
export function describeOverview(
  streams: readonly StreamAge[],
  problems: readonly unknown[],
  paused: readonly string[] = [],
): string {
  const isFine = paused.length === 0 && !streams.some(isOld);
  const needText =
    problems.length === 0
      ? `nothing ${isFine ? '' : 'else '}needs you`
      : problems.length === 1
        ? 'one thing needs you'
        : `${problems.length} things need you`;
  const pausedText = paused.length === 0 ? '' : `Paused: ${paused.join(', ')}. `;
  return `${pausedText}${describeStreams(streams)}; ${needText}.`;
}

function describeStreams(streams: readonly StreamAge[]): string {
  if (streams.length === 0) return 'Nothing is mirrored yet';
  const listNames = (chosen: readonly StreamAge[]) =>
    [...new Set(chosen.map(({stream}) => stream))].join(', ');
  const parts = [
    ['Not fresh', streams.filter(isOld)],
    ['First sweep in progress', streams.filter(isFirstUnderWay)],
  ] as const;
  const texts = parts.flatMap(([label, chosen]) =>
    chosen.length === 0 ? [] : [`${label}: ${listNames(chosen)}`],
  );
  if (texts.length > 0) return texts.join('; ');
  const count = numberWords[streams.length] ?? String(streams.length);
  return streams.length === 1 ? 'The stream is fresh' : `All ${count} streams are fresh`;
}

function listNextSweeps(facts: readonly AccountFacts[]): OverviewStory['next'] {
  return facts
    .filter(({account}) => account.state === 'active')
    .flatMap(({account, schedules}) =>
      schedules.map((schedule) => ({...schedule, account: account.name})),
    )
    .toSorted((one, other) => (one.nextDueAt < other.nextDueAt ? -1 : 1))
    .slice(0, nextSweepLimit);
}
