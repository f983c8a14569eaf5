// The overview: what needs a person, how fresh the mirror is, the last nights and the last day; and
// the page of health, with every dependency.

import {html, type SafeHtml} from '@remix-run/html-template';
import type pg from 'pg';
import type {Account} from '../accounts/accounts.ts';
import type {Problem} from '../alerts/alerts.ts';
import {findProblems, type HealthInput, readInstallation} from '../alerts/problems.ts';
import {type ChangeCount, countChanges} from '../changes/change-health.ts';
import {formatDuration, formatNumber, type UnderWay} from '../core/format.ts';
import {type AccountFacts, readAccountFacts} from '../health/account-status.ts';
import {type Hour, listHours, listNights, type Night} from '../health/figures.ts';
import {readUnderWay} from '../health/under-way.ts';
import type {Chart} from '../star/chart.ts';
import {allStreams} from '../streams/all.ts';
import {closestPromise, tellPromise} from '../sweeps/freshness.ts';
import type {Schedule} from '../sweeps/schedules.ts';
import {linkOfProblem} from './alerts-page.ts';
import {drawCause} from './documents.ts';
import {definePage, hidden, type Look, linkTo, type Page} from './page.ts';
import {
  drawFigure,
  drawMark,
  drawState,
  drawTime,
  renderTable,
  showMinute,
  type Tone,
} from './render.ts';
import type {RunCheck, SettingTold} from './services.ts';

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

// The whole installation in five seconds: is it fine, and what must somebody do.

/** How old what we know of a stream can be at worst, against how old it may become. */
export interface Freshness {
  readonly account: string;
  readonly stream: string;
  /** When the last certified sweep began; null: never proven. */
  readonly provenAt: string | null;
  /** Two intervals of its full sweep: one night may fail. Null where no schedule sweeps it. */
  readonly targetMs: number | null;
  readonly isFresh: boolean;
  /**
   * The freshness that is promised of it during the day, and whether that is kept; null where none
   * is.
   */
  readonly promise: string | null;
  /** When it is swept in full again; null where that is not planned. */
  readonly nextDueAt: string | null;
  /** Whether a full sweep is under way or due. */
  readonly isUnderWay: boolean;
}

interface OverviewStory {
  /** By the database's clock. */
  readonly now: string;
  /** `All four streams are fresh; nothing needs you.` */
  readonly sentence: string;
  readonly streams: readonly Freshness[];
  readonly problems: readonly Problem[];
  readonly underWay: readonly UnderWay[];
  /** Changes made here that are not over, by state. */
  readonly changes: readonly ChangeCount[];
  readonly hours: readonly Hour[];
  readonly nights: readonly Night[];
  /** What comes round next, of every account, the soonest first. */
  readonly next: readonly (Schedule & {readonly account: string})[];
}

const shownNext = 6;
const numbers = ['no', 'one', 'two', 'three', 'four'];

/**
 * Reads the overview of some accounts, without a count of their rows.
 * @param pool - its readings wait for each other nowhere, and are made side by side
 */
async function readOverview(
  pool: pg.Pool,
  accounts: readonly Account[],
  healthInput: HealthInput,
): Promise<OverviewStory> {
  const ids = accounts.map(({accountId}) => accountId);
  const [{now, accounts: facts}, installation, underWay, changes, hours, nights] =
    await Promise.all([
      readAccountFacts(pool, accounts),
      readInstallation(pool, healthInput),
      readUnderWay(pool, accounts),
      countChanges(pool, ids),
      listHours(pool, ids),
      listNights(pool, ids),
    ]);
  const problems = findProblems(facts, installation, now);
  const streams = facts.flatMap((each) => tellFreshness(each, now));
  return {
    now,
    sentence: tellOverview(streams, problems),
    streams,
    problems,
    underWay,
    changes,
    hours,
    nights,
    next: listNext(facts),
  };
}

function tellFreshness(
  {account, streams, schedules, promises}: AccountFacts,
  now: string,
): Freshness[] {
  return allStreams.flatMap(({name}) => {
    const held = streams.find(({stream}) => stream === name);
    const schedule = schedules.find(({stream, mode}) => stream === name && mode === 'full');
    if (held === undefined || (held.provenAt === null && schedule === undefined)) return [];
    const targetMs = schedule === undefined ? null : 2 * schedule.everyMs;
    const promise = closestPromise(promises.filter(({stream}) => stream === name));
    const ageMs = held.provenAt === null ? null : Date.parse(now) - Date.parse(held.provenAt);
    const latest = held.sweeps.find(({mode}) => mode === 'full');
    return {
      account: account.name,
      stream: name,
      provenAt: held.provenAt,
      targetMs,
      isFresh: ageMs !== null && (targetMs === null || ageMs <= targetMs),
      promise: promise === undefined ? null : tellPromise(promise, now),
      nextDueAt: account.state === 'active' ? (schedule?.nextDueAt ?? null) : null,
      isUnderWay: latest !== undefined && latest.endedAt === null,
    };
  });
}

