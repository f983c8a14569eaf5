// The parts that pages are rendered from: tables, marks, times, values of records with their
// origins, forms, filters and charts.

import {html, type SafeHtml} from '@remix-run/html-template';
import {formatNumber, formatRoughly} from '../core/format.ts';
import type {Role} from '../core/names.ts';
import {type Tone, toneOf} from '../core/text.ts';
import {describeWriter, type Writer} from '../explain/record-versions.ts';
import type {Grid} from '../star/boards.ts';
import {type Chart, renderChart} from '../star/chart.ts';
import {allStreams} from '../streams/all.ts';
import {linkTo, may, type PageContext} from './page.ts';

/** A cell. A number is aligned right, with separators of thousands. */
export type Cell = SafeHtml | string | number | null;

export interface TableHead {
  readonly head: string;
  readonly kind?: 'number' | 'code';
  /** True if its cells name the row: on a phone they are shown without the head. */
  readonly isTitle?: boolean;
  /** The address of the page with its rows sorted by this column. */
  readonly to?: string;
  readonly sorted?: 'ascending' | 'descending' | undefined;
}

interface Table {
  /** The content of the table, for screen readers. */
  readonly caption: string;
  readonly columns: readonly (TableHead | string)[];
  readonly rows: readonly (readonly Cell[])[];
  /** The text that is shown if there is no row. */
  readonly none: string;
  /**
   * If true, each row is a card with named cells on a phone; otherwise the table scrolls in its
   * frame.
   */
  readonly isStacked?: boolean;
}

