// The filters of lists, held against the specification's own tables.

import {describe, expect, test} from 'vitest';
import {UsageError} from '../../src/core/errors.ts';
import {allStreams, findStream} from '../../src/streams/all.ts';
import {listWindows, nameWindow, readWindow, wholeList} from '../../src/streams/stream.ts';

const spans = [
  'today',
  'tomorrow',
  'yesterday',
  'this_week',
  'next_week',
  'last_week',
  'this_month',
  'next_month',
  'last_month',
];

/**
 * @see docs/service.md "Filters", "Job list query parameters", "Tasks": all but page, only and
 * include
 */
const specified = {
  employees: {},
  customers: {
    customer_number: 'number',
    name: 'text',
    phone_number: 'text',
    fax: 'text',
    email_address: 'text',
    service_address: 'text',
    service_city: 'text',
    service_zip_code: 'text',
    service_state: 'text',
    service_country: 'text',
    billing_address: 'text',
    billing_city: 'text',
    billing_zip_code: 'text',
    billing_state: 'text',
    billing_country: 'text',
  },
  jobs: {
    scheduled: spans,
    state: ['in_progress', 'completed', 'uncompleted'],
    employee_number: 'number',
    job_type_id: 'number',
    job_status_id: 'number',
  },
  tasks: {employee_number: 'number', completed: ['true', 'false'], scheduled_at: spans},
};

test('the filters and their values are those of the specification', () => {
  expect(Object.fromEntries(allStreams.map(({name, filters}) => [name, filters]))).toEqual(
    specified,
  );
});

test('every span and every state is a window of that name', () => {
  const words = (stream: string) => Object.keys(listWindows(findStream(stream))).sort();
  expect(words('jobs')).toEqual([...spans, 'in_progress', 'completed', 'uncompleted'].sort());
  expect(words('tasks')).toEqual([...spans, 'open'].sort());
  expect([words('customers'), words('employees')]).toEqual([[], []]);
});

describe.each(allStreams)('the stream $name', (stream) => {
  const given = Object.entries(stream.filters).flatMap(([filter, takes]) =>
    (typeof takes === 'string'
      ? [takes === 'number' ? '3' : 'Harbor & Sons + 100 % = ü']
      : takes
    ).map((value) => [filter, value] as const),
  );

  test.each(given)('%s=%s is a window whose name reads back as that filter', (filter, value) => {
    const name = nameWindow(stream, [`${filter}=${value}`]);
    expect(readWindow(stream, name)).toEqual({[filter]: value});
    expect(nameWindow(stream, [`${filter}=${value}`, `${filter}=${value}`])).toBe(name);
  });

  test.each(Object.entries(listWindows(stream)))(
    '%s is a window, and its filter gets that name',
    (word, window) => {
      const [[filter, value] = ['', '']] = Object.entries(window);
      expect(readWindow(stream, word)).toEqual(window);
      expect(nameWindow(stream, [`${filter}=${value}`])).toBe(word);
    },
  );

  test('all filters together have one name, whatever their order', () => {
    if (given.length === 0) return;
    const terms = [...new Map(given).entries()].map(([filter, value]) => `${filter}=${value}`);
    const name = nameWindow(stream, terms);
    expect(nameWindow(stream, terms.toReversed())).toBe(name);
    expect(readWindow(stream, name)).toEqual(Object.fromEntries(new Map(given)));
  });
});

test('every stream has a window for its whole list, without filters', () => {
  for (const stream of allStreams) {
    expect(readWindow(stream, wholeList)).toEqual({});
    expect(nameWindow(stream, [wholeList])).toBe(wholeList);
  }
  expect(nameWindow(findStream('jobs'), [wholeList, 'today'])).toBe('today');
});

test('the name of a window and a filter can be combined', () => {
  const name = nameWindow(findStream('jobs'), ['next_week', 'employee_number=3']);
  expect(name).toBe('scheduled=next_week&employee_number=3');
  expect(readWindow(findStream('jobs'), 'next_week&employee_number=3')).toEqual({
    scheduled: 'next_week',
    employee_number: '3',
  });
});

test.each([
  ['jobs', 'todya', 'jobs has no window "todya" (did you mean today?); there are today, tomorrow'],
  [
    'jobs',
    'schedulde=today',
    'jobs has no filter "schedulde" (did you mean scheduled?); there are scheduled, state',
  ],
  ['jobs', 'scheduled=nextweek', 'jobs, filter scheduled: expected one of today, tomorrow'],
  ['jobs', 'scheduled=nextweek', 'got "nextweek" (did you mean next_week?)'],
  ['jobs', 'employee_number=Ann', 'jobs, filter employee_number: expected a number, got "Ann"'],
  ['jobs', 'employee_number=0', 'expected a number, got "0"'],
  [
    'jobs',
    'today&scheduled=tomorrow',
    'jobs, filter scheduled: expected it once, got "today" and "tomorrow"',
  ],
  ['jobs', 'scheduled_at=today', 'jobs has no filter "scheduled_at" (did you mean scheduled?)'],
  ['jobs', '', 'jobs has no window ""'],
  ['jobs', '__proto__', 'jobs has no window "__proto__"'],
  ['jobs', 'constructor=1', 'jobs has no filter "constructor"'],
  ['tasks', 'completed=yes', 'tasks, filter completed: expected one of true, false, got "yes"'],
  [
    'customers',
    'today',
    'customers has no window "today"; there is whole_list; its filters are customer_number, name',
  ],
  ['customers', 'name=', 'customers, filter name: expected a text, got none'],
  ['employees', 'today', 'employees has no window "today"; there is whole_list'],
  ['employees', 'name=Ann', 'employees has no filter "name"; it has none'],
])('the stream %s refuses %j and explains what it expects', (stream, name, words) => {
  expect(() => readWindow(findStream(stream), name)).toThrow(UsageError);
  expect(() => readWindow(findStream(stream), name)).toThrow(words);
});
