// One record at any moment, or one of its fields: values, parts and versions, each with where it
// came from.

import {html, type SafeHtml} from '@remix-run/html-template';
import {listReceipts, type Receipt} from '../accounts/forget-customer.ts';
import {capitalise} from '../core/text.ts';
import {type FieldStory, nameEvent, readFieldStory} from '../explain/explain-record.ts';
import {
  hideField,
  hideRecord,
  type RecordStory,
  readRecordStory,
  type ToldPart,
  type ToldParts,
  type ToldValue,
  type ToldVersion,
} from '../explain/record-story.ts';
import {describeLook} from '../explain/record-versions.ts';
import {showMoney} from '../star/report-figures.ts';
import {findStream} from '../streams/all.ts';
import {AccessRefused} from './access.ts';
import {drawReceipts} from './forget-customer-page.ts';
import {type AskedPage, definePage, hidden, type Look, linkTo, may} from './page.ts';
import {findAsked, linkToRecord, pathOfRecord, readMoment, sayElsewhere} from './records-page.ts';
import {
  type Cell,
  drawFacts,
  drawForm,
  drawHidden,
  drawMark,
  drawSince,
  drawState,
  drawTime,
  drawValue,
  drawWriter,
  renderTable,
  showMinute,
  type TableHead,
} from './render.ts';

interface Story {
  readonly record: RecordStory;
  /** The field that is asked for; null: the whole record. */
  readonly field: FieldStory | null;
  /** Those of a customer that was forgotten, the newest first. */
  readonly receipts: readonly Receipt[];
}

export const recordPage = definePage<Story>({
  path: '/records/:stream/:number',
  section: '/records',
  moving: ['changes', 'sweeps'],
  read: readStory,
  title: ({record: {stream, number, rowId}}) => {
    const {item} = findStream(stream);
    const kind = capitalise(item);
    return number === null ? `${kind} without a number, row ${rowId}` : `${kind} ${number}`;
  },
  draw: ({record: story, field, receipts}, look) =>
    html`${drawRecordHead(story, receipts, look)}${
      field === null ? drawRecord(story, look) : drawField(field, story, look)
    }`,
  hide: ({record: story, field, receipts}) => ({
    receipts,
    record: hideRecord(story, hidden),
    field: field === null ? null : hideField(field, findStream(story.stream).table.name, hidden),
  }),
  elsewhere: sayElsewhere,
});

async function readStory(asked: AskedPage): Promise<Story> {
  const {db, query} = asked;
  const found = await findAsked(asked);
  const at = readMoment(query, found);
  const skipped = /^\d{1,6}$/.test(query.older ?? '') ? Number(query.older) : 0;
  const story = await readRecordStory(db, found, {at, skipped});
  const {number, account} = found;
  const isNumbered = story.stream === 'customers' && number !== null;
  const receipts = isNumbered ? await listReceipts(db, {accountId: account.accountId, number}) : [];
  if (query.field === undefined) return {record: story, field: null, receipts};
  const field = await readFieldStory(db, found, query.field).catch((error: unknown) => {
    const ways = [{href: pathOfRecord(story), label: 'The whole record'}];
    const text = (error as Error).message;
    throw new AccessRefused(404, {title: 'No such field', text, ways}, {cause: error});
  });
  return {record: story, field, receipts};
}

/** Fields by which a record is known at first sight, the first first. */
const headFields = [
  ...['status', 'scheduled_on', 'due_on', 'completed_on', 'invoice_date', 'total'],
  ...['balance_remaining', 'phone_number', 'email_address', 'assigned_to'],
];

