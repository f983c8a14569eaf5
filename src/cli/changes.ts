// The verbs `changes list` and `changes show`: the changes made here, and their outcomes.

import {type Account, listAccounts} from '../accounts/accounts.ts';
import {
  type Attempt,
  type Change,
  type ChangeFilter,
  type FieldConflict,
  listChanges,
  matchEveryChange,
} from '../changes/change.ts';
import type {PlannedRequest, Unplannable} from '../changes/request.ts';
import {nameState, type SelectableState, selectableStates} from '../changes/states.ts';
import {type ChangeStory, readStory, serviceSideOf} from '../changes/story.ts';
import {
  describeNextStep,
  describeReason,
  describeWhy,
  formatWantedValue,
  nameChange,
  nameOutcome,
} from '../changes/words.ts';
import type {Config} from '../core/config.ts';
import {seeNumber, UsageError} from '../core/errors.ts';
import {formatAgo, formatNumber, formatRoughly, showSecond} from '../core/format.ts';
import {nearest} from '../core/names.ts';
import {countColumns, inTone} from '../core/text.ts';
import type {ChangeValue} from '../rows/change-values.ts';
import {allWrites} from '../streams/all.ts';
import {chooseAccount} from './accounts.ts';
import {fitTable, lineWidth, type OutputOptions, print, wrap} from './terminal.ts';
import {type Warehouse, withWarehouse} from './warehouse.ts';

interface ListOptions extends ChangeFilters {
  readonly limit: number;
  readonly json: boolean;
}

/**
 * Lists the open changes, conflicts first, then the oldest first; then the others, the latest
 * first.
 * @returns the exit code
 * @throws {UsageError} no such state, table or account
 */
export async function changesList(config: Config, options: ListOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    const filter = await readFilters(warehouse, options);
    const changes = await listChanges(pool, filter, options.limit);
    print(options.json, {json: {changes}, text: formatChanges(changes, await listAccounts(pool))});
    return 0;
  });
}

/** Prints one change: its story, line by line, and its next step. @returns the exit code */
export async function changesShow(
  config: Config,
  id: string,
  options: OutputOptions,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const story = await readStory(pool, id);
    print(options.json, {json: story, text: formatChange(story)});
    return 0;
  });
}

/** The filters, as they were typed. */
export interface ChangeFilters {
  readonly state?: string;
  readonly table?: string;
  readonly by?: string;
  readonly since?: {readonly within: string} | {readonly since: string};
  readonly transaction?: string;
  readonly batch?: string;
  readonly account?: string;
}

/** Numbers or filters; `all` means no filter at all. */
export interface ChangeSelection extends ChangeFilters {
  readonly all?: boolean;
}

const tables = allWrites.map(({table}) => table.name);
const filterNames = ['state', 'table', 'by', 'since', 'transaction', 'batch', 'account'] as const;

/** Checks the filters, as typed. @throws {UsageError} no such state, table or account */
export async function readFilters(
  warehouse: Warehouse,
  filters: ChangeFilters,
): Promise<ChangeFilter> {
  const {by = null, since = {}, transaction = null, batch = null} = filters;
  const state = filters.state === undefined ? null : checkState(filters.state);
  const table = filters.table === undefined ? null : checkTable(filters.table);
  const accounts =
    filters.account === undefined
      ? await listAccounts(warehouse.pool)
      : [await chooseAccount(warehouse, filters.account)];
  const allChanges = matchEveryChange(accounts.map(({accountId}) => accountId));
  return {...allChanges, state, table, by, ...since, transaction, batch};
}

/**
 * Whether the changes are chosen by filters, rather than by their numbers.
 * @throws {UsageError} neither was typed, or both were
 */
export function isFiltered(
  verb: string,
  ids: readonly string[],
  selection: ChangeSelection,
): boolean {
  const typedFilters = filterNames
    .filter((name) => selection[name] !== undefined)
    .map((name) => `--${name}`);
  if (selection.all === true) typedFilters.push('--all');
  if (ids.length === 0 && typedFilters.length === 0)
    throw new UsageError(
      `changes ${verb}: expected the numbers of changes, or a filter: ` +
        `${filterNames.map((name) => `--${name}`).join(', ')}, or --all; ` +
        '--dry-run shows what it would do',
    );
  if (ids.length > 0 && typedFilters.length > 0)
    throw new UsageError(
      `changes ${verb}: expected the numbers of changes or filters, got both: ` +
        `${ids[0]} and ${typedFilters.join(', ')}`,
    );
  return typedFilters.length > 0;
}

/** States may be typed as they are printed: `in doubt`, or `in-doubt`. */
function checkState(typed: string): SelectableState {
  const name = typed.toLowerCase().replaceAll(/[ -]/g, '_');
  const state = selectableStates.find((known) => known === name);
  if (state !== undefined) return state;
  throw new UsageError(
    `changes: no state "${typed}"${nearest(typed, selectableStates)}; ` +
      `there are ${selectableStates.join(', ')}`,
  );
}

