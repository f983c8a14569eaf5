// The page of one change: its next step with the decisions about it, its sides, its details and its
// requests: each sent request with its answer, and the one that would be sent.

import {html, type SafeHtml} from '@remix-run/html-template';
import {type Attempt, listNearestChanges} from '../changes/change.ts';
import {findName, readRecordNames, titleChange} from '../changes/change-list.ts';
import {listConflictingFields} from '../changes/next-step.ts';
import {nameState} from '../changes/states.ts';
import {type ChangeInFull, type FieldSides, readChangeInFull} from '../changes/story.ts';
import {describeReason, formatWantedValue, nameChange, nameOutcome} from '../changes/words.ts';
import {formatNumber} from '../core/format.ts';
import {isId, type Tone} from '../core/text.ts';
import {findStream} from '../streams/all.ts';
import {makeNotFound} from './access.ts';
import {renderNextStep} from './change-decisions.ts';
import {hideChangeInFull} from './hide-change.ts';
import {definePage, hidden, linkTo, type PageContext, type PageRequest} from './page.ts';
import {
  renderFacts,
  renderMark,
  renderProse,
  renderState,
  renderTable,
  renderTime,
} from './render.ts';

/** A change, and the present name of its record. */
type NamedChange = ChangeInFull & {readonly name?: string | null};

export const changePage = definePage<NamedChange>({
  path: '/changes/:changeId',
  section: '/changes',
  moving: ['changes', 'accounts'],
  read: readNamedChange,
  title: ({change}) => `Change ${change.changeId}: ${nameChange(change)}`,
  render: (story, context) => html`
    <p class="lead">${renderRecordName(story, context)}${renderOutcome(
      story.change,
    )}${renderProse(describeEnd(story), context)}</p>
    ${renderNextStep(story, context)}
    ${renderSides(story)}
    <h2>Details</h2>
    ${renderDetails(story, context)}
    ${renderRequests(story, context)}`,
  hide: ({name = null, ...story}) => ({
    ...hideChangeInFull(story),
    name: name === null ? null : hidden,
  }),
  elsewhere: ({params: {changeId = ''}}) => ({
    command: `fieldmirror changes show ${changeId}`,
    sql: [
      `SELECT * FROM sync.changes WHERE change_id = ${changeId};`,
      `SELECT * FROM sync.attempts WHERE change_id = ${changeId} ORDER BY attempt_id;`,
      `SELECT * FROM sync.conflicts WHERE change_id = ${changeId} ORDER BY conflict_id;`,
    ].join('\n'),
  }),
});

async function readNamedChange({
  db,
  seen,
  params: {changeId = ''},
}: PageRequest): Promise<NamedChange> {
  if (!isId(changeId)) throw makeNotFound(`change ${JSON.stringify(changeId)}`);
  const story = await readChangeInFull(db, changeId, seen);
  if (story !== null)
    return {...story, name: findName(await readRecordNames(db, [story.change]), story.change)};
  const accountIds = seen.map(({accountId}) => accountId);
  const nearestIds = await listNearestChanges(db, changeId, accountIds);
  throw makeNotFound(
    `change ${changeId}`,
    nearestIds.map((id) => ({href: `/changes/${id}`, label: `Change ${id}`})),
  );
}

function renderRecordName(
  {name = null, change, record}: NamedChange,
  context: PageContext,
): SafeHtml | string {
  if (name === null) return '';
  const fields = Object.keys(change.fields);
  const title = titleChange(name, {operation: change.operation, fields});
  if (record === null) return html`<strong>${title}</strong> `;
  const recordUrl = linkTo(context, `/records/${record.stream}/${record.number}`);
  return html`<strong><a href="${recordUrl}">${title}</a></strong> `;
}

function renderOutcome(change: ChangeInFull['change']): SafeHtml {
  const outcome = nameOutcome(change);
  return renderState(outcome.replace(' ', '_'), outcome);
}

function describeEnd({change, conflicts}: ChangeInFull): string {
  const reason = describeReason({...change, conflictingFields: listConflictingFields(conflicts)});
  return reason === '' ? '' : `: ${reason}`;
}

function renderDetails(story: ChangeInFull, context: PageContext): SafeHtml {
  const {change, account, record, blocker} = story;
  const {requestedBy, application, requestedAt, settledAt, sentAt, externalKey, table, rowId} =
    change;
  return renderFacts([
    ['made by', application === null ? requestedBy : `${requestedBy}, from ${application}`],
    ['requested', renderTime(requestedAt, context)],
    ['sent last', renderTime(sentAt, context)],
    ['settled', renderTime(settledAt, context)],
    ['account', context.seen.length > 1 ? account : null],
    [
      'record',
      record === null
        ? null
        : html`<a href="${linkTo(context, `/records/${record.stream}/${record.number}`)}">${
            findStream(record.stream).item
          } ${record.number}</a>`,
    ],
    ['row', `row ${rowId} of warehouse.${table}`],
    ['external key', externalKey],
    ['batch', change.batch === null ? null : renderFiltered('batch', change.batch, context)],
    [
      'transaction',
      change.transactionId === null
        ? null
        : renderFiltered('transaction', change.transactionId, context),
    ],
    ['takes back', change.undoes === null ? null : renderLinks(change.undoes, context)],
    [
      'waits for',
      blocker === null
        ? null
        : html`${renderLink(blocker.changeId, context)}: ${renderProse(
            nameChange(blocker),
            context,
          )}, ${nameState(blocker.state)}`,
    ],
    ['holds up', renderWaiting(story, context)],
    ['checked whether it arrived', change.checks === 0 ? null : change.checks],
  ]);
}

