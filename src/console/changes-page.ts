// The list of changes: its filters, the decisions that are open to many changes, and the same list
// as a command and as SQL.

import {html, type SafeHtml} from '@remix-run/html-template';
import pg from 'pg';
import type {ChangeFilter} from '../changes/change.ts';
import {
  type ChangeCounts,
  type ChangeLine,
  type ChangeList,
  isPlace,
  readChangeList,
  titleChange,
} from '../changes/change-list.ts';
import type {DecisionRequest} from '../changes/decisions.ts';
import {selectableStates} from '../changes/states.ts';
import {
  decisionsDo,
  describeNextStep,
  describeReason,
  findBlocker,
  nameChange,
  nameOutcome,
} from '../changes/words.ts';
import {formatNumber} from '../core/format.ts';
import {nearest} from '../core/names.ts';
import {isId, quoteWord} from '../core/text.ts';
import {allWrites} from '../streams/all.ts';
import {AccessRefused} from './access.ts';
import {hideLine} from './hide-change.ts';
import {
  definePage,
  type Elsewhere,
  linkTo,
  may,
  nameOfAccount,
  type PageContext,
  type PageRequest,
} from './page.ts';
import {
  type Cell,
  renderChosenAccount,
  renderHidden,
  renderOption,
  renderProse,
  renderState,
  renderTable,
  renderTime,
} from './render.ts';

export const changeListPage = definePage<ChangeList>({
  path: '/changes',
  section: '/changes',
  moving: ['changes', 'accounts'],
  read: async (request) => {
    const {db, accounts, query} = request;
    const after = query.after !== undefined && isPlace(query.after) ? query.after : null;
    return await readChangeList(db, {accounts, wanted: readChangeFilter(request), after});
  },
  title: () => 'Changes',
  render: (list, context) => html`
    ${renderCounts(list.counts, context)}
    ${list.underWay.map((text) => html`<p>${text}</p>`)}
    ${renderChangeFilters(context)}
    ${
      may(context, 'operator') && list.changes.length > 0
        ? renderSelectableLines(list, context)
        : renderLines(list, context)
    }
    ${renderPaging(list, context)}`,
  hide: (list) => ({...list, changes: list.changes.map(hideLine)}),
  elsewhere: describeListElsewhere,
});

function renderCounts({needy, open, settled}: ChangeCounts, context: PageContext): SafeHtml {
  const renderStateLink = (state: string, count: number) =>
    html`<a href="${linkTo(context, '/changes', {state})}">${nameFilterState(state)} ${formatNumber(
      count,
    )}</a>`;
  const settledCount = settled.reduce((total, {count}) => total + count, 0);
  return html`<ul class="counts" aria-label="Changes by state">
    <li>${
      needy === 0
        ? 'No change needs a person'
        : html`<strong>${renderStateLink('needy', needy)}</strong>`
    }</li>
    ${open.map(({state, count}) =>
      count === 0 ? '' : html`<li>${renderStateLink(state, count)}</li>`,
    )}
    ${
      settledCount === 0
        ? ''
        : html`<li class="quiet">of the latest ${formatNumber(settledCount)} that are over:</li>`
    }
    ${settled.map(({state, count}) => html`<li>${renderStateLink(state, count)}</li>`)}
  </ul>`;
}

/**
 * The lines with boxes to tick. A preview shows the ticked changes, or all that match, before
 * anything is done.
 */
function renderSelectableLines(list: ChangeList, context: PageContext): SafeHtml {
  const keptFilters = Object.entries({...filtersOf(context.query), account: context.query.account});
  return html`<form action="/changes/preview">
    ${keptFilters.map(([name, value]) => (value === undefined ? '' : renderHidden(name, value)))}
    <fieldset class="bulk"><legend>With those ticked, or all that match</legend>
    <div class="actions">
      <label>Decide <select name="choice">${choices.map(
        ({name, label}) => html`<option value="${name}">${label}</option>`,
      )}</select></label>
      <button>Preview for those ticked</button>
      <button class="plain" name="all" value="yes">Preview for all that match</button>
    </div>
    <div class="actions">
      <button class="plain" formaction="/changes/undo">Preview undo of those ticked</button>
      <button class="plain" formaction="/changes/undo" name="all" value="yes">
        Preview undo of all that match</button>
    </div></fieldset>
    ${renderLines(list, context, {isChoosing: true})}</form>`;
}

