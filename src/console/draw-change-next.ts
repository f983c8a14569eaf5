import {html, type SafeHtml} from '@remix-run/html-template';
import type {ChangeInFull} from '../changes/change-in-full.ts';
import type {NextStep} from '../changes/change-next.ts';
import {showWanted} from '../changes/change-words.ts';
import type {Verb} from '../changes/decide-changes.ts';
import {decisionsDo} from '../changes/decision-words.ts';
import {labelOf} from './decide-one-action.ts';
import {drawForm} from './draw-form.ts';
import {type Look, linkTo, may} from './look.ts';

type Command = NextStep['commands'][number];

/** Decisions that a person may want whether or not they are the next step. */
const alwaysOffered: readonly Verb[] = ['hold', 'cancel'];

/**
 * What happens next, and what a person can do: the terminal's commands, as forms where the console
 * has an action.
 */
export function drawNext(story: ChangeInFull, look: Look): SafeHtml {
  const {next, verbs, change} = story;
  const told = next?.commands ?? [];
  const others = verbs.filter(
    (verb) =>
      alwaysOffered.includes(verb) &&
      !told.some(({command}) => command === commandOf(verb, change.changeId)),
  );
  const moves = [
    ...told.map((command) => drawMove(command, story, look)),
    ...(may(look, 'operator')
      ? others.map((verb) => drawVerb(verb, decisionsDo[verb], {story, look}))
      : []),
    ...(may(look, 'operator') && isUndoable(change) ? [drawUndo(change, look)] : []),
  ];
  return html`<h2>What happens next</h2>
  <p>${next === null ? 'Nothing: it is over.' : `${next.text.charAt(0).toUpperCase()}${next.text.slice(1)}.`}</p>
  ${moves.length === 0 ? '' : html`<ul class="list moves">${moves.map((move) => html`<li>${move}</li>`)}</ul>`}
  ${drawFieldByField(story, look)}`;
}

/** A change that is not sent yet is given up; a record that was deleted does not come back. */
function isUndoable({state, operation}: ChangeInFull['change']): boolean {
  return state === 'done' && operation !== 'delete';
}

function drawUndo({changeId}: ChangeInFull['change'], look: Look): SafeHtml {
  const preview = linkTo(look, '/changes/undo', {[`c${changeId}`]: 'on'});
  return html`<a href="${preview}">Preview the undo</a> shows what would be written to take it back, and does nothing yet`;
}

function commandOf(verb: Verb, changeId: string): string {
  return `fieldmirror changes ${verb} ${changeId}`;
}

function drawMove({command, does}: Command, story: ChangeInFull, look: Look): SafeHtml {
  const {verbs, decisions, change} = story;
  const verb = verbs.find((open) => command === commandOf(open, change.changeId));
  if (verb !== undefined && may(look, 'operator')) return drawVerb(verb, does, {story, look});
  const decision = decisions.find(
    (open) => command === `${commandOf('resolve', change.changeId)} --${open}`,
  );
  if (decision !== undefined && may(look, 'operator'))
    return drawDecision(decision, does, {story, look});
  const [, shown] = /^fieldmirror changes show (\d+)$/.exec(command) ?? [];
  if (shown !== undefined)
    return html`<a href="${linkTo(look, `/changes/${shown}`)}">Change ${shown}</a> ${does}`;
  const [, state] = /^fieldmirror changes list --state (\w+)$/.exec(command) ?? [];
  if (state !== undefined)
    return html`<a href="${linkTo(look, '/changes', {state})}">The changes that are ${state}</a>: ${does}`;
  return html`<code>${command}</code> ${does}`;
}

interface Drawn {
  readonly story: ChangeInFull;
  readonly look: Look;
}

function drawVerb(
  verb: Exclude<Verb, 'resolve'>,
  does: string,
  {story: {change}, look}: Drawn,
): SafeHtml {
  const form = drawForm(look, {
    to: `/changes/${change.changeId}/${verb}`,
    role: 'operator',
    label: labelOf(verb),
    isGrave: verb === 'cancel',
    ...(verb === 'cancel'
      ? {fields: html`<label>Reason <input name="reason" maxlength="500" size="30"></label>`}
      : {}),
  });
  return html`${form} ${does}`;
}

function drawDecision(
  decision: ChangeInFull['decisions'][number],
  does: string,
  {story: {change}, look}: Drawn,
): SafeHtml {
  const to = `/changes/${change.changeId}/resolve`;
  const base = {to, role: 'operator'} as const;
  switch (decision) {
    case 'take service':
      return html`${drawForm(look, {...base, label: 'Take the service’s side', fixed: {decision: 'service'}, isGrave: true})} ${does}`;
    case 'take warehouse':
      return html`${drawForm(look, {...base, label: 'Take the warehouse’s side', fixed: {decision: 'warehouse'}, isGrave: true})} ${does}`;
    case 'resend':
      return html`${drawForm(look, {...base, label: 'Send once more', fixed: {decision: 'resend'}, isGrave: true})} ${does}`;
    case 'adopt NUMBER':
      return html`${drawForm(look, {...base, label: 'Adopt', fixed: {decision: 'adopt'}, fields: drawCandidates(change)})} ${does}`;
  }
}

function drawCandidates({table, result}: ChangeInFull['change']): SafeHtml {
  const candidates = result?.candidates ?? [];
  const list = candidates.length === 0 ? '' : html` list="candidates"`;
  return html`<label>Number of the record in ${table} <input name="number" inputmode="numeric" pattern="[1-9][0-9]*" required size="12"${list}></label>
  ${candidates.length === 0 ? '' : html`<datalist id="candidates">${candidates.map((id) => html`<option value="${id}">`)}</datalist>`}`;
}

/**
 * Where several fields were changed on both sides, each may go its own way; those that move as one
 * go together.
 */
function drawFieldByField(
  {change, decisions, fought, conflicts}: ChangeInFull,
  look: Look,
): SafeHtml | string {
  if (fought.length < 2 || !decisions.includes('take service') || !may(look, 'operator')) return '';
  const show = (fields: readonly string[], side: 'serviceValue' | 'warehouseValue') =>
    conflicts
      .filter(({field, winner}) => winner === null && fields.includes(field))
      .map((conflict) => showWanted(conflict.field, conflict[side]))
      .join(', ');
  const fields = html`${fought.map((group) => {
    const name = group.join(', ');
    return html`<fieldset><legend>${name}</legend>
      <label><input type="radio" name="${`side.${group.join('+')}`}" value="service" required> the service’s: <span class="value">${show(group, 'serviceValue')}</span></label>
      <label><input type="radio" name="${`side.${group.join('+')}`}" value="warehouse"> the warehouse’s: <span class="value">${show(group, 'warehouseValue')}</span></label>
    </fieldset>`;
  })}`;
  return html`<h3>Field by field</h3>${drawForm(look, {
    to: `/changes/${change.changeId}/resolve`,
    role: 'operator',
    label: 'Decide each field',
    fixed: {decision: 'fields'},
    fields,
  })}`;
}