function checkTable(typed: string): string {
  if (tables.includes(typed)) return typed;
  throw new UsageError(
    `changes: no table "${typed}"${nearest(typed, tables)} that can be written back; ` +
      `there are ${tables.join(', ')}`,
  );
}

const labelWidth = 11;

export function formatChange(story: ChangeStory): string {
  const {change, account, now, blocker, next, request, docs} = story;
  const {changeId, externalKey, requestedAt, requestedBy, application} = change;
  const from = application === null ? '' : `, from ${application}`;
  const key = externalKey === null ? '' : `, external key ${externalKey}`;
  return [
    `change ${changeId} of account ${account}: ${nameChange(change)}`,
    ...formatPart('state', [describeState(change, now)]),
    ...formatPart('made', [
      `${showSecond(requestedAt)} (${formatAgo(requestedAt, now)}) by ${requestedBy}${from}`,
    ]),
    ...formatPart('within', formatBatch(change)),
    ...formatPart(
      'takes back',
      change.undoes === null ? [] : [`change ${change.undoes.join(', ')}`],
    ),
    ...formatPart('row', [`row ${change.rowId} of warehouse.${change.table}${key}`]),
    ...formatPart('wants', formatFields(change)),
    ...formatPart(
      'waits for',
      blocker === null
        ? []
        : [`change ${blocker.changeId}: ${nameChange(blocker)}, ${nameState(blocker.state)}`],
    ),
    ...formatPart('holds up', formatWaiting(story)),
    ...formatPart(
      'sent',
      story.attempts.flatMap((attempt) => formatAttempt(attempt, change)),
    ),
    ...formatPart('checked', formatChecks(change)),
    ...formatPart(
      'conflict',
      story.conflicts.flatMap((conflict) => formatConflict(conflict, story)),
    ),
    ...formatPart('came back', formatResult(change)),
    ...formatPart('may be', formatCandidates(change)),
    ...formatPart(
      'next',
      next === null ? [] : [describeNextStep(next), ...formatCommands(next.commands)],
    ),
    ...(request === null ? [] : formatRequest(request, change)),
    ...(docs === null ? [] : [seeNumber(docs)]),
  ].join('\n');
}

/** The transaction that made the change, by name and number. */
function formatBatch({batch, transactionId}: Change): string[] {
  if (transactionId === null) return [];
  return [
    batch === null ? `transaction ${transactionId}` : `${batch}, transaction ${transactionId}`,
  ];
}

/** The exact request that would be sent: none of its lines is wrapped. */
export function formatPlan(request: PlannedRequest | Unplannable): string[] {
  if ('problem' in request) return [`nothing can be sent: ${request.problem}`];
  const {method, path, body} = request;
  return [`${method} ${path}`, ...(body === null ? [] : body.trimEnd().split('\n'))];
}

function formatRequest(request: PlannedRequest | Unplannable, {operation}: Change): string[] {
  const [head = '', ...document] = formatPlan(request);
  const indent = ' '.repeat(2 + labelWidth);
  const note = 'less what the service holds by then, as a look just before will tell';
  return [
    ...formatPart('would send', [head]),
    ...document.map((line) => indent + line),
    ...(operation === 'update' && !('problem' in request) ? [indent + note] : []),
  ];
}

/** A label, with its lines below each other. Further lines may have a separate indent. */
function formatPart(label: string, lines: readonly string[]): string[] {
  const indent = ' '.repeat(2 + labelWidth);
  return lines.map((line, index) => {
    const text = wrap(indent + line);
    return index === 0 ? `  ${label.padEnd(labelWidth)}${text.slice(indent.length)}` : text;
  });
}

function describeState(change: Change, now: string): string {
  const {settledAt} = change;
  const reason = describeReason(change);
  const since =
    settledAt === null ? '' : ` ${showSecond(settledAt)} (${formatAgo(settledAt, now)})`;
  return `${inTone(nameOutcome(change))}${since}${reason === '' ? '' : `: ${reason}`}`;
}

function formatFields({operation, fields, base}: Change): string[] {
  if (operation === 'delete') return ['the record to be deleted'];
  const names = Object.keys(fields);
  const width = Math.max(0, ...names.map((name) => name.length));
  return names.map((name) => {
    const before = name in base ? `${formatWantedValue(base[name])} → ` : '';
    return `${name.padEnd(width)}  ${before}${formatWantedValue(fields[name])}`;
  });
}

function formatWaiting({waiting: {count, first}}: ChangeStory): string[] {
  if (count === 0) return [];
  const more = count > first.length ? ` and ${formatNumber(count - first.length)} more` : '';
  return [`${count === 1 ? 'change' : 'changes'} ${first.join(', ')}${more}`];
}