function renderLines(
  {changes}: ChangeList,
  context: PageContext,
  {isChoosing = false}: {readonly isChoosing?: boolean} = {},
): SafeHtml {
  if (changes.length === 0) return renderEmpty(context);
  const hasSeveralAccounts = context.accounts.length > 1;
  return renderTable({
    isStacked: true,
    caption: 'Changes, those that need a person first',
    columns: [
      ...(isChoosing ? [{head: 'tick', isTitle: true}] : []),
      {head: 'change', isTitle: true},
      ...(hasSeveralAccounts ? ['account'] : []),
      ...['state', 'why', 'by', 'requested', 'next'],
    ],
    rows: changes.map((line) => [
      ...(isChoosing ? [renderCheckbox(line)] : []),
      html`<a class="what" href="${linkTo(context, `/changes/${line.changeId}`)}">${titleLine(
        line,
      )}</a><small>${line.changeId}: ${renderProse(nameChange(line), context)}</small>`,
      ...(hasSeveralAccounts ? [nameOfAccount(context, line.accountId)] : []),
      ...renderLine(line, context),
    ]),
    none: '',
  });
}

/** `Kaja Thornholt: phone number`; the table and the number for a record without a name. */
function titleLine(line: ChangeLine): string {
  const {table, number, rowId} = line;
  return titleChange(line.name ?? `${table} ${number ?? `row ${rowId}`}`, line);
}

/**
 * An explanation of the page while there are no changes; if a filter finds nothing, a link that
 * removes it.
 */
function renderEmpty(context: PageContext): SafeHtml {
  if (Object.values(filtersOf(context.query)).some((value) => value !== undefined))
    return html`<div class="card"><p>No change matches this filter. <a href="${linkTo(
      context,
      '/changes',
    )}">Show all changes</a></p></div>`;
  return html`<div class="card"><h2>No changes yet</h2>
    <p>A change is made when somebody writes to a table of the schema <code>warehouse</code>.
      It appears here and is sent to the service. Try it from any Postgres client:</p>
    <pre tabindex="0">${exampleOfChange}</pre></div>`;
}

const exampleOfChange = [
  "UPDATE warehouse.customers SET phone_number = '555-0142'",
  ' WHERE customer_number = 12;',
].join('\n');

function renderLine(line: ChangeLine, context: PageContext): Cell[] {
  const {requestedBy, application, batch, requestedAt, next} = line;
  const outcome = nameOutcome(line);
  const blocker = findBlocker(line);
  return [
    renderState(outcome.replace(' ', '_'), outcome),
    blocker === null
      ? html`<span class="why">${renderProse(describeReason(line), context)}</span>`
      : html`waits for <a href="${linkTo(context, `/changes/${blocker}`)}">change ${blocker}</a>`,
    html`${requestedBy}${application === null ? '' : html` <small>${application}</small>`}${
      batch === null ? '' : html` <small>${batch}</small>`
    }`,
    renderTime(requestedAt, context),
    html`<span class="why">${
      next === null ? '' : renderProse(describeNextStep(next), context)
    }</span>`,
  ];
}

function renderCheckbox(line: ChangeLine): SafeHtml {
  const {changeId} = line;
  const label = `change ${changeId}, ${titleLine(line)}`;
  return html`<input type="checkbox" name="c${changeId}" value="on" aria-label="${label}">`;
}

function renderPaging({next}: ChangeList, context: PageContext): SafeHtml | string {
  const filters = filtersOf(context.query);
  const isFirst = context.query.after === undefined;
  if (next === null && isFirst) return '';
  return html`<p class="actions">
    ${isFirst ? '' : html`<a href="${linkTo(context, '/changes', filters)}">First page</a>`}
    ${
      next === null
        ? ''
        : html`<a href="${linkTo(context, '/changes', {...filters, after: next})}" rel="next">
            Next page</a>`
    }
  </p>`;
}

/** A decision that may be made about many changes at once. */
export interface Choice {
  /** Its name in forms and addresses. */
  readonly name: string;
  /** The words on its button. */
  readonly label: string;
  readonly does: string;
  readonly deciding: DecisionRequest;
  /** True for a step that is hard to undo. */
  readonly isGrave: boolean;
}

/**
 * The decisions for many changes. To adopt a create, or to send it again, is not among them: each
 * needs its own check at the service.
 */
