// One record at any moment, or one of its fields: values, parts and versions, each with its origin.

import {html, type SafeHtml} from '@remix-run/html-template';
import {listReceipts, type Receipt} from '../accounts/forget-customer.ts';
import {capitalise} from '../core/text.ts';
import {type FieldStory, nameEvent, readFieldStory} from '../explain/explain-record.ts';
import {
  type ExplainedPart,
  type ExplainedParts,
  type ExplainedValue,
  type ExplainedVersion,
  hideField,
  hideRecord,
  type RecordStory,
  readRecordStory,
} from '../explain/record-story.ts';
import {describeRead} from '../explain/record-versions.ts';
import {showMoney} from '../star/report-figures.ts';
import {findStream} from '../streams/all.ts';
import {AccessRefused} from './access.ts';
import {renderReceipts} from './forget-customer-page.ts';
import {definePage, hidden, linkTo, may, type PageContext, type PageRequest} from './page.ts';
import {
  describeRecordElsewhere,
  findRequestedRecord,
  linkToRecord,
  pathOfRecord,
  readMoment,
  renderMomentForms,
  renderPastNotice,
} from './records-page.ts';
import {
  type Cell,
  renderFacts,
  renderForm,
  renderHidden,
  renderMark,
  renderSince,
  renderState,
  renderTable,
  renderTime,
  renderValue,
  renderWriter,
  type TableHead,
} from './render.ts';

interface Story {
  readonly record: RecordStory;
  /** The requested field; null: the whole record. */
  readonly field: FieldStory | null;
  /** The receipts of a forgotten customer, the newest first. */
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
  render: ({record: story, field, receipts}, context) =>
    html`${renderRecordHead(story, receipts, context)}${
      field === null ? renderRecord(story, context) : renderField(field, story, context)
    }`,
  hide: ({record: story, field, receipts}) => ({
    receipts,
    record: hideRecord(story, hidden),
    field: field === null ? null : hideField(field, findStream(story.stream).table.name, hidden),
  }),
  elsewhere: describeRecordElsewhere,
});

async function readStory(request: PageRequest): Promise<Story> {
  const {db, query} = request;
  const foundRecord = await findRequestedRecord(request);
  const moment = readMoment(query, foundRecord);
  const skipped = /^\d{1,6}$/.test(query.older ?? '') ? Number(query.older) : 0;
  const story = await readRecordStory(db, foundRecord, {at: moment, skipped});
  const {number, account} = foundRecord;
  const isNumbered = story.stream === 'customers' && number !== null;
  const receipts = isNumbered ? await listReceipts(db, {accountId: account.accountId, number}) : [];
  if (query.field === undefined) return {record: story, field: null, receipts};
  const field = await readFieldStory(db, foundRecord, query.field).catch((error: unknown) => {
    const links = [{href: pathOfRecord(story), label: 'The whole record'}];
    const text = (error as Error).message;
    throw new AccessRefused(404, {title: 'No such field', text, ways: links}, {cause: error});
  });
  return {record: story, field, receipts};
}

/** The fields that identify a record at first sight, the most important first. */
const headFields = [
  ...['status', 'scheduled_on', 'due_on', 'completed_on', 'invoice_date', 'total'],
  ...['balance_remaining', 'phone_number', 'email_address', 'assigned_to'],
];

function renderRecordHead(
  story: RecordStory,
  receipts: readonly Receipt[],
  context: PageContext,
): SafeHtml {
  const {name, number, rowId, externalKey, pointedAt, account, values} = story;
  return html`${renderDeletion(story, context)}
${renderPastNotice(story, context)}
<div class="card head">
${name === null ? '' : html`<p class="lead"><strong>${name}</strong></p>`}
${renderFacts([
  ...headFields.flatMap((field) =>
    values
      .filter((entry) => entry.field === field)
      .map((entry) => [field.replaceAll('_', ' '), renderAmount(entry.value, context)] as const),
  ),
  ['number', number ?? 'none yet'],
  ['row', rowId],
  ['key in your own system', externalKey],
  ['account', context.seen.length > 1 ? account : null],
  ...pointedAt.map(
    (target) =>
      [
        findStream(target.stream).item,
        html`<a href="${linkToRecord(context, {...target, rowId: '', account})}">${target.number} ${
          target.name
        }</a>`,
      ] as const,
  ),
])}
${
  number === null
    ? ''
    : html`<div class="actions">${renderForm(context, {
        to: `${pathOfRecord(story)}/fetch`,
        role: 'operator',
        label: 'Fetch again',
        fixed: {account},
      })}${receipts.length === 0 ? renderForgetLink(story, context) : ''}</div>`
}
</div>
${renderReceipts(receipts, context)}`;
}

