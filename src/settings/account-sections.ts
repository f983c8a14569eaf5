// Sections of the file of settings about accounts: their state, labels, capacity, closed days and
// reports.

import {z} from 'zod';
import {
  listAccounts,
  pauseAccount,
  placeOf,
  resumeAccount,
  upsertAccount,
} from '../accounts/accounts.ts';
import {
  deleteCapacity,
  deleteClosedDay,
  deleteInsightSettings,
  deleteLabel,
  type InsightSettings,
  listCapacity,
  listClosedDays,
  listEmployeeNumbers,
  listInsightSettings,
  listLabels,
  writeCapacity,
  writeClosedDay,
  writeInsightSettings,
  writeLabel,
} from '../accounts/settings.ts';
import {parseBaseUrl} from '../api/addresses.ts';
import {UsageError} from '../core/errors.ts';
import {expectTimeZone, isTimeZone, nearest} from '../core/names.ts';
import {
  type Entry,
  type Leaf,
  listChanged,
  type Problem,
  type Section,
  type Tree,
  toTree,
  type Value,
} from './section.ts';
import {accountName, label, recordNumber, workingHours} from './values.ts';

interface Account extends Tree {
  readonly url: string;
  readonly time_zone: string;
  readonly paused: boolean;
  readonly paused_because: string;
}

type Accounts = Readonly<Record<string, Account>>;

const account = z.strictObject({
  url: z
    .string('expected the base address of the account, such as https://app.example.com/acme')
    .superRefine((text, context) => {
      const problem = findAddressProblem(text);
      if (problem !== null)
        context.addIssue({code: 'custom', message: problem, params: {isPrivate: true}});
    })
    .exactOptional()
    .describe('Base address of the account at the service.'),
  time_zone: z
    .string('expected an IANA zone, such as America/New_York')
    .superRefine((zone, context) => {
      if (!isTimeZone(zone)) context.addIssue({code: 'custom', message: expectTimeZone(zone)});
    })
    .exactOptional()
    .describe('IANA zone in which the account writes times without an offset.'),
  paused: z
    .boolean('expected true or false')
    .nullable()
    .exactOptional()
    .describe('Whether nothing of it is begun. Default: false.'),
  paused_because: z
    .string('expected a text')
    .min(1, 'expected a text')
    .nullable()
    .exactOptional()
    .describe('Why it is paused, for those who look at it later.'),
});

export const accountsSection: Section = {
  name: 'accounts',
  about: [
    'The accounts that are mirrored. A token is never in this file: fieldmirror accounts add NAME asks for it.',
    'An account is never removed; paused: true lets it rest.',
  ],
  schema: z.record(accountName, account),
  isByAccount: true,
  advice: {
    token: 'a token is never in this file: fieldmirror accounts add asks for it',
    api_token: 'a token is never in this file: fieldmirror accounts add asks for it',
  },
  read: async (db) => {
    const held = await listAccounts(db);
    return toTree(
      held.flatMap(({name, apiUrl, timeZone, state, stateReason}) => [
        {path: [name, 'url'], value: apiUrl},
        {path: [name, 'time_zone'], value: timeZone},
        {path: [name, 'paused'], value: state === 'paused'},
        ...(state === 'paused' && stateReason !== null
          ? [{path: [name, 'paused_because'], value: stateReason}]
          : []),
      ]),
    );
  },
  defaultsOf: (tree) =>
    toTree(Object.keys(tree).map((name) => ({path: [name, 'paused'], value: false}))),
  fromEnvironment: ({before, merged}, {account: given, demo}) => {
    const own = Object.entries(merged as Accounts).filter(
      ([name, {url}]) =>
        given !== null &&
        name !== demo &&
        url !== undefined &&
        placeOf(url) === placeOf(given.apiUrl),
    );
    const made = (before as Accounts)[demo];
    return toTree([
      ...own.flatMap(([name]) => listAddress(name, given?.apiUrl, given?.timeZone)),
      ...listAddress(demo, made?.url, made?.time_zone),
    ]);
  },
  listMoot: (tree) =>
    Object.entries(tree as Accounts).flatMap(([name, {paused, paused_because}]) =>
      paused !== true && paused_because !== undefined ? [[name, 'paused_because']] : [],
    ),
  check: async (_db, {before, after}) => [
    ...listChanged<Account>({before, after}, 1).flatMap((entry) => findAccountProblems(entry)),
    ...findTwins(after as Accounts),
  ],
  apply: async (db, change) => {
    for (const {path, before, after} of listChanged<Account>(change, 1)) {
      const [name = ''] = path;
      if (after === null) continue;
      const {accountId} = await upsertAccount(db, {
        name,
        apiUrl: after.url,
        timeZone: after.time_zone,
      });
      if (after.paused === true) await pauseAccount(db, accountId, after.paused_because ?? null);
      else if (before?.paused === true) await resumeAccount(db, accountId);
    }
  },
};

