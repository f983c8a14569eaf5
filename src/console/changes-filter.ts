import {html, type SafeHtml} from '@remix-run/html-template';
import {changeStates} from '../changes/change-states.ts';
import type {Wanted} from '../changes/wanted-changes.ts';
import {nearest} from '../core/names.ts';
import {allWrites} from '../streams/all.ts';
import {type Look, linkTo} from './look.ts';
import type {Asked} from './page.ts';
import {Refused} from './refused.ts';

const states = ['needy', ...changeStates, 'altered'] as const;
const tables = allWrites.map(({table}) => table.name);

const ages = {
  '1h': {label: 'within an hour', within: '1 hour', before: null},
  '1d': {label: 'within a day', within: '1 day', before: null},
  '7d': {label: 'within 7 days', within: '7 days', before: null},
  '30d': {label: 'within 30 days', within: '30 days', before: null},
  'over-1h': {label: 'more than an hour ago', within: null, before: '1 hour'},
  'over-1d': {label: 'more than a day ago', within: null, before: '1 day'},
  'over-7d': {label: 'more than 7 days ago', within: null, before: '7 days'},
} as const;
const ageNames = Object.keys(ages) as (keyof typeof ages)[];

/** The filters of the address, as a link may carry them on. */
export type Filters = Readonly<
  Record<'state' | 'table' | 'by' | 'age' | 'batch' | 'transaction', string | undefined>
>;

export function filtersOf(query: Readonly<Record<string, string>>): Filters {
  const {state, table, by, age, batch, transaction} = query;
  return {state, table, by, age, batch, transaction};
}

/** The same as a query: `state=held&table=jobs`. */
export function writeFilters(query: Readonly<Record<string, string>>): string {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries({...filtersOf(query), account: query.account}))
    if (value !== undefined) written.set(name, value);
  return String(written);
}

/** @throws {Refused} a filter that there is none of */
export function readWanted({accounts, query}: Pick<Asked, 'accounts' | 'query'>): Wanted {
  const {state, table, by, age, batch, transaction} = query;
  const {within, before} =
    age === undefined ? {within: null, before: null} : ages[check('age', age, ageNames)];
  return {
    accountIds: accounts.map(({accountId}) => accountId),
    state: state === undefined ? null : check('state', state.replaceAll(/[ -]/g, '_'), states),
    table: table === undefined ? null : check('table', table, tables),
    by: by ?? null,
    within,
    before,
    since: null,
    batch: batch ?? null,
    transaction: transaction === undefined ? null : checkNumber('transaction', transaction),
  };
}

function check<Name extends string>(filter: string, given: string, known: readonly Name[]): Name {
  const found = known.find((name) => name === given);
  if (found !== undefined) return found;
  throw new Refused(422, {
    title: 'There is no such filter',
    text: `${filter}: expected one of ${known.join(', ')}, got ${JSON.stringify(given)}${nearest(given, known)}.`,
    ways: [{href: '/changes', label: 'All changes'}],
  });
}

function checkNumber(filter: string, given: string): string {
  if (/^[1-9]\d{0,17}$/.test(given)) return given;
  throw new Refused(422, {
    title: 'There is no such filter',
    text: `${filter}: expected a number, got ${JSON.stringify(given)}.`,
    ways: [{href: '/changes', label: 'All changes'}],
  });
}

export function nameFilterState(state: string): string {
  return state === 'needy' ? 'needs a person' : state.replace('_', ' ');
}

/** The form whose state is the address. */
export function drawFilters(look: Look): SafeHtml {
  const {state, table, by = '', age, batch = '', transaction, account} = look.query;
  return html`<form class="filters" action="/changes" role="search" aria-label="Filter the changes">
    ${account === undefined ? '' : html`<input type="hidden" name="account" value="${account}">`}
    ${transaction === undefined ? '' : html`<input type="hidden" name="transaction" value="${transaction}">`}
    <label>State ${drawSelect('state', state, [['', 'any'], ...states.map((name) => [name, nameFilterState(name)] as const)])}</label>
    <label>Table ${drawSelect('table', table, [['', 'any'], ...tables.map((name) => [name, name] as const)])}</label>
    <label>By <input name="by" value="${by}" placeholder="user or application" size="18"></label>
    <label>Batch <input name="batch" value="${batch}" placeholder="name of a transaction" maxlength="200" size="18"></label>
    <label>Requested ${drawSelect('age', age, [['', 'at any time'], ...ageNames.map((name) => [name, ages[name].label] as const)])}</label>
    <button>Show</button>
    ${Object.values(filtersOf(look.query)).every((value) => value === undefined) ? '' : html`<a href="${linkTo(look, '/changes')}">Show all</a>`}
  </form>`;
}

function drawSelect(
  name: string,
  chosen: string | undefined,
  options: readonly (readonly [value: string, label: string])[],
): SafeHtml {
  return html`<select name="${name}">${options.map(
    ([value, label]) =>
      html`<option value="${value}"${value === (chosen ?? '') ? html` selected` : ''}>${label}</option>`,
  )}</select>`;
}