/** A table that is wider than the window scrolls sideways in its own frame. */
export function renderTable({caption, columns, rows, none, isStacked = false}: Table): SafeHtml {
  if (rows.length === 0) return html`<p class="none">${none}</p>`;
  const heads = columns.map(
    (column): TableHead => (typeof column === 'string' ? {head: column} : column),
  );
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table${
    isStacked ? html` class="stacked"` : ''
  }>
<caption class="unseen">${caption}</caption>
<thead><tr>${heads.map(renderHead)}</tr></thead>
<tbody>${rows.map(
    (row) => html`<tr>${row.map((cell, index) => renderCell(cell, heads[index], isStacked))}</tr>`,
  )}</tbody>
</table></div>`;
}

function renderHead({head, kind, to, sorted}: TableHead): SafeHtml {
  // An empty head is rendered as a plain cell.
  if (head === '') return html`<td></td>`;
  const order = sorted === undefined ? '' : html` aria-sort="${sorted}"`;
  const content = to === undefined ? head : html`<a class="sort" href="${to}">${head}</a>`;
  return html`<th scope="col"${classOf(kind)}${order}>${content}</th>`;
}

function renderCell(cell: Cell, column: TableHead | undefined, isStacked: boolean): SafeHtml {
  const name =
    isStacked && column?.isTitle !== true ? html` data-name="${column?.head ?? ''}"` : '';
  if (typeof cell === 'number') return html`<td class="number"${name}>${formatNumber(cell)}</td>`;
  return html`<td${classOf(column?.kind)}${name}>${cell ?? ''}</td>`;
}

function classOf(kind: TableHead['kind']): SafeHtml | string {
  return kind === undefined ? '' : html` class="${kind}"`;
}

/** Facts about one thing: each a word and its value. Facts without a value are left out. */
export function renderFacts(facts: readonly (readonly [word: string, value: Cell])[]): SafeHtml {
  const filledFacts = facts.filter(([, value]) => value !== null && value !== '');
  return html`<dl class="facts">${filledFacts.map(
    ([name, value]) =>
      html`<div><dt>${name}</dt><dd>${
        typeof value === 'number' ? formatNumber(value) : value
      }</dd></div>`,
  )}</dl>`;
}

const recordKinds = allStreams.map(({name, item}) => `${name}|${item}`).join('|');
/** `change 12`, `sweep 3`, `customers 4`, `job 7`, and no count such as `changes 90 days`. */
const mentionPattern = new RegExp(
  `\\b(?:change|sweep|${recordKinds}) [1-9]\\d{0,17}(?![\\d,.]*\\d| (?:days|of|records)\\b)`,
  'gi',
);

/** A sentence in which each change, sweep and record that is named by its number is a link. */
export function renderProse(text: string, context: Pick<PageContext, 'query'>): SafeHtml {
  const mentions = text.match(mentionPattern) ?? [];
  const textsBetween = text.split(mentionPattern);
  return html`${textsBetween.map((before, index) => {
    const mention = mentions[index];
    return mention === undefined
      ? before
      : html`${before}<a href="${linkTo(context, pathOfMention(mention))}">${mention}</a>`;
  })}`;
}

function pathOfMention(mention: string): string {
  const [word = '', number = ''] = mention.toLowerCase().split(' ');
  const stream = allStreams.find(({name, item}) => name === word || item === word);
  return stream === undefined ? `/${word}s/${number}` : `/records/${stream.name}/${number}`;
}

/** A remark below the content of a cell; empty if there is none. */
export function renderSmall(text: string | null): SafeHtml | string {
  return text === null ? '' : html`<small>${text}</small>`;
}

const toneSigns: Readonly<Record<Tone, string>> = {
  good: '✓',
  busy: '…',
  warning: '!',
  bad: '✕',
  quiet: '·',
};

/** A word with a sign, because colour alone is not enough. */
export function renderMark(tone: Tone, word: SafeHtml | string): SafeHtml {
  const sign = html`<span aria-hidden="true">${toneSigns[tone]}</span>`;
  return html`<span class="mark ${tone}">${sign} ${word}</span>`;
}

/** The verdict of a page, visible at once: all is well, or not. */
export function renderBanner(isWell: boolean, sentence: string): SafeHtml {
  const tone = isWell ? 'good' : 'bad';
  const mark = renderMark(tone, isWell ? 'All is well.' : 'Attention needed.');
  return html`<p class="banner ${tone} lead">${mark} ${sentence}</p>`;
}

/**
 * The state of a sweep, a change or an account.
 * @param word - the shown word, if it is not the state itself
 */
export function renderState(state: string, word = state.replace('_', ' ')): SafeHtml {
  return renderMark(toneOf(state), word);
}

const dateFormats = new Map<string, Intl.DateTimeFormat>();

/**
 * `2026-11-24 07:04` by the clock of the page, with how long ago or ahead that is beside it.
 * @param instant - ISO 8601
 */
export function renderTime(
  instant: string | null,
  context: Pick<PageContext, 'timeZone' | 'now'>,
): SafeHtml | string {
  if (instant === null) return '';
  const minute = showMinute(instant, context.timeZone);
  const content = html`${minute} <small>${describeDistance(instant, context.now)}</small>`;
  return html`<time datetime="${cutToMilliseconds(instant)}" title="${instant}">${content}</time>`;
}

/** HTML allows an instant milliseconds, not the microseconds of Postgres. */
const cutToMilliseconds = (instant: string) => instant.replace(/(\.\d{3})\d+/, '$1');

/** How long ago or ahead an instant is, with the instant itself on hover. */
export function renderAge(
  instant: string | null,
  {now}: Pick<PageContext, 'now'>,
): SafeHtml | string {
  if (instant === null) return '';
  const distance = describeDistance(instant, now);
  return html`<time datetime="${cutToMilliseconds(instant)}" title="${instant}">${distance}</time>`;
}

/** `3 h ago`, `in 20 min`: the instant beside it is exact. */
function describeDistance(instant: string, now: string): string {
  const ms = Date.parse(now) - Date.parse(instant);
  return ms >= 0 ? `${formatRoughly(ms)} ago` : `in ${formatRoughly(-ms)}`;
}

/** `2026-11-24 07:04` in a zone. */
export function showMinute(instant: string, timeZone: string): string {
  const format =
    dateFormats.get(timeZone) ??
    new Intl.DateTimeFormat('sv-SE', {timeZone, dateStyle: 'short', timeStyle: 'short'});
  dateFormats.set(timeZone, format);
  return format.format(new Date(instant));
}

interface Form {
  /** The path of the action. */
  readonly to: string;
  /** The role that the action needs; other viewers do not see the form. */
  readonly role: Role;
  readonly label: string;
  /** Fields that the person does not fill in. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** Fields that the person fills in. */
  readonly fields?: SafeHtml;
  /** True for a step that is hard to undo. */
  readonly isGrave?: boolean;
  /** True for a button beside the main one. */
  readonly isPlain?: boolean;
}

/**
 * A form for an action, with one button; empty if the viewer lacks the role. The person returns to
 * the same page.
 */
export function renderForm(context: PageContext, form: Form): SafeHtml | string {
  if (!may(context, form.role)) return '';
  const fixed = {form: context.viewer.formToken, back: context.path, ...form.fixed};
  return html`<form method="post" action="${form.to}" class="action">${Object.entries(fixed).map(
    ([name, value]) => renderHidden(name, value),
  )}${form.fields ?? ''}<button${
    form.isGrave === true ? html` class="grave"` : form.isPlain === true ? html` class="plain"` : ''
  }>${form.label}</button></form>`;
}

/** A form whose state is the address of the page, so that it can be sent to a colleague. */
export function renderFilters(context: PageContext, fields: readonly SafeHtml[]): SafeHtml {
  return html`<form class="filters">
    ${renderChosenAccount(context)}
    ${[...fields]}
    <button>Show</button></form>`;
}

/** The account that was chosen stays chosen when a form of filters is sent. */
export function renderChosenAccount({
  query: {account},
}: Pick<PageContext, 'query'>): SafeHtml | string {
  return account === undefined ? '' : renderHidden('account', account);
}

/** A field of a form that is not shown. */
export function renderHidden(name: string, value: string): SafeHtml {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}

/** An option of a list, chosen or not. */
export function renderOption(value: string, isChosen: boolean, label: SafeHtml | string): SafeHtml {
  return html`<option value="${value}"${isChosen ? html` selected` : ''}>${label}</option>`;
}

/** One of some words, or any. */
export function renderChoice(
  name: string,
  label: string,
  options: readonly string[],
  chosen: string | undefined,
): SafeHtml {
  return html`<label>${label} <select name="${name}"><option value="">any</option>${options.map(
    (option) => renderOption(option, option === chosen, option.replaceAll('_', ' ')),
  )}</select></label>`;
}

/** The SVGs of the last few hundred charts: one takes 40 ms, and most are requested again. */
const cachedCharts = new Map<string, string>();
const mostCachedCharts = 300;

/**
 * A chart with its title, the sentence that describes it, and the table behind it.
 * @param names - those of its table; null if the page has the same rows beside it
 */
export function renderFigure(chart: Chart, names: readonly Cell[] | null = chart.names): SafeHtml {
  const {title, sentence, series} = chart;
  const isAllZero = series.every(({values}) => values.every((value) => (value ?? 0) === 0));
  return html`<figure class="card"><strong>${title}</strong>
    ${
      isAllZero
        ? html`<p class="none">Every value is zero.</p>`
        : html.raw`${renderCachedChart(chart)}`
    }
    <figcaption>${sentence}</figcaption>
    ${names === null ? '' : renderTableOf(chart, names)}</figure>`;
}

function renderTableOf({title, series}: Chart, names: readonly Cell[]): SafeHtml {
  return html`<details><summary>As a table</summary>${renderTable({
    caption: `${title} As a table`,
    columns: ['', ...series.map(({name}) => ({head: name, kind: 'number' as const}))],
    rows: names.map((name, index) => [name, ...series.map(({values}) => values[index] ?? null)]),
    none: 'There is nothing to show.',
  })}</details>`;
}

/** Steps of colour of a grid. */
const shades = 5;

/**
 * An answer as a table of two directions: the larger a value, the darker its cell.
 * @param heads - the names of its rows
 */
export function renderGrid({title, corner, names, rows}: Grid, heads: readonly Cell[]): SafeHtml {
  const largest = Math.max(...rows.flatMap(({values}) => values.map((value) => value ?? 0)));
  const shadeOf = (value: number) => (largest <= 0 ? 0 : Math.ceil((shades * value) / largest));
  return html`<div class="scroll" role="region" aria-label="${title}" tabindex="0">
<table class="grid"><caption class="unseen">${title}</caption>
<thead><tr><th scope="col">${corner}</th>${names.map(
    (name) => html`<th scope="col" class="number">${name}</th>`,
  )}</tr></thead>
<tbody>${rows.map(
    ({values}, index) =>
      html`<tr><th scope="row">${heads[index] ?? ''}</th>${values.map((value) =>
        value === null
          ? html`<td></td>`
          : html`<td class="number shade-${String(shadeOf(value))}">${formatNumber(
              value < 100 ? value : Math.round(value),
            )}</td>`,
      )}</tr>`,
  )}</tbody></table></div>`;
}

/** An SVG of our own chart module, which escapes the texts of the chart. */
function renderCachedChart(chart: Chart): string {
  const key = JSON.stringify(chart);
  const cachedSvg = cachedCharts.get(key);
  if (cachedSvg !== undefined) return cachedSvg;
  const svg = renderChart(chart);
  const [oldest] = cachedCharts.keys();
  if (cachedCharts.size >= mostCachedCharts && oldest !== undefined) cachedCharts.delete(oldest);
  cachedCharts.set(key, svg);
  return svg;
}

/** Characters of a value that a page shows; JSON has all. */
const longestValue = 400;
const instantPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;

/** A value as a person reads it: instants by the clock of the page, nested ones as JSON. */
export function renderValue(
  value: unknown,
  context: Pick<PageContext, 'timeZone'>,
): SafeHtml | string {
  if (value === null || value === undefined || value === '')
    return html`<span class="quiet">empty</span>`;
  if (typeof value === 'string' && instantPattern.test(value)) {
    const minute = showMinute(value, context.timeZone);
    return html`<time datetime="${cutToMilliseconds(value)}">${minute}</time>`;
  }
  if (typeof value === 'string') return renderUnbroken(cutText(value));
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  return html`<code>${cutText(JSON.stringify(value))}</code>`;
}

/** A date or a phone number: it is not broken across lines. */
const unbrokenPattern = /^[\d\s()+-]{9,20}$/;

export function renderUnbroken(text: string): SafeHtml | string {
  return unbrokenPattern.test(text) ? html`<span class="whole">${text}</span>` : text;
}

/**
 * The writer of a version, with a link to its page.
 * @param field - the field in question
 */
export function renderWriter(writer: Writer, field?: string): SafeHtml | string {
  const text = describeWriter(writer, field);
  if (writer.kind === 'sweep') return html`<a href="/sweeps/${writer.sweepId}">${text}</a>`;
  if (writer.kind === 'change') return html`<a href="/changes/${writer.changeId}">${text}</a>`;
  return text;
}

export function renderSince(
  since: string,
  writer: SafeHtml | string,
  context: PageContext,
): SafeHtml {
  const sinceText = `since ${showMinute(since, context.timeZone)}`;
  return html`<span class="whole">${sinceText}</span> <small>${writer}</small>`;
}

function cutText(text: string): string {
  return text.length <= longestValue
    ? text
    : `${text.slice(0, longestValue)}… (${text.length} characters)`;
}