export const choices: readonly Choice[] = [
  makeChoice('hold', 'Hold', {verb: 'hold'}),
  makeChoice('release', 'Release', {verb: 'release'}),
  makeChoice('retry', 'Try again', {verb: 'retry'}),
  makeChoice('cancel', 'Give up', {verb: 'cancel'}),
  makeChoice('accept', 'Accept', {verb: 'accept'}),
  {
    name: 'take-service',
    label: 'Take the service’s values',
    does: 'give up what both sides changed, and keep what the service holds',
    deciding: {verb: 'resolve', argument: 'service'},
    isGrave: true,
  },
  {
    name: 'take-warehouse',
    label: 'Take the warehouse’s values',
    does: 'send what is wanted here, though the service was changed as well',
    deciding: {verb: 'resolve', argument: 'warehouse'},
    isGrave: true,
  },
];

/** @returns undefined if there is none of that name */
export function findChoice(name: string | undefined): Choice | undefined {
  return choices.find((choice) => choice.name === name);
}

function makeChoice(
  name: keyof typeof decisionsDo,
  label: string,
  deciding: DecisionRequest,
): Choice {
  return {name, label, does: decisionsDo[name], deciding, isGrave: name === 'cancel'};
}

const tables = allWrites.map(({table}) => table.name);

const ageFilters = {
  '1h': {label: 'within an hour', within: '1 hour', before: null},
  '1d': {label: 'within a day', within: '1 day', before: null},
  '7d': {label: 'within 7 days', within: '7 days', before: null},
  '30d': {label: 'within 30 days', within: '30 days', before: null},
  'over-1h': {label: 'more than an hour ago', within: null, before: '1 hour'},
  'over-1d': {label: 'more than a day ago', within: null, before: '1 day'},
  'over-7d': {label: 'more than 7 days ago', within: null, before: '7 days'},
} as const;
const ageNames = Object.keys(ageFilters) as (keyof typeof ageFilters)[];

/** The filters of the address, as a link can keep them. */
type Filters = Readonly<
  Record<'state' | 'table' | 'by' | 'age' | 'batch' | 'transaction', string | undefined>
>;

export function filtersOf(query: Readonly<Record<string, string>>): Filters {
  const {state, table, by, age, batch, transaction} = query;
  return {state, table, by, age, batch, transaction};
}

/** The filters as a query: `state=held&table=jobs`. */
export function formatFilters(query: Readonly<Record<string, string>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({...filtersOf(query), account: query.account}))
    if (value !== undefined) parameters.set(name, value);
  return String(parameters);
}

/** @throws {AccessRefused} a filter has an unknown value */
export function readChangeFilter({
  accounts,
  query,
}: Pick<PageRequest, 'accounts' | 'query'>): ChangeFilter {
  const {state, table, by, age, batch, transaction} = query;
  const {within, before} =
    age === undefined ? {within: null, before: null} : ageFilters[checkWord('age', age, ageNames)];
  return {
    accountIds: accounts.map(({accountId}) => accountId),
    state:
      state === undefined
        ? null
        : checkWord('state', state.replaceAll(/[ -]/g, '_'), selectableStates),
    table: table === undefined ? null : checkWord('table', table, tables),
    by: by ?? null,
    within,
    before,
    since: null,
    batch: batch ?? null,
    transaction: transaction === undefined ? null : checkNumber('transaction', transaction),
  };
}

function checkWord<Name extends string>(
  filter: string,
  value: string,
  allowed: readonly Name[],
): Name {
  const match = allowed.find((name) => name === value);
  if (match !== undefined) return match;
  throw new AccessRefused(422, {
    title: 'There is no such filter',
    text: `${filter}: expected one of ${allowed.join(', ')}, got ${JSON.stringify(value)}${nearest(
      value,
      allowed,
    )}.`,
    ways: [{href: '/changes', label: 'All changes'}],
  });
}

function checkNumber(filter: string, value: string): string {
  if (isId(value)) return value;
  throw new AccessRefused(422, {
    title: 'There is no such filter',
    text: `${filter}: expected a number, got ${JSON.stringify(value)}.`,
    ways: [{href: '/changes', label: 'All changes'}],
  });
}

function nameFilterState(state: string): string {
  return state === 'needy' ? 'needs a person' : state.replace('_', ' ');
}