function listAddress(name: string, url: string | undefined, zone: string | undefined): Leaf[] {
  return [
    ...(url === undefined ? [] : [{path: [name, 'url'], value: url}]),
    ...(zone === undefined ? [] : [{path: [name, 'time_zone'], value: zone}]),
  ];
}

function findAddressProblem(text: string): string | null {
  try {
    parseBaseUrl(text, {allowHttp: true});
    return null;
  } catch (error) {
    if (error instanceof UsageError) return error.message.replace(/^.*?: /, '');
    throw error;
  }
}

function findAccountProblems({
  path,
  before,
  after,
}: ReturnType<typeof listChanged<Account>>[number]): Problem[] {
  if (after === null) return [];
  const missing = (['url', 'time_zone'] as const).filter((key) => after[key] === undefined);
  const problems: Problem[] = missing.map((key) => ({
    path,
    text: `expected ${key}, for the account is new here, got nothing`,
  }));
  if (before !== null && placeOf(before.url) !== placeOf(after.url))
    problems.push({
      path: [...path, 'url'],
      text: `expected ${placeOf(before.url)}, which it mirrors, got ${placeOf(after.url)}: the rows of two services would be mixed; give the other one a name of its own, or, where the same business has moved, first: fieldmirror accounts move ${path.join()} --url ${after.url}`,
    });
  if (after.paused !== true && after.paused_because !== undefined)
    problems.push({
      path: [...path, 'paused_because'],
      text: 'expected it beside paused: true alone',
    });
  return problems;
}

/** The same place would be mirrored twice. */
function findTwins(accounts: Accounts): Problem[] {
  const places = Map.groupBy(
    Object.entries(accounts).filter(([, {url}]) => url !== undefined),
    ([, {url}]) => placeOf(url),
  );
  return [...places].flatMap(([place, [first, ...twins]]) =>
    twins.map(([name]) => ({
      path: [name, 'url'],
      text: `expected another address than that of ${first?.[0]}, got ${place}: it would be mirrored twice`,
    })),
  );
}

const byNumber = z.record(recordNumber, label.nullable()).exactOptional();
const kinds = z.strictObject({
  customer_type: byNumber,
  customer_source: byNumber,
  job_charge_type: byNumber,
  time_entry_type: byNumber,
  task_type: byNumber,
});

export const labelsSection: Section = {
  name: 'labels',
  about: [
    'Names for what the service sends as a number alone, by account and kind. A label of null goes.',
  ],
  schema: z.record(accountName, kinds),
  isByAccount: true,
  read: async (db) =>
    toTree(
      (await listLabels(db)).map(({account, kind, id, label: value}) => ({
        path: [account, kind, id],
        value,
      })),
    ),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<string>(change, 3)) {
      const [account = '', kind = '', id = ''] = path;
      if (after === null) await deleteLabel(db, {account, kind, id});
      else await writeLabel(db, {account, kind, id, label: after});
    }
  },
};

type Hours = readonly number[];

export const capacitySection: Section = {
  name: 'capacity',
  about: [
    'Working hours of an employee by number, Monday to Sunday, where they differ from those of the account.',
    'An employee of null works those of the account again.',
  ],
  schema: z.record(accountName, z.record(recordNumber, workingHours.nullable())),
  isByAccount: true,
  read: async (db) =>
    toTree(
      (await listCapacity(db)).map(({account, employeeNumber, workingHours: value}) => ({
        path: [account, employeeNumber],
        value,
      })),
    ),
  check: async (db, change) => {
    const known = await listEmployeeNumbers(db);
    return listChanged<Hours>(change, 2).flatMap((entry) => findProblem(entry, known));
  },
  apply: async (db, change) => {
    for (const {path, after} of listChanged<Hours>(change, 2)) {
      const [account = '', employeeNumber = ''] = path;
      if (after === null) await deleteCapacity(db, {account, employeeNumber});
      else await writeCapacity(db, {account, employeeNumber, workingHours: after});
    }
  },
};