function renderForgetLink(story: RecordStory, context: PageContext): SafeHtml | string {
  if (story.stream !== 'customers' || !may(context, 'admin')) return '';
  const account = context.seen.length > 1 ? {account: story.account} : {};
  const url = linkTo(context, `${pathOfRecord(story)}/forget`, account);
  return html` <a href="${url}">Forget this customer</a>`;
}

function renderDeletion(story: RecordStory, context: PageContext): SafeHtml | string {
  const {deletedSince, evidence, removedAt} = story;
  if (removedAt !== null)
    return html`<p>${renderMark('bad', 'removed')} Its row left the warehouse ${renderTime(
      removedAt,
      context,
    )}.</p>`;
  if (deletedSince === null) return '';
  const evidenceText =
    evidence === null
      ? 'No answer of the service is kept for it.'
      : html`Requested at ${evidence.requestedAt}, the service said ${String(
          evidence.status,
        )}: “${evidence.message}”`;
  return html`<p>${renderMark('bad', 'deleted')} Deleted at the service, marked ${renderTime(
    deletedSince,
    context,
  )}. ${evidenceText}</p>`;
}

function renderRecord(story: RecordStory, context: PageContext): SafeHtml {
  return html`${renderOpenChanges(story, context)}
${story.isThere ? html`${renderParts(story, context)}${renderValues(story, context)}` : ''}
${renderMomentForms(story, context)}
${renderEvents(story, context)}`;
}

function renderOpenChanges(
  {wanted: openChanges}: RecordStory,
  context: PageContext,
): SafeHtml | string {
  if (openChanges.length === 0) return '';
  return html`<h2>On its way to the service</h2><ul class="list">${openChanges.map(
    ({changeId, operation, state, requestedAt, fields}) =>
      html`<li><a href="/changes/${changeId}">change ${changeId}</a> ${operation} ${renderState(
        state,
      )} ${renderTime(requestedAt, context)}${
        operation === 'update'
          ? html`<ul>${Object.entries(fields).map(
              ([field, value]) =>
                html`<li><code>${field}</code> ${renderValue(value, context)}</li>`,
            )}</ul>`
          : ''
      }</li>`,
  )}</ul>`;
}

/**
 * The values of a record, each with its origin. They are folded, and a person can search their
 * names. At a past moment they are open, because differences from now are marked in them.
 */
function renderValues(story: RecordStory, context: PageContext): SafeHtml {
  const {emptyFields, at} = story;
  const filter = context.query.find ?? '';
  const matches = (field: string) =>
    field.includes(filter.trim().toLowerCase().replaceAll(' ', '_'));
  const [values, attributes] = [story.values, story.attributes].map((fields) =>
    fields.filter(({field}) => matches(field)),
  ) as [ExplainedValue[], ExplainedValue[]];
  const empty = emptyFields.filter(matches);
  const isOpen = filter !== '' || at !== null;
  return html`<h2>Fields</h2>
<form class="filters" action="${pathOfRecord(story)}" role="search" aria-label="Find a field">
${Object.entries(context.query)
  .filter(([name]) => name !== 'find')
  .map(([name, value]) => renderHidden(name, value))}
<label>Find a field <input type="search" name="find" value="${filter}" placeholder="phone"></label>
<button class="plain">Show</button>
</form>
<details${isOpen ? html` open` : ''}><summary>${String(values.length)} fields with a value${
    filter === '' ? '' : ` that have “${filter}” in their names`
  }, each with its origin</summary>
${renderExplainedValues('Values of the record', values, {story, context})}
${empty.length === 0 ? '' : html`<p class="quiet">Empty: ${empty.join(', ')}</p>`}
${
  attributes.length === 0
    ? ''
    : html`<details${isOpen ? html` open` : ''}><summary>${String(
        attributes.length,
      )} more fields that no column takes</summary>
${renderExplainedValues('Fields that no column takes', attributes, {story, context})}</details>`
}</details>`;
}