function drawRecordHead(story: RecordStory, receipts: readonly Receipt[], look: Look): SafeHtml {
  const {name, number, rowId, externalKey, pointedAt, account, values} = story;
  return html`${drawStanding(story, look)}
${drawPast(story, look)}
<div class="card head">
${name === null ? '' : html`<p class="lead"><strong>${name}</strong></p>`}
${drawFacts([
  ...headFields.flatMap((field) =>
    values
      .filter((told) => told.field === field)
      .map((told) => [field.replaceAll('_', ' '), drawAmount(told.value, look)] as const),
  ),
  ['number', number ?? 'none yet'],
  ['row', rowId],
  ['key in your own system', externalKey],
  ['account', look.seen.length > 1 ? account : null],
  ...pointedAt.map(
    (other) =>
      [
        findStream(other.stream).item,
        html`<a href="${linkToRecord(look, {...other, rowId: '', account})}">${other.number} ${
          other.name
        }</a>`,
      ] as const,
  ),
])}
${
  number === null
    ? ''
    : html`<div class="actions">${drawForm(look, {
        to: `${pathOfRecord(story)}/fetch`,
        role: 'operator',
        label: 'Fetch again',
        fixed: {account},
      })}${receipts.length === 0 ? drawWayToForget(story, look) : ''}</div>`
}
</div>
${drawReceipts(receipts, look)}`;
}

function drawWayToForget(story: RecordStory, look: Look): SafeHtml | string {
  if (story.stream !== 'customers' || !may(look, 'admin')) return '';
  const account = look.seen.length > 1 ? {account: story.account} : {};
  const to = linkTo(look, `${pathOfRecord(story)}/forget`, account);
  return html` <a href="${to}">Forget this customer</a>`;
}

function drawStanding(story: RecordStory, look: Look): SafeHtml | string {
  const {deletedSince, evidence, removedAt} = story;
  if (removedAt !== null)
    return html`<p>${drawMark('bad', 'removed')} Its row left the warehouse ${drawTime(
      removedAt,
      look,
    )}.</p>`;
  if (deletedSince === null) return '';
  const words =
    evidence === null
      ? 'No answer of the service is kept for it.'
      : html`Asked for it at ${evidence.askedAt}, the service said ${String(evidence.status)}: “${
          evidence.words
        }”`;
  return html`<p>${drawMark('bad', 'deleted')} Gone at the service, marked ${drawTime(
    deletedSince,
    look,
  )}. ${words}</p>`;
}

function drawRecord(story: RecordStory, look: Look): SafeHtml {
  return html`${drawWanted(story, look)}
${story.isThere ? html`${drawParts(story, look)}${drawValues(story, look)}` : ''}
${drawMoment(story, look)}
${drawEvents(story, look)}`;
}

function drawWanted({wanted}: RecordStory, look: Look): SafeHtml | string {
  if (wanted.length === 0) return '';
  return html`<h2>On its way to the service</h2><ul class="list">${wanted.map(
    ({changeId, operation, state, requestedAt, fields}) =>
      html`<li><a href="/changes/${changeId}">change ${changeId}</a> ${operation} ${drawState(
        state,
      )} ${drawTime(requestedAt, look)}${
        operation === 'update'
          ? html`<ul>${Object.entries(fields).map(
              ([field, value]) => html`<li><code>${field}</code> ${drawValue(value, look)}</li>`,
            )}</ul>`
          : ''
      }</li>`,
  )}</ul>`;
}

/**
 * The way to any past moment: along the versions, or by the clock. Both forms work without a
 * script.
 */
function drawMoment(story: RecordStory, look: Look): SafeHtml {
  const path = pathOfRecord(story);
  const account =
    look.seen.length > 1 ? html`<input type="hidden" name="account" value="${story.account}">` : '';
  const zone = look.accounts.find(({name}) => name === story.account)?.timeZone ?? 'UTC';
  const at = story.at === null ? '' : showMinute(story.at, zone).replace(' ', 'T');
  return html`<h2>At an earlier time</h2>
${drawSlider(story, look, {path, account})}
<form class="filters" action="${path}">${account}
<label>Day and time in ${zone}
<input type="datetime-local" name="at" value="${at}" required></label>
<button class="plain">Show</button></form>`;
}

