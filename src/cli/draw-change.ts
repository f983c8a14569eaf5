// How `changes show` looks: the story of one change, line by line.

import type {Change} from '../changes/change.ts';
import type {Attempt, FieldConflict} from '../changes/change-log.ts';
import type {PlannedRequest, Unplannable} from '../changes/change-request.ts';
import {tellService} from '../changes/change-sides.ts';
import type {ChangeStory} from '../changes/change-story.ts';
import {
  nameChange,
  nameOutcome,
  nameState,
  showWanted,
  tellReason,
} from '../changes/change-words.ts';
import {seeNumber} from '../core/errors.ts';
import {formatAgo, formatNumber, showSecond} from '../core/format.ts';
import type {ChangeValue} from '../rows/change-values.ts';
import {wrap} from './wrap-text.ts';

const labelWidth = 11;

export function drawChange(story: ChangeStory): string {
  const {change, account, now, blocker, next, request, docs} = story;
  const {changeId, externalKey, requestedAt, requestedBy, application} = change;
  const from = application === null ? '' : `, from ${application}`;
  const key = externalKey === null ? '' : `, external key ${externalKey}`;
  return [
    `change ${changeId} of account ${account}: ${nameChange(change)}`,
    ...part('state', [describeState(change, now)]),
    ...part('made', [
      `${showSecond(requestedAt)} (${formatAgo(requestedAt, now)}) by ${requestedBy}${from}`,
    ]),
    ...part('within', drawBatch(change)),
    ...part('takes back', change.undoes === null ? [] : [`change ${change.undoes.join(', ')}`]),
    ...part('row', [`row ${change.rowId} of warehouse.${change.table}${key}`]),
    ...part('wants', drawFields(change)),
    ...part(
      'waits for',
      blocker === null
        ? []
        : [`change ${blocker.changeId}: ${nameChange(blocker)}, ${nameState(blocker.state)}`],
    ),
    ...part('holds up', drawWaiting(story)),
    ...part(
      'sent',
      story.attempts.flatMap((attempt) => drawAttempt(attempt, change)),
    ),
    ...part('looked', drawLooks(change)),
    ...part(
      'conflict',
      story.conflicts.flatMap((conflict) => drawConflict(conflict, story)),
    ),
    ...part('came back', drawResult(change)),
    ...part('may be', drawCandidates(change)),
    ...part('next', next === null ? [] : [next.text, ...drawCommands(next.commands)]),
    ...(request === null ? [] : drawRequest(request, change)),
    ...(docs === null ? [] : [seeNumber(docs)]),
  ].join('\n');
}

/** The transaction that made it, by name and number. */
function drawBatch({batch, transactionId}: Change): string[] {
  if (transactionId === null) return [];
  return [
    batch === null ? `transaction ${transactionId}` : `${batch}, transaction ${transactionId}`,
  ];
}

/** The request that would be sent, to the byte: none of its lines is broken. */
export function drawPlan(request: PlannedRequest | Unplannable): string[] {
  if ('problem' in request) return [`nothing can be sent: ${request.problem}`];
  const {method, path, body} = request;
  return [`${method} ${path}`, ...(body === null ? [] : body.trimEnd().split('\n'))];
}

function drawRequest(request: PlannedRequest | Unplannable, {operation}: Change): string[] {
  const [head = '', ...document] = drawPlan(request);
  const indent = ' '.repeat(2 + labelWidth);
  const note = 'less what the service holds by then, as a look just before will tell';
  return [
    ...part('would send', [head]),
    ...document.map((line) => indent + line),
    ...(operation === 'update' && !('problem' in request) ? [indent + note] : []),
  ];
}

/** A label, and its lines below each other. Further lines may bring an indent of their own. */
function part(label: string, lines: readonly string[]): string[] {
  const indent = ' '.repeat(2 + labelWidth);
  return lines.map((line, at) => {
    const text = wrap(indent + line);
    return at === 0 ? `  ${label.padEnd(labelWidth)}${text.slice(indent.length)}` : text;
  });
}