/** Whether all is fine, and how much needs a person, in one sentence. */
export function tellOverview(
  streams: readonly Pick<Freshness, 'isFresh' | 'stream'>[],
  problems: readonly unknown[],
): string {
  const need =
    problems.length === 0
      ? 'nothing needs you'
      : problems.length === 1
        ? 'one thing needs you'
        : `${problems.length} things need you`;
  return `${tellStreams(streams)}; ${need}.`;
}

function tellStreams(streams: readonly Pick<Freshness, 'isFresh' | 'stream'>[]): string {
  if (streams.length === 0) return 'Nothing is mirrored yet';
  const old = [...new Set(streams.filter(({isFresh}) => !isFresh).map(({stream}) => stream))];
  const count = numbers[streams.length] ?? String(streams.length);
  if (old.length === 0)
    return streams.length === 1 ? 'The stream is fresh' : `All ${count} streams are fresh`;
  return `Not fresh: ${old.join(', ')}`;
}

function listNext(facts: readonly AccountFacts[]): OverviewStory['next'] {
  return facts
    .filter(({account}) => account.state === 'active')
    .flatMap(({account, schedules}) =>
      schedules.map((schedule) => ({...schedule, account: account.name})),
    )
    .toSorted((one, other) => (one.nextDueAt < other.nextDueAt ? -1 : 1))
    .slice(0, shownNext);
}

// Every dependency, checked when the page is read, and every setting in force.

interface Story {
  /**
   * Those of the accounts that the viewer sees; to who sees every account, those of the
   * installation as well.
   */
  readonly checks: readonly RunCheck[];
  /** Null for somebody who is bound to an account: settings name the others, too. */
  readonly settings: readonly SettingTold[] | null;
}

const tones: Readonly<Record<RunCheck['state'], Tone>> = {
  good: 'good',
  warning: 'warning',
  bad: 'bad',
};

export const health: Page = definePage<Story>({
  path: '/health',
  section: '/health',
  moving: [],
  read: async ({doings, seen, seesAll}) => ({
    checks: (await doings.examine()).filter(
      ({account}) => seesAll || seen.some(({name}) => name === account),
    ),
    settings: seesAll ? await doings.listSettings() : null,
  }),
  title: () => 'Health',
  draw: ({checks, settings}) => html`
    <p class="lead">${summarise(checks)}</p>
    ${drawChecks(checks)}
    <h2>Settings in force</h2>
    ${
      settings === null
        ? html`<p>Settings, and checks of the whole installation, are shown to those who see every account.</p>`
        : drawSettings(settings)
    }`,
  hide: ({checks, settings}) => ({
    checks,
    settings:
      settings?.map((setting) => (isMailbox(setting) ? {...setting, value: hidden} : setting)) ??
      null,
  }),
  elsewhere: () => ({
    command: 'fieldmirror doctor',
    sql: 'SELECT * FROM sync.workers ORDER BY seen_at DESC;',
  }),
});

/** The address of a rule by e-mail is a person's. */
function isMailbox({name}: SettingTold): boolean {
  return /^alerts \/ \S+ \/ to$/.test(name);
}

function summarise(checks: readonly RunCheck[]): string {
  const flawed = checks.filter(({state}) => state !== 'good').length;
  if (flawed === 0) return 'Everything answers as it should.';
  return `${flawed} of ${checks.length} ${flawed === 1 ? 'needs' : 'need'} a look.`;
}

function drawChecks(checks: readonly RunCheck[]): SafeHtml {
  return renderTable({
    caption: 'Every dependency, checked just now',
    columns: ['verdict', 'checked', 'found'],
    rows: checks.map(({what, state, found}) => [drawMark(tones[state], state), what, found]),
    none: 'Nothing was checked.',
  });
}

/** A page stays under 150 kB. */
const mostRows = 300;

/** The settings that somebody has set, and those at their defaults folded away. */
function drawSettings(settings: readonly SettingTold[]): SafeHtml {
  const set = settings.filter(({source}) => source !== 'default');
  const defaults = settings.filter(({source}) => source === 'default');
  const none = 'None was set: all are at their defaults.';
  return html`${drawRows('Settings that were set, and by what', set, none)}
    <details><summary>${formatNumber(defaults.length)} at their defaults</summary>${drawRows(
      'Settings at their defaults',
      defaults,
      'None.',
    )}</details>`;
}

function drawRows(caption: string, settings: readonly SettingTold[], none: string): SafeHtml {
  const left = settings.length - mostRows;
  return html`${renderTable({
    caption,
    columns: ['setting', {head: 'value', kind: 'code'}, 'from'],
    rows: settings
      .slice(0, mostRows)
      .map(({name, value, source, file}) => [
        name,
        html`<span class="value">${value}</span>`,
        file ?? words[source],
      ]),
    none,
  })}${left > 0 ? html`<p class="quiet">and ${formatNumber(left)} more; as JSON has all</p>` : ''}`;
}

const words: Readonly<Record<SettingTold['source'], string>> = {
  environment: 'the environment of this process',
  file: 'a file',
  default: 'the default',
  warehouse: 'the warehouse: a verb, a file, or SQL',
};
