// The parameters of lists. An unknown value is refused where ignoring it would answer too much (an
// unknown state would list everything), and ignored where the service ignores it (an unknown name
// in `only` or `include`).

import type {AccountTime} from './account-time.ts';
import type {View} from './includes.ts';
import type {Condition} from './lists.ts';
import {humanize, invalid} from './refusal.ts';
import {isNumber} from './store.ts';

/** The parameters of one request; the last of several with one name. */
export type Query = ReadonlyMap<string, string>;

const NOTHING: Condition = {sql: 'false'};

/**
 * Fields of a customer that filter a list, each exact, alone or combined. `customer_number` is the
 * fifteenth.
 */
const customerFilters = [
  'name',
  'phone_number',
  'fax',
  'email_address',
  ...['service', 'billing'].flatMap((kind) =>
    ['address', 'city', 'zip_code', 'state', 'country'].map((part) => `${kind}_${part}`),
  ),
];

/** By the status of the job. A job on hold is still scheduled (docs/service.md "Fields"). */
const states: Readonly<Record<string, readonly string[]>> = {
  in_progress: ['in_progress'],
  completed: ['complete'],
  uncompleted: ['scheduled', 'in_progress'],
};

/**
 * 1-based. A text that is no page number means the first page; a page past the end is an empty
 * list.
 */
export function readPage(query: Query): number {
  const text = query.get('page') ?? '';
  return /^\d{1,9}$/.test(text) ? Math.max(1, Number(text)) : 1;
}

/** `only` and `include`; names stand apart by comma or blank, with underscores or dashes. */
export function readView(query: Query): View {
  const only = readNames(query.get('only'));
  return {only: only.size === 0 ? null : only, include: readNames(query.get('include'))};
}

/** The exact filters of the customer list. */
export function customerConditions(query: Query): readonly Condition[] {
  const wanted = customerFilters.flatMap((name) => {
    const value = query.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  // No stored text can hold this character, and jsonb refuses it.
  if (wanted.some(([, value]) => value.includes('\u0000'))) return [NOTHING];
  const fields =
    wanted.length === 0
      ? []
      : [{sql: 'fields @> $::jsonb', value: JSON.stringify(Object.fromEntries(wanted))}];
  return [...byNumber(query, 'customer_number', 'customer_number = $'), ...fields];
}

/**
 * @throws {Refusal} 422 for a value of `scheduled` or `state` that the specification does not have
 */
export function jobConditions(query: Query, time: AccountTime): readonly Condition[] {
  return [
    ...bySpan(query, {name: 'scheduled', column: 'scheduled_on', time}),
    ...byState(query.get('state')),
    ...byNumber(
      query,
      'employee_number',
      'employee_ids && (SELECT array_agg(id) FROM service.employees WHERE employee_number = $)',
    ),
    ...byNumber(query, 'job_type_id', 'job_type_id = $'),
    ...byNumber(query, 'job_status_id', 'job_status_id = $'),
  ];
}

/**
 * @throws {Refusal} 422 for a value of `scheduled_at` or `completed` that the specification does
 * not have
 */
export function taskConditions(query: Query, time: AccountTime): readonly Condition[] {
  return [
    ...byNumber(
      query,
      'employee_number',
      'employee_id = (SELECT id FROM service.employees WHERE employee_number = $)',
    ),
    ...byCompleted(query.get('completed')),
    ...bySpan(query, {name: 'scheduled_at', column: 'scheduled_at', time}),
  ];
}

function byNumber(query: Query, name: string, sql: string): readonly Condition[] {
  const value = query.get(name);
  if (value === undefined) return [];
  return isNumber(value) ? [{sql, value}] : [NOTHING];
}

function bySpan(
  query: Query,
  {
    name,
    column,
    time,
  }: {readonly name: string; readonly column: string; readonly time: AccountTime},
): readonly Condition[] {
  const value = query.get(name);
  if (value === undefined) return [];
  const span = time.span(value);
  if (span === null) throw notInList(name);
  return [
    {sql: `${column} >= $`, value: span.from},
    {sql: `${column} < $`, value: span.until},
  ];
}

/**
 * Several states mean any of them: a public client asks for `uncompleted in_progress`
 * (docs/service.md "Filters").
 */
function byState(value: string | undefined): readonly Condition[] {
  if (value === undefined) return [];
  const statuses = [...readNames(value)].flatMap((name) => {
    const found = Object.hasOwn(states, name) ? states[name] : undefined;
    if (found === undefined) throw notInList('state');
    return found;
  });
  if (statuses.length === 0) throw notInList('state');
  return [{sql: 'status = ANY ($::text[])', value: `{${[...new Set(statuses)].join(',')}}`}];
}

function byCompleted(value: string | undefined): readonly Condition[] {
  if (value === undefined) return [];
  if (value !== 'true' && value !== 'false') throw notInList('completed');
  return [{sql: 'completed = $', value}];
}

function readNames(text: string | undefined): ReadonlySet<string> {
  const names = (text ?? '').split(/[\s,]+/).map((name) => name.replaceAll('-', '_'));
  return new Set(names.filter((name) => name !== ''));
}

function notInList(name: string): Error {
  return invalid([`${humanize(name)} is not included in the list`]);
}