function describeState(change: Change, now: string): string {
  const {settledAt} = change;
  const reason = tellReason(change);
  const since =
    settledAt === null ? '' : ` ${showSecond(settledAt)} (${formatAgo(settledAt, now)})`;
  return `${nameOutcome(change)}${since}${reason === '' ? '' : `: ${reason}`}`;
}

function drawFields({operation, fields, base}: Change): string[] {
  if (operation === 'delete') return ['the record to be deleted'];
  const names = Object.keys(fields);
  const width = Math.max(0, ...names.map((name) => name.length));
  return names.map((name) => {
    const was = name in base && name !== 'password' ? `${showWanted(name, base[name])} → ` : '';
    return `${name.padEnd(width)}  ${was}${showWanted(name, fields[name])}`;
  });
}

function drawWaiting({waiting: {count, first}}: ChangeStory): string[] {
  if (count === 0) return [];
  const more = count > first.length ? ` and ${formatNumber(count - first.length)} more` : '';
  return [`${count === 1 ? 'change' : 'changes'} ${first.join(', ')}${more}`];
}

const outcomes = {
  done: 'done',
  refused: 'refused',
  'not-sent': 'nothing was written',
  'in-doubt': 'nobody knows whether it was written',
} as const;

function drawAttempt(
  {method, path, startedAt, endedAt, outcome, status, answer}: Attempt,
  {state}: Change,
): string[] {
  const head = `${showSecond(startedAt)}  ${method} ${path}`;
  if (outcome === null || endedAt === null)
    return [`${head}: ${state === 'sending' ? 'on its way' : 'its worker was lost'}`];
  const code = status === null ? '' : `${status}, `;
  const seconds = (Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
  return [
    `${head}: ${code}${outcomes[outcome]}, after ${formatNumber(seconds)} s`,
    ...(answer === null || answer === '' ? [] : [`  ${answer}`]),
  ];
}

function drawLooks({looks, state}: Change): string[] {
  if (looks === 0) return [];
  const times = looks === 1 ? 'once' : `${formatNumber(looks)} times`;
  return [`${times} whether it had arrived${state === 'in_doubt' ? '; not found so far' : ''}`];
}

/**
 * The value that the service had at that time, and what it holds now, where that is another one.
 */
function drawConflict(conflict: FieldConflict, story: ChangeStory): string[] {
  const now = tellService(conflict.field, story).service ?? conflict.serviceValue;
  const isPast = JSON.stringify(now) !== JSON.stringify(conflict.serviceValue);
  const {field, baseValue, warehouseValue, serviceValue, rule, winner, decidedAt, decidedBy} =
    conflict;
  const decided =
    winner === null || decidedAt === null
      ? 'nobody has decided yet'
      : `the ${winner}'s value counts, decided ${showSecond(decidedAt)} by ${decidedBy}`;
  return [
    `${field}, changed on both sides from ${showWanted(field, baseValue)}`,
    `  here        ${showWanted(field, warehouseValue)}`,
    ...(isPast ? [`  service had ${showWanted(field, serviceValue)}`] : []),
    `  at service  ${showWanted(field, now)}`,
    `  rule ${rule}: ${decided}`,
  ];
}

function drawResult({result}: Change): string[] {
  const {altered = {}, tidied = {}, unsent = []} = result ?? {};
  const draw = ([field, {sent, got}]: [string, {sent: ChangeValue; got: ChangeValue}]) =>
    `${field}: sent ${showWanted(field, sent)}, it keeps ${showWanted(field, got)}`;
  return [
    ...Object.entries(altered).map(draw),
    ...Object.entries(tidied).map((entry) => `${draw(entry)}, which says the same`),
    ...(unsent.length === 0
      ? []
      : [`not sent, for the service held it already: ${unsent.join(', ')}`]),
  ];
}

function drawCandidates({table, result}: Change): string[] {
  const candidates = result?.candidates ?? [];
  return candidates.length === 0 ? [] : [`${table} ${candidates.join(', ')}`];
}

function drawCommands(
  commands: readonly {readonly command: string; readonly does: string}[],
): string[] {
  const width = Math.max(0, ...commands.map(({command}) => command.length));
  return commands.map(({command, does}) => `  ${command.padEnd(width)}  ${does}`);
}