function drawSlider(
  {moments, version, at}: RecordStory,
  look: Look,
  {path, account}: {readonly path: string; readonly account: SafeHtml | string},
): SafeHtml | string {
  if (moments.length < 2) return '';
  const shown = version === 0 ? 1 : version;
  const since = showMinute(moments[shown - 1] ?? '', look.timeZone);
  const holds = at === null ? ', which holds now' : '';
  const words = `version ${shown} of ${moments.length}, since ${since}${holds}`;
  return html`<form class="filters" action="${path}" hx-get="${path}" hx-trigger="change"
  hx-target="#page" hx-select="#page" hx-swap="outerMorph">${account}
<label>Along its versions: ${words}
<input type="range" name="version" min="1" max="${moments.length}" value="${shown}"
  aria-valuetext="${words}"></label>
<button>Show this version</button></form>`;
}

/** Says clearly that a past moment is shown, and leads back to now. */
function drawPast(story: RecordStory, look: Look): SafeHtml | string {
  const {at, isThere, account} = story;
  if (at === null) return '';
  const when = `${showMinute(at, look.timeZone)} (${at})`;
  const told = isThere
    ? 'This is the record as it stood then; what differs from now is marked.'
    : `There was no row of it in account ${account} then.`;
  const now = linkToRecord(look, story);
  return html`<p class="past"><strong>As of ${when}.</strong> ${told}
<a href="${now}">Back to now</a></p>`;
}

/**
 * The values of a record, each with where it came from: folded, and found by a word of their names.
 * At a past moment they are open, because what differs from now is marked in them.
 */
function drawValues(story: RecordStory, look: Look): SafeHtml {
  const {emptyFields, at} = story;
  const word = look.query.find ?? '';
  const matches = (field: string) => field.includes(word.trim().toLowerCase().replaceAll(' ', '_'));
  const [values, attributes] = [story.values, story.attributes].map((all) =>
    all.filter(({field}) => matches(field)),
  ) as [ToldValue[], ToldValue[]];
  const empty = emptyFields.filter(matches);
  const isOpen = word !== '' || at !== null;
  return html`<h2>Fields</h2>
<form class="filters" action="${pathOfRecord(story)}" role="search" aria-label="Find a field">
${Object.entries(look.query)
  .filter(([name]) => name !== 'find')
  .map(([name, value]) => drawHidden(name, value))}
<label>Find a field <input type="search" name="find" value="${word}" placeholder="phone"></label>
<button class="plain">Show</button>
</form>
<details${isOpen ? html` open` : ''}><summary>${String(values.length)} fields with a value${
    word === '' ? '' : ` that have “${word}” in their names`
  }, each with its origin</summary>
${drawTold('Values of the record', values, {story, look})}
${empty.length === 0 ? '' : html`<p class="quiet">Empty: ${empty.join(', ')}</p>`}
${
  attributes.length === 0
    ? ''
    : html`<details${isOpen ? html` open` : ''}><summary>${String(
        attributes.length,
      )} more fields that no column takes</summary>
${drawTold('Fields that no column takes', attributes, {story, look})}</details>`
}</details>`;
}

function drawTold(
  caption: string,
  values: readonly ToldValue[],
  {story, look}: {readonly story: RecordStory; readonly look: Look},
): SafeHtml {
  return renderTable({
    isStacked: true,
    caption,
    columns: ['field', 'value', 'origin'],
    rows: values.map((told) => [
      html`<a href="${linkToRecord(look, story, {field: told.field})}">${told.field}</a>${
        told.promotedAs === null ? '' : html` <small>in mart: ${told.promotedAs}</small>`
      }`,
      html`${drawValue(told.value, look)}${
        'now' in told
          ? html` <small>${drawMark('warning', 'now:')} ${drawValue(told.now, look)}</small>`
          : ''
      }`,
      drawSince(told.since, drawWriter(told.writer, told.field), look),
    ]),
    none: 'It has no values.',
  });
}