function renderExplainedValues(
  caption: string,
  values: readonly ExplainedValue[],
  {story, context}: {readonly story: RecordStory; readonly context: PageContext},
): SafeHtml {
  return renderTable({
    isStacked: true,
    caption,
    columns: ['field', 'value', 'origin'],
    rows: values.map((entry) => [
      html`<a href="${linkToRecord(context, story, {field: entry.field})}">${entry.field}</a>${
        entry.promotedAs === null ? '' : html` <small>in mart: ${entry.promotedAs}</small>`
      }`,
      html`${renderValue(entry.value, context)}${
        'now' in entry
          ? html` <small>${renderMark('warning', 'now:')} ${renderValue(
              entry.now,
              context,
            )}</small>`
          : ''
      }`,
      renderSince(entry.since, renderWriter(entry.writer, entry.field), context),
    ]),
    none: 'It has no values.',
  });
}

/** The parts of a record and the records that point at it, by kind. */
function renderParts(story: RecordStory, context: PageContext): SafeHtml {
  return html`${story.parts.map(
    (parts) => html`<h2>${titleOfParts(parts)}</h2>
${renderTable({
  caption: titleOfParts(parts),
  columns: [...parts.columns.map((column) => headOf(parts, column)), 'origin'],
  rows: parts.rows.map((part) => [
    ...parts.columns.map((column, index) =>
      renderCell(parts, part, {story, context, column, isFirst: index === 0}),
    ),
    renderOrigin(part, context),
  ]),
  none: 'There was none.',
})}${parts.hasMore ? html`<p class="quiet">There are more in warehouse.${parts.table}.</p>` : ''}${
  parts.laterCount === 0
    ? ''
    : html`<p>${renderMark('warning', `${parts.laterCount} came later`)}</p>`
}`,
  )}`;
}

interface CellPlace {
  readonly story: RecordStory;
  readonly context: PageContext;
  readonly column: string;
  readonly isFirst: boolean;
}

/** The head of a column. A column of numbers with a fraction is aligned right. */
function headOf({rows}: ExplainedParts, column: string): TableHead {
  const isAmount = rows.some(({fields}) => isDecimal(fields[column]));
  return {head: column.replaceAll('_', ' '), ...(isAmount ? {kind: 'number' as const} : {})};
}

function isDecimal(value: unknown): value is string {
  return typeof value === 'string' && /^-?\d{1,15}\.\d{1,2}$/.test(value);
}

/** `1,646.29` for a decimal number; any other value is unchanged. */
function renderAmount(value: unknown, context: PageContext): SafeHtml | string {
  return isDecimal(value) ? showMoney(value) : renderValue(value, context);
}

/** A cell of a part. The first cell and the name link to the part's own page, if it has one. */
function renderCell(
  {stream, key}: ExplainedParts,
  part: ExplainedPart,
  {story, context, column, isFirst}: CellPlace,
): Cell {
  const value = part.fields[column];
  const number = part.fields[key];
  if (column === 'employee_number' && stream === null && typeof value === 'string')
    return html`<a href="${linkTo(context, `/records/employees/${value}`)}">${value}</a>`;
  const isNamed = isFirst || column === 'name';
  if (!isNamed || stream === null || (typeof number !== 'string' && number !== null))
    return renderAmount(value, context);
  const {account} = story;
  const url = linkToRecord(context, {stream, number, rowId: part.rowId, account});
  return html`<a href="${url}">${
    isFirst && number === null ? `row ${part.rowId}` : renderValue(value, context)
  }</a>`;
}

function renderOrigin(part: ExplainedPart, context: PageContext): SafeHtml {
  const {isDeleted, differs, since} = part;
  const mark = isDeleted
    ? renderMark('quiet', 'deleted')
    : differs === null
      ? ''
      : renderMark('warning', differs);
  return html`${mark} ${renderSince(since, renderWriterOf(part), context)}`;
}

function renderWriterOf({sweepId, changeId, writtenBy}: ExplainedPart): SafeHtml | string {
  if (writtenBy !== null) return `an edit by ${writtenBy}`;
  if (sweepId !== null) return html`<a href="/sweeps/${sweepId}">sweep ${sweepId}</a>`;
  if (changeId !== null) return html`<a href="/changes/${changeId}">change ${changeId}</a>`;
  return 'not noted by whom';
}

function titleOfParts({table}: ExplainedParts): string {
  return capitalise(table.replace('_', ' '));
}

/** Fields that one version shows; the rest is in history. */
const mostChanges = 30;

