// The next step of a change, and the decisions about it: each is a form, and the action behind it.
// The functions of the warehouse refuse a decision that came too late.

import {html, type SafeHtml} from '@remix-run/html-template';
import type pg from 'pg';
import {z} from 'zod';
import {
  decideChange,
  type PlainVerb,
  readDecidable,
  resolveFields,
  type Side,
  type Verb,
  verbs,
} from '../changes/decisions.ts';
import type {Command} from '../changes/next-step.ts';
import type {ChangeState} from '../changes/states.ts';
import type {ChangeInFull} from '../changes/story.ts';
import {
  decisionsDo,
  describeDecided,
  describeNextStep,
  formatWantedValue,
} from '../changes/words.ts';
import {UsageError} from '../core/errors.ts';
import {capitalise, isId} from '../core/text.ts';
import {makeNotFound} from './access.ts';
import {choices} from './changes-page.ts';
import {
  type Action,
  defineAction,
  linkTo,
  may,
  type Outcome,
  type PageContext,
  type PostRequest,
} from './page.ts';
import {renderForm, renderProse} from './render.ts';

/** Decisions that are offered whether or not they are the next step. */
const alwaysOfferedVerbs: readonly Verb[] = ['hold', 'cancel'];

/**
 * The next step, and what a person can do: the terminal's commands, as forms if the console has the
 * action.
 */
export function renderNextStep(story: ChangeInFull, context: PageContext): SafeHtml {
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
  {decisions, conflictingGroups}: ChangeInFull,
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
      to: actionPath,
      role: 'operator',
      label,
      fixed: {decision: name},
      isPlain: true,
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
  {change, conflictingGroups, conflicts}: ChangeInFull,
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
          verb === 'cancel' && request.fields.reason !== '' ? request.fields.reason : null;
        const after = reason === null ? {} : {reason};
        return await decide(db, request, {
          after,
          run: (id) => decideChange(db, id, {verb, argument: reason}),
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
    const {decision, number} = request.fields;
    if (decision === 'fields') {
      const sides = readSides(request.fields);
      return await decide(db, request, {after: {sides}, run: (id) => resolveFields(db, id, sides)});
    }
    if (decision === 'adopt' && !isId(number))
      throw new UsageError(`adopt: expected the number of a record, got ${JSON.stringify(number)}`);
    const argument = decision === 'adopt' ? number : decision;
    return await decide(db, request, {
      after: {decision: argument},
      run: (id) => decideChange(db, id, {verb: 'resolve', argument}),
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
    message: toSentence(sentence),
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