/** What hangs on a record, kind by kind. */
function drawParts(story: RecordStory, look: Look): SafeHtml {
  return html`${story.parts.map(
    (parts) => html`<h2>${titleOfParts(parts)}</h2>
${renderTable({
  caption: titleOfParts(parts),
  columns: [...parts.columns.map((column) => headOf(parts, column)), 'origin'],
  rows: parts.rows.map((part) => [
    ...parts.columns.map((column, at) =>
      drawCell(parts, part, {story, look, column, isFirst: at === 0}),
    ),
    drawOrigin(part, look),
  ]),
  none: 'There was none.',
})}${parts.hasMore ? html`<p class="quiet">There are more in warehouse.${parts.table}.</p>` : ''}${
  parts.laterCount === 0
    ? ''
    : html`<p>${drawMark('warning', `${parts.laterCount} came later`)}</p>`
}`,
  )}`;
}

interface CellPlace {
  readonly story: RecordStory;
  readonly look: Look;
  readonly column: string;
  readonly isFirst: boolean;
}

/** A column of numbers with a fraction is set to the right. */
function headOf({rows}: ToldParts, column: string): TableHead {
  const isAmount = rows.some(({fields}) => isDecimal(fields[column]));
  return {head: column.replaceAll('_', ' '), ...(isAmount ? {kind: 'number' as const} : {})};
}

function isDecimal(value: unknown): value is string {
  return typeof value === 'string' && /^-?\d{1,15}\.\d{1,2}$/.test(value);
}

/** `1,646.29` of a decimal number; any other value as it is. */
function drawAmount(value: unknown, look: Look): SafeHtml | string {
  return isDecimal(value) ? showMoney(value) : drawValue(value, look);
}

/** The first cell and the name lead to the part's own page, where it has one. */
function drawCell(
  {stream, key}: ToldParts,
  part: ToldPart,
  {story, look, column, isFirst}: CellPlace,
): Cell {
  const value = part.fields[column];
  const number = part.fields[key];
  if (column === 'employee_number' && stream === null && typeof value === 'string')
    return html`<a href="${linkTo(look, `/records/employees/${value}`)}">${value}</a>`;
  const isNamed = isFirst || column === 'name';
  if (!isNamed || stream === null || (typeof number !== 'string' && number !== null))
    return drawAmount(value, look);
  const {account} = story;
  const to = linkToRecord(look, {stream, number, rowId: part.rowId, account});
  return html`<a href="${to}">${
    isFirst && number === null ? `row ${part.rowId}` : drawValue(value, look)
  }</a>`;
}

function drawOrigin(part: ToldPart, look: Look): SafeHtml {
  const {isDeleted, differs, since} = part;
  const mark = isDeleted
    ? drawMark('quiet', 'deleted')
    : differs === null
      ? ''
      : drawMark('warning', differs);
  return html`${mark} ${drawSince(since, drawWriterOf(part), look)}`;
}

function drawWriterOf({sweepId, changeId, writtenBy}: ToldPart): SafeHtml | string {
  if (writtenBy !== null) return `an edit by ${writtenBy}`;
  if (sweepId !== null) return html`<a href="/sweeps/${sweepId}">sweep ${sweepId}</a>`;
  if (changeId !== null) return html`<a href="/changes/${changeId}">change ${changeId}</a>`;
  return 'not noted by whom';
}

function titleOfParts({table}: ToldParts): string {
  return capitalise(table.replace('_', ' '));
}

/** Fields that one version shows; the rest is in history. */
const mostChanges = 30;