/** Every version, with what it changed, the newest first. */
function renderEvents(story: RecordStory, context: PageContext): SafeHtml {
  const {events, olderFrom} = story;
  return html`<h2>Versions</h2>
<ol class="story">${events.map(
    (event) => html`<li>${renderEvent(event, {story, context})}</li>`,
  )}</ol>
${
  olderFrom === null
    ? ''
    : html`<p><a href="${linkToRecord(context, story, {
        older: String(olderFrom),
      })}">Older versions</a></p>`
}`;
}

function renderEvent(
  {at, what, writer, changes, evidence}: ExplainedVersion,
  {story, context}: {readonly story: RecordStory; readonly context: PageContext},
): SafeHtml {
  const shownChanges = what === 'appeared' ? [] : changes.slice(0, mostChanges);
  const name = nameEvent(what, changes.length);
  return html`<a href="${linkToRecord(context, story, {at})}">${renderTime(
    at,
    context,
  )}</a> <strong>${name}</strong> by ${renderWriter(writer)}
${
  evidence === null
    ? ''
    : html`<p>Requested at ${evidence.requestedAt}, the service said ${String(evidence.status)}: ${
        evidence.message
      }</p>`
}
${
  shownChanges.length === 0
    ? ''
    : html`<ul>${shownChanges.map(
        ({field, from, to}) =>
          html`<li><code>${field}</code> ${renderValue(
            from,
            context,
          )} → ${renderValue(to, context)}</li>`,
      )}</ul>`
}${
  shownChanges.length < changes.length && what !== 'appeared'
    ? html`<p class="quiet">and ${String(changes.length - shownChanges.length)} more fields</p>`
    : ''
}`;
}

/**
 * The whole story of one value: since when it holds, its writer, whether the service is known to
 * hold it, and the earlier values.
 */
function renderField(fieldStory: FieldStory, story: RecordStory, context: PageContext): SafeHtml {
  return html`<p><a href="${linkToRecord(context, story)}">The whole record</a></p>
<h2>${fieldStory.field}</h2>
${renderFacts([
  ['value', renderValue(fieldStory.value, context)],
  ['written by', renderWriter(fieldStory.writer, fieldStory.field)],
  ['since', renderTime(fieldStory.since, context)],
  ['until the row was removed', renderTime(fieldStory.removedAt, context)],
  ['on its way', renderOpenChange(fieldStory, context)],
  ['last known to be true', renderLastKnown(fieldStory, context)],
  ['next read', renderNextRead(fieldStory, context)],
])}
<h2>Earlier values</h2>
${renderTable({
  caption: `Earlier values of ${fieldStory.field}`,
  columns: ['from', 'to', 'value', 'written by'],
  rows: fieldStory.earlier.map(({from, to, value, isDeleted, writer}) => [
    renderTime(from, context),
    renderTime(to, context),
    html`${renderValue(value, context)}${
      isDeleted ? html` <small>row marked deleted</small>` : ''
    }`,
    renderWriter(writer, fieldStory.field),
  ]),
  none: 'Nothing else was ever here.',
})}`;
}

function renderOpenChange({wanted: change}: FieldStory, context: PageContext): SafeHtml | null {
  if (change === null) return null;
  const {changeId, operation, state, lastSaid} = change;
  const what = operation === 'delete' ? 'to be deleted by' : 'wanted by';
  return html`${what} <a href="/changes/${changeId}">change ${changeId}</a> ${renderState(state)}${
    lastSaid === undefined
      ? ''
      : html` <small>the service last said ${renderValue(lastSaid, context)}</small>`
  }`;
}

function renderLastKnown(story: FieldStory, context: PageContext): SafeHtml | string {
  const {lastKnownTrue, removedAt, wanted: openChange} = story;
  if (removedAt !== null) return 'not known: the row is no longer here';
  if (openChange !== null) return 'not yet: the change is not over';
  if (lastKnownTrue === null)
    return 'never: the service has not said so; the next sweep brings what it says';
  const {at, by} = lastKnownTrue;
  if ('kind' in by)
    return html`${renderTime(at, context)} when it was read${by.kind === 'sweep' ? '' : ' back'}`;
  const sweep = html`<a href="/sweeps/${by.sweepId}">sweep ${by.sweepId}</a>`;
  return html`${renderTime(at, context)} when ${sweep} (${by.mode}, certified) began`;
}

function renderNextRead({nextReads: [next]}: FieldStory, context: PageContext): SafeHtml | string {
  if (next === undefined) return 'none is planned';
  return html`${renderTime(next.nextDueAt, context)} ${describeRead(next)}`;
}