/** The form whose state is the address. */
function renderChangeFilters(context: PageContext): SafeHtml {
  const {state, table, by = '', age, batch = '', transaction} = context.query;
  const isFiltered = Object.values(filtersOf(context.query)).some((value) => value !== undefined);
  return html`<form class="filters" action="/changes" role="search" aria-label="Filter the changes">
    ${renderChosenAccount(context)}
    ${transaction === undefined ? '' : renderHidden('transaction', transaction)}
    <label>State ${renderSelect('state', state, [
      ['', 'any'],
      ...selectableStates.map((name) => [name, nameFilterState(name)] as const),
    ])}</label>
    <label>Table ${renderSelect('table', table, [
      ['', 'any'],
      ...tables.map((name) => [name, name] as const),
    ])}</label>
    <label>By <input name="by" value="${by}" placeholder="user or application" size="15"></label>
    <label>Batch <input name="batch" value="${batch}" placeholder="its name"
      maxlength="200" size="15"></label>
    <label>Requested ${renderSelect('age', age, [
      ['', 'at any time'],
      ...ageNames.map((name) => [name, ageFilters[name].label] as const),
    ])}</label>
    <button>Show</button>
    ${isFiltered ? html`<a href="${linkTo(context, '/changes')}">Show all</a>` : ''}
  </form>`;
}

function renderSelect(
  name: string,
  chosenValue: string | undefined,
  options: readonly (readonly [value: string, label: string])[],
): SafeHtml {
  return html`<select name="${name}">${options.map(([value, label]) =>
    renderOption(value, value === (chosenValue ?? ''), label),
  )}</select>`;
}

function describeListElsewhere(request: Omit<PageRequest, 'db' | 'services'>): Elsewhere {
  const filter = readChangeFilter(request);
  const isNeedy = filter.state === 'needy';
  return {
    command: isNeedy
      ? 'fieldmirror status --check'
      : `fieldmirror changes list${formatOptions(request)}`,
    sql: [
      'SELECT * FROM sync.changes',
      ` WHERE ${conditionsOf(filter).join('\n   AND ')}`,
      ' ORDER BY change_id DESC LIMIT 50;',
    ].join('\n'),
  };
}

/** The filters as the options of a command: ` --state held --batch 'import 4711'`. */
export function formatOptions(request: Pick<PageRequest, 'accounts' | 'query'>): string {
  const {state, table, by, batch, transaction, within} = readChangeFilter(request);
  const {account = null, age = null} = request.query;
  const options = Object.entries({
    state,
    table,
    by,
    since: within === null ? null : age,
    batch,
    transaction,
    account,
  });
  return options
    .flatMap(([name, value]) => (value === null ? [] : [` --${name} ${quoteWord(value)}`]))
    .join('');
}

function conditionsOf(filter: ChangeFilter): string[] {
  const {accountIds, state, table, by, within, before, batch, transaction} = filter;
  const quoteLiteral = (text: string) => pg.escapeLiteral(text);
  return [
    `account_id IN (${accountIds.length === 0 ? 'NULL' : accountIds.join(', ')})`,
    ...(state === null ? [] : [conditionOfState(state)]),
    ...(table === null ? [] : [`table_name = ${quoteLiteral(table)}`]),
    ...(by === null ? [] : [`${quoteLiteral(by)} IN (requested_by, application)`]),
    ...(within === null ? [] : [`requested_at >= now() - interval ${quoteLiteral(within)}`]),
    ...(before === null ? [] : [`requested_at < now() - interval ${quoteLiteral(before)}`]),
    ...(batch === null ? [] : [`batch = ${quoteLiteral(batch)}`]),
    ...(transaction === null ? [] : [`transaction_id = ${transaction}`]),
  ];
}

function conditionOfState(state: NonNullable<ChangeFilter['state']>): string {
  if (state === 'altered') return `state = 'done' AND result ? 'altered'`;
  if (state === 'needy') return `state IN ('conflict', 'rejected', 'in_doubt', 'held')`;
  return `state = ${pg.escapeLiteral(state)}`;
}

/** The boxes that are ticked: `c12=on`. */
export function listTicked(query: Readonly<Record<string, string>>): string[] {
  return Object.keys(query).flatMap((name) => /^c([1-9]\d{0,17})$/.exec(name)?.slice(1) ?? []);
}

/** @throws {AccessRefused} none is ticked */
export function readTicked(query: Readonly<Record<string, string>>): string[] {
  const ticked = listTicked(query);
  if (ticked.length > 0) return ticked;
  throw new AccessRefused(422, {
    title: 'No change is ticked',
    text: 'Tick the changes that you mean, or choose all that match the filter. Nothing was done.',
    ways: [{href: linkTo({query}, '/changes', filtersOf(query)), label: 'Back to the changes'}],
  });
}