/** Every version, with what it changed, the newest first. */
function drawEvents(story: RecordStory, look: Look): SafeHtml {
  const {events, olderFrom} = story;
  return html`<h2>Versions</h2>
<ol class="story">${events.map((event) => html`<li>${drawEvent(event, {story, look})}</li>`)}</ol>
${
  olderFrom === null
    ? ''
    : html`<p><a href="${linkToRecord(look, story, {
        older: String(olderFrom),
      })}">Older versions</a></p>`
}`;
}

function drawEvent(
  {at, what, writer, changes, evidence}: ToldVersion,
  {story, look}: {readonly story: RecordStory; readonly look: Look},
): SafeHtml {
  const told = what === 'appeared' ? [] : changes.slice(0, mostChanges);
  const name = nameEvent(what, changes.length);
  return html`<a href="${linkToRecord(look, story, {at})}">${drawTime(at, look)}</a> <strong>${
    name
  }</strong> by ${drawWriter(writer)}
${
  evidence === null
    ? ''
    : html`<p>Asked for at ${evidence.askedAt}, the service said ${String(evidence.status)}: ${
        evidence.words
      }</p>`
}
${
  told.length === 0
    ? ''
    : html`<ul>${told.map(
        ({field, from, to}) =>
          html`<li><code>${field}</code> ${drawValue(from, look)} → ${drawValue(to, look)}</li>`,
      )}</ul>`
}${
  told.length < changes.length && what !== 'appeared'
    ? html`<p class="quiet">and ${String(changes.length - told.length)} more fields</p>`
    : ''
}`;
}

/**
 * The whole story of one value: since when it holds, who brought it, whether the service is known
 * to hold it, what was before.
 */
function drawField(told: FieldStory, story: RecordStory, look: Look): SafeHtml {
  return html`<p><a href="${linkToRecord(look, story)}">The whole record</a></p>
<h2>${told.field}</h2>
${drawFacts([
  ['value', drawValue(told.value, look)],
  ['written by', drawWriter(told.writer, told.field)],
  ['since', drawTime(told.since, look)],
  ['until the row was removed', drawTime(told.removedAt, look)],
  ['on its way', drawWantedValue(told, look)],
  ['last known to be true', drawLastKnown(told, look)],
  ['next look', drawNextLook(told, look)],
])}
<h2>Earlier values</h2>
${renderTable({
  caption: `Earlier values of ${told.field}`,
  columns: ['from', 'to', 'value', 'written by'],
  rows: told.earlier.map(({from, to, value, isDeleted, writer}) => [
    drawTime(from, look),
    drawTime(to, look),
    html`${drawValue(value, look)}${isDeleted ? html` <small>row marked deleted</small>` : ''}`,
    drawWriter(writer, told.field),
  ]),
  none: 'Nothing else was ever here.',
})}`;
}

function drawWantedValue({wanted}: FieldStory, look: Look): SafeHtml | null {
  if (wanted === null) return null;
  const {changeId, operation, state, lastSaid} = wanted;
  const what = operation === 'delete' ? 'to be deleted by' : 'wanted by';
  return html`${what} <a href="/changes/${changeId}">change ${changeId}</a> ${drawState(state)}${
    lastSaid === undefined
      ? ''
      : html` <small>the service last said ${drawValue(lastSaid, look)}</small>`
  }`;
}

function drawLastKnown(story: FieldStory, look: Look): SafeHtml | string {
  const {lastKnownTrue, removedAt, wanted} = story;
  if (removedAt !== null) return 'not known: the row is no longer here';
  if (wanted !== null) return 'not yet: the change is not over';
  if (lastKnownTrue === null)
    return 'never: the service has not said so; the next sweep brings what it says';
  const {at, by} = lastKnownTrue;
  if ('kind' in by)
    return html`${drawTime(at, look)} when it was read${by.kind === 'sweep' ? '' : ' back'}`;
  const sweep = html`<a href="/sweeps/${by.sweepId}">sweep ${by.sweepId}</a>`;
  return html`${drawTime(at, look)} when ${sweep} (${by.mode}, certified) began`;
}

function drawNextLook({nextLooks: [next]}: FieldStory, look: Look): SafeHtml | string {
  if (next === undefined) return 'none is planned';
  return html`${drawTime(next.nextDueAt, look)} ${describeLook(next)}`;
}
