// One change: its sides, its requests, its next step, and the decisions about it, each a form. The
// functions of the warehouse refuse a decision that came too late.

import {html, type SafeHtml} from '@remix-run/html-template';
import type pg from 'pg';
import {z} from 'zod';
import {listNearestChanges} from '../changes/change.ts';
import {findName, readRecordNames, titleChange} from '../changes/change-list.ts';
import {
  decideChange,
  type PlainVerb,
  readDecidable,
  resolveFields,
  type Side,
  type Verb,
  verbs,
} from '../changes/decisions.ts';
import {type Command, listConflictingFields} from '../changes/next-step.ts';
import {type ChangeState, nameState} from '../changes/states.ts';
import {type ChangeInFull, type FieldSides, readChangeInFull} from '../changes/story.ts';
import {
  decisionsDo,
  describeDecided,
  describeNextStep,
  describeReason,
  formatWantedValue,
  nameChange,
  nameOutcome,
} from '../changes/words.ts';
import {UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {capitalise, isId} from '../core/text.ts';
import {findStream} from '../streams/all.ts';
import {makeNotFound} from './access.ts';
import {renderRequests} from './change-requests.ts';
import {choices} from './changes-page.ts';
import {hideChangeInFull} from './hide-change.ts';
import {
  type Action,
  defineAction,
  definePage,
  hidden,
  linkTo,
  may,
  type Outcome,
  type PageContext,
  type PageRequest,
  type PostRequest,
} from './page.ts';
import {
  renderFacts,
  renderForm,
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
  const reason = describeReason({...change, fought: listConflictingFields(conflicts)});
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

/** Decisions that are offered whether or not they are the next step. */
const alwaysOfferedVerbs: readonly Verb[] = ['hold', 'cancel'];

/**
 * The next step, and what a person can do: the terminal's commands, as forms if the console has the
 * action.
 */
function renderNextStep(story: ChangeInFull, context: PageContext): SafeHtml {
  const {next, verbs, change} = story;
  const isFieldwise = mayChooseSides(story, context);
  const commands = (next?.commands ?? []).filter(
    ({move}) => !isFieldwise || move === null || !('decision' in move),
  );
  const otherVerbs = verbs.filter(
    (verb) =>
      alwaysOfferedVerbs.includes(verb) &&
      !commands.some(({move}) => move !== null && 'verb' in move && move.verb === verb),
  );
  const moves = [
    ...commands.map((command) => renderMove(command, story, context)),
    ...(may(context, 'operator')
      ? otherVerbs.map((verb) => renderVerb(verb, decisionsDo[verb], {story, context}))
      : []),
    ...(may(context, 'operator') && isUndoable(change) ? [renderUndoLink(change, context)] : []),
  ];
  return html`<h2>What happens next</h2>
  <p>${
    next === null
      ? 'Nothing: the change is settled.'
      : renderProse(toSentence(describeNextStep(next)), context)
  }</p>
  ${isFieldwise ? renderChoiceOfSides(story, context) : ''}
  ${
    moves.length === 0
      ? ''
      : html`<ul class="list moves">${moves.map((move) => html`<li>${move}</li>`)}</ul>`
  }`;
}

/** Whether a person can decide here about each field that both sides changed. */
function mayChooseSides(
  {decisions, fought: conflictingGroups}: ChangeInFull,
  context: PageContext,
): boolean {
  return (
    conflictingGroups.length > 0 && decisions.includes('take service') && may(context, 'operator')
  );
}

function toSentence(text: string): string {
  return `${capitalise(text)}.`;
}

/**
 * Whether a change can be undone. One that is not sent yet can only be given up, and a deleted
 * record cannot be restored.
 */
function isUndoable({state, operation}: ChangeInFull['change']): boolean {
  return state === 'done' && operation !== 'delete';
}

function renderUndoLink({changeId}: ChangeInFull['change'], context: PageContext): SafeHtml {
  const previewUrl = linkTo(context, '/changes/undo', {[`c${changeId}`]: 'on'});
  const explanation = 'shows what would be written to take it back, and does nothing yet';
  return html`<a href="${previewUrl}">Preview the undo</a> ${explanation}`;
}

function renderMove(
  {command, does, move}: Command,
  story: ChangeInFull,
  context: PageContext,
): SafeHtml {
  const rendering = {story, context};
  if (move === null) return html`<code>${command}</code> ${does}`;
  if ('shows' in move) {
    const {shows: changeId} = move;
    return html`<a href="${linkTo(
      context,
      `/changes/${changeId}`,
    )}">Change ${changeId}</a> ${does}`;
  }
  if ('lists' in move) {
    const {lists: state} = move;
    const listUrl = linkTo(context, '/changes', {state});
    return html`<a href="${listUrl}">The changes that are ${state}</a>: ${does}`;
  }
  const isOpen =
    'verb' in move ? story.verbs.includes(move.verb) : story.decisions.includes(move.decision);
  if (!isOpen || !may(context, 'operator')) return html`<code>${command}</code> ${does}`;
  return 'verb' in move
    ? renderVerb(move.verb, does, rendering)
    : renderDecision(move.decision, does, rendering);
}

interface Rendering {
  readonly story: ChangeInFull;
  readonly context: PageContext;
}

function renderVerb(
  verb: PlainVerb,
  does: string,
  {story: {change}, context}: Rendering,
): SafeHtml {
  const form = renderForm(context, {
    to: `/changes/${change.changeId}/${verb}`,
    role: 'operator',
    label: labelOf(verb),
    isGrave: verb === 'cancel',
    isPlain: verb === 'hold',
    ...(verb === 'cancel'
      ? {fields: html`<label>Reason <input name="reason" maxlength="500" size="30"></label>`}
      : {}),
  });
  return html`${form} <span class="quiet">${capitalise(does)}.</span>`;
}

function renderDecision(
  decision: ChangeInFull['decisions'][number],
  does: string,
  {story: {change}, context}: Rendering,
): SafeHtml {
  const actionPath = `/changes/${change.changeId}/resolve`;
  const renderDecisionForm = (label: string, name: string, fields?: SafeHtml) =>
    html`${renderForm(context, {
      ...{to: actionPath, role: 'operator', label, fixed: {decision: name}, isPlain: true},
      ...(fields === undefined ? {} : {fields}),
    })} <span class="quiet">${capitalise(does)}.</span>`;
  switch (decision) {
    case 'take service':
      return renderDecisionForm('Take the service’s side', 'service');
    case 'take warehouse':
      return renderDecisionForm('Take the warehouse’s side', 'warehouse');
    case 'resend':
      return renderDecisionForm('Send again', 'resend');
    case 'adopt NUMBER':
      return renderDecisionForm('Adopt', 'adopt', renderCandidates(change));
  }
}

function renderCandidates({table, result}: ChangeInFull['change']): SafeHtml {
  const candidates = result?.candidates ?? [];
  const list = candidates.length === 0 ? '' : html` list="candidates"`;
  return html`<label>Number of the record in ${table}
    <input name="number" inputmode="numeric" pattern="[1-9][0-9]*" required
      size="12"${list}></label>
  ${
    candidates.length === 0
      ? ''
      : html`<datalist id="candidates">${candidates.map(
          (id) => html`<option value="${id}">`,
        )}</datalist>`
  }`;
}

/**
 * One choice for each field that both sides changed, and one button. Fields that change only
 * together have one choice.
 */
function renderChoiceOfSides(
  {change, fought: conflictingGroups, conflicts}: ChangeInFull,
  context: PageContext,
): SafeHtml {
  const formatValues = (fields: readonly string[], side: 'serviceValue' | 'warehouseValue') =>
    conflicts
      .filter(({field, winner}) => winner === null && fields.includes(field))
      .map((conflict) => formatWantedValue(conflict[side]))
      .join(', ');
  const fields = html`${conflictingGroups.map((group) => {
    const inputName = `side.${group.join('+')}`;
    const warehouseText = html`<span class="value">${formatValues(group, 'warehouseValue')}</span>`;
    const serviceText = html`<span class="value">${formatValues(group, 'serviceValue')}</span>`;
    const legend = group.map((field) => field.replaceAll('_', ' ')).join(', ');
    return html`<fieldset><legend>${legend}</legend>
      <label><input type="radio" name="${inputName}" value="warehouse" required>
        ours, of the warehouse: ${warehouseText}</label>
      <label><input type="radio" name="${inputName}" value="service">
        theirs, of the service: ${serviceText}</label>
    </fieldset>`;
  })}`;
  return html`<div class="card sides">${renderForm(context, {
    to: `/changes/${change.changeId}/resolve`,
    role: 'operator',
    label: conflictingGroups.length === 1 ? 'Decide' : 'Decide each field',
    fixed: {decision: 'fields'},
    fields,
  })}</div>`;
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

const reasonField = z.string().trim().max(500).default('');

/** `changes.hold`, `changes.release` and so on. */
const plainActions = verbs
  .filter((verb) => verb !== 'resolve')
  .map((verb) =>
    defineAction({
      path: `/changes/:changeId/${verb}`,
      name: `changes.${verb}`,
      role: 'operator',
      form: z.object({reason: reasonField}),
      act: async (db, request) => {
        const reason =
          verb === 'cancel' && request.given.reason !== '' ? request.given.reason : null;
        const after = reason === null ? {} : {reason};
        return await decide(db, request, {
          after,
          run: (id) => decideChange(db, id, {verb, given: reason}),
        });
      },
    }),
  );

const resolveAction = defineAction({
  path: '/changes/:changeId/resolve',
  name: 'changes.resolve',
  role: 'operator',
  form: z.looseObject({
    decision: z.enum(['service', 'warehouse', 'resend', 'adopt', 'fields']),
    number: z.string().trim().default(''),
  }),
  act: async (db, request) => {
    const {decision, number} = request.given;
    if (decision === 'fields') {
      const sides = readSides(request.given);
      return await decide(db, request, {after: {sides}, run: (id) => resolveFields(db, id, sides)});
    }
    if (decision === 'adopt' && !isId(number))
      throw new UsageError(`adopt: expected the number of a record, got ${JSON.stringify(number)}`);
    const argument = decision === 'adopt' ? number : decision;
    return await decide(db, request, {
      after: {decision: argument},
      run: (id) => decideChange(db, id, {verb: 'resolve', given: argument}),
    });
  },
});

export const changeActions: readonly Action[] = [...plainActions, resolveAction];

interface DecisionRun {
  /** Further facts for the audit, beside the state. */
  readonly after: object;
  readonly run: (changeId: string) => Promise<ChangeState>;
}

async function decide(
  db: pg.ClientBase,
  {seen, params}: Pick<PostRequest<unknown>, 'seen' | 'params'>,
  {after, run}: DecisionRun,
): Promise<Outcome> {
  const {changeId = ''} = params;
  const accountIds = seen.map(({accountId}) => accountId);
  const isNumber = isId(changeId);
  const [change] = isNumber ? await readDecidable(db, [changeId], accountIds) : [];
  if (change === undefined) throw makeNotFound(`change ${JSON.stringify(changeId)}`);
  const state = await run(changeId);
  const sentence = describeDecided(changeId, state);
  return {
    subject: `change ${changeId}`,
    accountId: change.accountId,
    before: {state: change.state, reason: change.reason},
    after: {state, ...after},
    said: toSentence(sentence),
  };
}

/**
 * `side.name`, or `side.street+city` of fields that change only together.
 * @throws {UsageError} a field without a side
 */
function readSides(formFields: Readonly<Record<string, unknown>>): Record<string, Side> {
  const sides: Record<string, Side> = {};
  for (const [name, side] of Object.entries(formFields)) {
    const [, fieldNames] = /^side\.([\w+]{1,500})$/.exec(name) ?? [];
    if (fieldNames === undefined) continue;
    if (side !== 'service' && side !== 'warehouse')
      throw new UsageError(
        `${fieldNames}: expected service or warehouse, got ${JSON.stringify(side)}`,
      );
    for (const field of fieldNames.split('+')) sides[field] = side;
  }
  return sides;
}

/** The words on the button of a decision. */
function labelOf(verb: PlainVerb): string {
  return choices.find(({name}) => name === verb)?.label ?? verb;
}
