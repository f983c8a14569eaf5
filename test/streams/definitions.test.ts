import {describe, expect, test} from 'vitest';
import {UsageError} from '../../src/core/errors.ts';
import {allStreams, allTables, findStream} from '../../src/streams/all.ts';
import {customers} from '../../src/streams/customers.ts';
import {jobs} from '../../src/streams/jobs.ts';
import {shapeOf} from '../../src/streams/record-plan.ts';
import type {Stream} from '../../src/streams/stream.ts';
import type {MirrorTable} from '../../src/streams/table.ts';
import {employees} from '../../src/streams/team.ts';
import {isSecret} from '../../src/streams/values.ts';

const zone = 'America/New_York';

const tableOf = (name: string): MirrorTable => {
  const table = allTables.find((candidate) => candidate.name === name);
  if (table === undefined) throw new TypeError(name);
  return table;
};
const columnsOf = (name: string) => tableOf(name).columns.map((column) => column.name);

/** The specification's fields, and others that a person would look for by name. */
const SPECIFIED: Readonly<Record<string, string>> = {
  customers: `customer_number name phone_number fax email_address service_address service_city
    service_zip_code service_state service_country billing_address billing_city billing_zip_code
    billing_state billing_country id parent_id balance total_balance credit_limit is_active company
    latitude longitude created_at updated_at deleted_at`,
  jobs: `job_number name scheduled_on job_type_id job_status_id id customer_id customer_number
    status invoice_status subtotal tax total balance_remaining duration ends_at started_on
    completed_on on_hold chosen_days_of_week
    job_allocations created_at updated_at deleted_at`,
  job_charges: `id job_number job_id item_id details quantity price_per_unit total discount
    deleted_at created_on`,
  employees: 'employee_number name can_login username id active email_address',
  time_entries:
    'id job_number job_id employee_id started_on number_of_hours ended_on note billable',
  tasks: 'id name scheduled_at completed job_id',
  customer_notes: 'id customer_number customer_id note noteable_id noteable_type public',
  job_notes: 'id job_number job_id note noteable_id noteable_type public',
  job_employees: 'job_number job_id employee_id employee_number name',
  contacts: 'id customer_number customer_id name',
  job_types: 'id name',
  job_statuses: 'id name',
  tax_entities: 'id name',
};

describe.each(allTables.map((table) => [table.name, table] as const))(
  'the table %s',
  (name, table) => {
    test('has a column for every specified field, under its name', () => {
      expect(columnsOf(name)).toEqual(
        expect.arrayContaining((SPECIFIED[name] ?? 'missing').split(/\s+/)),
      );
    });

    test('has a short comment that ends with a full stop, and so has each column', () => {
      for (const comment of [table.comment, ...table.columns.map((column) => column.comment)]) {
        expect(comment).toMatch(/^\S.*\.$/);
        expect(comment.length).toBeLessThan(120);
      }
    });

    test('has column names with underscores, and none for custom fields or secrets', () => {
      for (const column of columnsOf(name)) {
        expect(column).toMatch(/^[a-z][a-z0-9_]*$/);
        expect(column).not.toMatch(/^custom_|_ref_|list_id|edit_sequence/);
        expect(isSecret(column)).toBe(false);
      }
    });

    test('has a key of whole numbers', () => {
      for (const key of table.key)
        expect(table.columns.find((column) => column.name === key)?.type).toBe('integer');
    });
  },
);