/** A fact that other changes may share, with a link to them. */
function renderFiltered(
  filter: 'batch' | 'transaction',
  value: string,
  context: PageContext,
): SafeHtml {
  return html`<a href="${linkTo(context, '/changes', {[filter]: value})}">${value}</a>`;
}

function renderWaiting(
  {waiting: {count, first}}: ChangeInFull,
  context: PageContext,
): SafeHtml | null {
  if (count === 0) return null;
  const moreText = count > first.length ? ` and ${formatNumber(count - first.length)} more` : '';
  return html`${renderLinks(first, context)}${moreText}`;
}

function renderLinks(changeIds: readonly string[], context: PageContext): SafeHtml {
  return html`${changeIds.map(
    (id, index) => html`${index === 0 ? '' : ', '}${renderLink(id, context)}`,
  )}`;
}

function renderLink(changeId: string, context: PageContext): SafeHtml {
  return html`<a href="${linkTo(context, `/changes/${changeId}`)}">change ${changeId}</a>`;
}

const sideNames = ['base', 'wanted', 'row', 'service'] as const;

/**
 * Each field with its earlier value, the wanted value, that of the row and that of the service,
 * side by side.
 */
function renderSides({change, sides: fields}: ChangeInFull): SafeHtml {
  return html`<h2>Side by side</h2>
  ${change.operation === 'delete' ? html`<p>The record is to be deleted.</p>` : ''}
  ${renderTable({
    isStacked: true,
    caption: 'The fields of the change, side by side',
    columns: ['field', 'before', 'wanted here', 'row now', 'at the service', 'note'],
    rows: fields.map((field) => [
      html`<code>${field.field}</code>`,
      ...sideNames.map((side) => renderValue(field, side)),
      field.isFought
        ? html`${renderMark('bad', 'conflict')} <small>${field.note}</small>`
        : (field.note ?? ''),
    ]),
    none:
      change.operation === 'delete'
        ? 'No field changes.'
        : 'It wants no field: all are as the service makes them.',
  })}`;
}

/** An unknown value gives an empty cell; an empty value is shown as a word. */
function renderValue(field: FieldSides, side: (typeof sideNames)[number]): SafeHtml | string {
  const value = field[side];
  if (value === undefined) return '';
  return html`<span class="value">${formatWantedValue(value)}</span>`;
}

const outcomes: Readonly<Record<NonNullable<Attempt['outcome']>, readonly [Tone, string]>> = {
  done: ['good', 'done'],
  refused: ['bad', 'refused'],
  'not-sent': ['quiet', 'nothing was written'],
  'in-doubt': ['warning', 'unknown whether it was written'],
};

/** Every sent request with its answer, and the one that would be sent. */
function renderRequests({attempts, change, request}: ChangeInFull, context: PageContext): SafeHtml {
  return html`${request === null ? '' : renderPlanned(request, change)}
  <h2>Requests</h2>
  ${
    attempts.length === 0
      ? html`<p class="none">Nothing was sent.</p>`
      : html`<ol class="story">${attempts.map(
          (attempt) => html`<li>${renderAttempt(attempt, change, context)}</li>`,
        )}</ol>`
  }`;
}

function renderPlanned(
  request: NonNullable<ChangeInFull['request']>,
  {operation}: ChangeInFull['change'],
): SafeHtml {
  if ('problem' in request)
    return html`<h2>Would be sent</h2><p>Nothing can be sent: ${request.problem}</p>`;
  const {method, path, body} = request;
  return html`<h2>Would be sent</h2>
  <pre tabindex="0">${`${method} ${path}`}${body === null ? '' : `\n${body.trimEnd()}`}</pre>
  ${
    operation === 'update'
      ? html`<p class="quiet">Without what the service holds by then: the record is read just
        before.</p>`
      : ''
  }`;
}

function renderAttempt(
  attempt: Attempt,
  {state}: ChangeInFull['change'],
  context: PageContext,
): SafeHtml {
  const {method, path, startedAt, endedAt, outcome, status, answer, request} = attempt;
  const [tone, label] =
    outcome === null
      ? state === 'sending'
        ? (['busy', 'on its way'] as const)
        : (['warning', 'its worker was lost'] as const)
      : outcomes[outcome];
  return html`<div>${renderTime(startedAt, context)}: <code>${method} ${path}</code></div>
  <div>${renderMark(tone, label)}${status === null ? '' : `, answered ${status}`}${describeSeconds(
    startedAt,
    endedAt,
  )}</div>
  ${
    request === null
      ? ''
      : html`<details><summary>The request</summary><pre tabindex="0">${request}</pre></details>`
  }
  ${
    answer === null || answer === ''
      ? ''
      : html`<details open><summary>The answer</summary><pre tabindex="0">${answer}</pre></details>`
  }`;
}

function describeSeconds(startedAt: string, endedAt: string | null): string {
  if (endedAt === null) return '';
  return `, after ${formatNumber((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)} s`;
}