/** Where no employee is mirrored yet, the hours wait for theirs. */
function findProblem({path, after}: Entry<Hours>, known: ReadonlyMap<string, string[]>): Problem[] {
  const [account = '', number = ''] = path;
  const numbers = known.get(account);
  if (after === null || numbers === undefined || numbers.includes(number)) return [];
  const expected = `expected the number of an employee of ${account}`;
  return [
    {
      path,
      text: `${expected}, got ${number}${nearest(number, numbers)}; warehouse.employees has them`,
    },
  ];
}

const expectedDay = 'expected a day, such as 2026-12-25';
const day = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d$/, expectedDay)
  .refine(isDay, expectedDay);

export const closedDaysSection: Section = {
  name: 'closed_days',
  about: [
    'Days on which nobody of an account works, and why. A day of null is one like any other.',
  ],
  schema: z.record(accountName, z.record(day, label.nullable())),
  isByAccount: true,
  read: async (db) =>
    toTree(
      (await listClosedDays(db)).map(({account, date, name}) => ({
        path: [account, date],
        value: name,
      })),
    ),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<string>(change, 2)) {
      const [account = '', date = ''] = path;
      if (after === null) await deleteClosedDay(db, {account, date});
      else await writeClosedDay(db, {account, date, name: after});
    }
  },
};

/** 2026-02-30 is none. */
function isDay(text: string): boolean {
  const moment = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(text);
}

interface Insight extends Tree {
  readonly currency: string;
  readonly working_hours: readonly number[];
  readonly repeat_visit_days: number;
  readonly on_time_grace_minutes: number;
}

const currency = 'expected a currency of three capital letters, such as EUR';
const days = 'expected whole days, 1 to 365';
const minutes = 'expected whole minutes, 0 to 1440';

const insight = z.strictObject({
  currency: z
    .string(currency)
    .regex(/^[A-Z]{3}$/, currency)
    .nullable()
    .exactOptional()
    .describe('Currency of the amounts of the account.'),
  working_hours: workingHours
    .nullable()
    .exactOptional()
    .describe('Hours that one technician works on Monday to Sunday.'),
  repeat_visit_days: z
    .int(days)
    .min(1, days)
    .max(365, days)
    .nullable()
    .exactOptional()
    .describe(
      'Within how many days another job of the same kind is a repeat visit. Where it is not set: 30.',
    ),
  on_time_grace_minutes: z
    .int(minutes)
    .min(0, minutes)
    .max(1440, minutes)
    .nullable()
    .exactOptional()
    .describe('How late a job may begin and still be on time. Where it is not set: 15.'),
});

export const insightSection: Section = {
  name: 'insight',
  about: [
    'What the service does not know of an account; a figure that needs what is not set is left out.',
    'Where they are not set, repeat_visit_days is 30 and on_time_grace_minutes is 15. A value of null is not set.',
  ],
  schema: z.record(accountName, insight),
  isByAccount: true,
  read: async (db) => toTree((await listInsightSettings(db)).flatMap(insightLeaves)),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<Insight>(change, 1)) {
      const [account = ''] = path;
      // A row in which nothing is set says no more than none.
      if (after === null || Object.keys(after).length === 0)
        await deleteInsightSettings(db, account);
      else
        await writeInsightSettings(db, account, {
          currency: after.currency ?? null,
          workingHours: after.working_hours ?? null,
          repeatVisitDays: after.repeat_visit_days ?? null,
          onTimeGraceMinutes: after.on_time_grace_minutes ?? null,
        });
    }
  },
};

function insightLeaves(held: InsightSettings & {readonly account: string}): Leaf[] {
  const values: Readonly<Record<string, Value | null>> = {
    currency: held.currency,
    working_hours: held.workingHours,
    repeat_visit_days: held.repeatVisitDays,
    on_time_grace_minutes: held.onTimeGraceMinutes,
  };
  return Object.entries(values).flatMap(([key, value]) =>
    value === null ? [] : [{path: [held.account, key], value}],
  );
}