describe.each(allStreams.map((stream) => [stream.name, stream] as const))(
  'the stream %s',
  (_name, stream) => {
    test('has the list path of the specification and is keyed by its number', () => {
      expect(stream.path).toBe(`/${stream.list}.xml`);
      expect(`${stream.item}s`).toBe(stream.list);
      expect(stream.table.key).toEqual([stream.key]);
      expect(stream.table.name).toBe(stream.name);
    });

    test('requests every child that it stores', () => {
      // Records of the stream itself come embedded without a request.
      const asked = stream.children.filter((child) => child.isOfStream !== true);
      expect(stream.include).toEqual(expect.arrayContaining(asked.map((child) => child.element)));
    });

    test('copies existing columns into existing columns of its children', () => {
      for (const {table, parentColumns, renamed = {}} of stream.children) {
        expect(columnsOf(table.name)).toEqual(
          expect.arrayContaining(Object.keys({...parentColumns, ...renamed})),
        );
        expect(columnsOf(stream.name)).toEqual(
          expect.arrayContaining(Object.values(parentColumns)),
        );
      }
    });

    test('has a reproducible fingerprint that fits into an int4', () => {
      expect(shapeOf(stream, zone)).toBe(shapeOf({...stream}, zone));
      expect(
        Number.isInteger(shapeOf(stream, zone)) &&
          (shapeOf(stream, zone) | 0) === shapeOf(stream, zone),
      ).toBe(true);
    });
  },
);

test('there are thirteen tables', () => {
  expect(allTables.map((table) => table.name).toSorted()).toEqual(
    Object.keys(SPECIFIED).toSorted(),
  );
});

test('referenced streams come first: employees, customers, jobs, tasks', () => {
  expect(allStreams.map((stream) => stream.name)).toEqual([
    'employees',
    'customers',
    'jobs',
    'tasks',
  ]);
});

test('customers, jobs and tasks are paged, as in the specification', () => {
  expect(allStreams.filter((stream) => stream.isPaged).map((stream) => stream.name)).toEqual([
    'customers',
    'jobs',
    'tasks',
  ]);
});

test('the windows are filters of the specification', () => {
  expect(Object.fromEntries(allStreams.map((stream) => [stream.name, stream.windows]))).toEqual({
    employees: {},
    customers: {},
    jobs: {
      today: {scheduled: 'today'},
      tomorrow: {scheduled: 'tomorrow'},
      this_week: {scheduled: 'this_week'},
      in_progress: {state: 'in_progress'},
    },
    tasks: {
      open: {completed: 'false'},
      today: {scheduled_at: 'today'},
      this_week: {scheduled_at: 'this_week'},
    },
  });
});

test('an unknown stream is refused with the names of the existing ones', () => {
  expect(findStream('jobs')).toBe(jobs);
  expect(() => findStream('invoices')).toThrow(UsageError);
  expect(() => findStream('invoices')).toThrow(
    'no stream "invoices"; there are employees, customers, jobs, tasks',
  );
});

describe('the fingerprint of a stream', () => {
  const [child] = customers.children;
  const alike = (table: MirrorTable, columns: MirrorTable['columns']): MirrorTable => ({
    ...table,
    columns,
  });
  const [first, ...others] = jobs.table.columns.toReversed();
  const changes: Readonly<Record<string, Stream>> = {
    'a column less': {...jobs, table: alike(jobs.table, others)},
    'a column of another type': {
      ...jobs,
      table: alike(jobs.table, [...others, {name: first?.name ?? '', type: 'text', comment: ''}]),
    },
    'a child more': {...jobs, children: child === undefined ? [] : [...jobs.children, child]},
    'a child that is no link any more': {
      ...jobs,
      children: jobs.children.map((candidate) => ({...candidate, isLink: false})),
    },
    'a field ignored': {...jobs, ignored: [...jobs.ignored, 'description']},
    'a column derived no more': {...jobs, derived: {}},
  };

  test.each(Object.entries(changes))('changes with %s', (_what, changed) => {
    expect(shapeOf(changed, zone)).not.toBe(shapeOf(jobs, zone));
  });

  test('does not change with a comment', () => {
    const columns = jobs.table.columns.map((column) => ({...column, comment: 'Another one.'}));
    expect(shapeOf({...jobs, table: alike(jobs.table, columns)}, zone)).toBe(shapeOf(jobs, zone));
  });

  test('changes with the time zone that gives times their offset', () => {
    expect(shapeOf(jobs, 'Asia/Tokyo')).not.toBe(shapeOf(jobs, zone));
  });

  test('differs between streams', () => {
    expect(new Set(allStreams.map((stream) => shapeOf(stream, zone))).size).toBe(allStreams.length);
    expect(shapeOf(employees, zone)).not.toBe(shapeOf(customers, zone));
  });
});