const outcomes = {
  done: 'done',
  refused: 'refused',
  'not-sent': 'nothing was written',
  'in-doubt': 'it is unknown whether it was written',
} as const;

function formatAttempt(
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

function formatChecks({checks: checkCount, state}: Change): string[] {
  if (checkCount === 0) return [];
  const times = checkCount === 1 ? 'once' : `${formatNumber(checkCount)} times`;
  return [`${times} whether it had arrived${state === 'in_doubt' ? '; not found so far' : ''}`];
}

/**
 * The value that the service had when the conflict was found, and its present value if that
 * differs.
 */
function formatConflict(conflict: FieldConflict, story: ChangeStory): string[] {
  const now = serviceSideOf(conflict.field, story).service ?? conflict.serviceValue;
  const isOutdated = JSON.stringify(now) !== JSON.stringify(conflict.serviceValue);
  const {field, baseValue, warehouseValue, serviceValue, rule, winner, decidedAt, decidedBy} =
    conflict;
  const decision =
    winner === null || decidedAt === null
      ? 'no one has decided yet'
      : `the ${winner}'s value counts, decided ${showSecond(decidedAt)} by ${decidedBy}`;
  return [
    `${field}, changed on both sides from ${formatWantedValue(baseValue)}`,
    `  here        ${formatWantedValue(warehouseValue)}`,
    ...(isOutdated ? [`  service had ${formatWantedValue(serviceValue)}`] : []),
    `  at service  ${formatWantedValue(now)}`,
    `  rule ${rule}: ${decision}`,
  ];
}

function formatResult({result}: Change): string[] {
  const {altered = {}, tidied = {}, unsent = []} = result ?? {};
  const describeField = ([field, {sent, got}]: [string, {sent: ChangeValue; got: ChangeValue}]) =>
    `${field}: sent ${formatWantedValue(sent)}, it keeps ${formatWantedValue(got)}`;
  return [
    ...Object.entries(altered).map(describeField),
    ...Object.entries(tidied).map((entry) => `${describeField(entry)}, which says the same`),
    ...(unsent.length === 0
      ? []
      : [`not sent, for the service held it already: ${unsent.join(', ')}`]),
  ];
}

function formatCandidates({table, result}: Change): string[] {
  const candidates = result?.candidates ?? [];
  return candidates.length === 0 ? [] : [`${table} ${candidates.join(', ')}`];
}

function formatCommands(
  commands: readonly {readonly command: string; readonly does: string}[],
): string[] {
  const width = Math.max(0, ...commands.map(({command}) => command.length));
  return commands.map(({command, does}) => `  ${command.padEnd(width)}  ${does}`);
}

const columnTitles = ['change', 'made', 'what', 'fields', 'state', 'why'];
const widestBatch = 20;
const longestName = 36;
const longestFields = 28;
const shortestReason = 24;

export function formatChanges(changes: readonly Change[], accounts: readonly Account[]): string {
  if (changes.length === 0)
    return 'no change: who writes to the tables of schema warehouse makes one';
  const hasBatches = changes.some(({batch}) => batch !== null);
  const columns = hasBatches ? columnTitles.toSpliced(2, 0, 'batch') : columnTitles;
  const names = new Map(accounts.map(({accountId, name}) => [accountId, name]));
  const rows = changes.map((change) => [
    change.changeId,
    `${formatRoughly(Date.now() - Date.parse(change.requestedAt))} ago`,
    ...(hasBatches ? [shortenLine(change.batch ?? '', widestBatch)] : []),
    shortenLine(
      `${accounts.length > 1 ? `${names.get(change.accountId)}: ` : ''}${nameChange(change)}`,
      longestName,
    ),
    nameFields(Object.keys(change.fields)),
    inTone(nameOutcome(change)),
    describeWhy(change),
  ]);
  const availableWidth = lineWidth() - widthBefore(columns, rows);
  return fitTable(
    columns,
    rows.map((row) => [
      ...row.slice(0, -1),
      shortenLine(row.at(-1) ?? '', Math.max(shortestReason, availableWidth)),
    ]),
  );
}

/** The width of a table without the text of its last column. */
function widthBefore(columns: readonly string[], rows: readonly (readonly string[])[]): number {
  const widths = columns
    .slice(0, -1)
    .map((title, index) =>
      Math.max(...[title, ...rows.map((row) => row[index] ?? '')].map(countColumns)),
    );
  return widths.reduce((total, width) => total + width, 0) + 3 * columns.length + 1;
}

/** As many names as fit, and the number of the rest. */
function nameFields(names: readonly string[]): string {
  const shownNames = names.slice(0, 1);
  for (const name of names.slice(1)) {
    if ([...shownNames, name].join(', ').length > longestFields) break;
    shownNames.push(name);
  }
  const more = names.length > shownNames.length ? ` +${names.length - shownNames.length}` : '';
  return shownNames.join(', ') + more;
}

function shortenLine(text: string, width: number): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`;
}
