// Sections of the file of settings about accounts: their state, labels, capacity, closed days and
// reports.

import {z} from 'zod';
import {
  listAccounts,
  pauseAccount,
  resumeAccount,
  toServiceAddress,
  upsertAccount,
} from '../accounts/accounts.ts';
import {
  deleteCapacity,
  deleteClosedDay,
  deleteInsightSettings,
  deleteLabel,
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
import {findBaseUrlProblem} from '../api/addresses.ts';
import {isCalendarDay} from '../core/format.ts';
import {expectTimeZone, isTimeZone, nearest} from '../core/names.ts';
import {
  accountName,
  type EntryChange,
  label,
  leaveOutNulls,
  type Named,
  nameEntry,
  recordNumber,
  removable,
  type Section,
  type SettingProblem,
  workingHours,
} from './section.ts';

type Account = z.infer<typeof account>;

const account = z.strictObject({
  url: z
    .string('expected the base address of the account, such as https://app.example.com/acme')
    .superRefine((text, context) => {
      const problem = findBaseUrlProblem(text, true);
      if (problem !== null)
        context.addIssue({code: 'custom', message: problem, params: {isPrivate: true}});
    })
    .describe('Base address of the account at the service.'),
  time_zone: z
    .string('expected an IANA zone, such as America/New_York')
    .superRefine((zone, context) => {
      if (!isTimeZone(zone)) context.addIssue({code: 'custom', message: expectTimeZone(zone)});
    })
    .describe('IANA zone in which the account writes times without an offset.'),
  paused: z
    .boolean('expected true or false')
    .exactOptional()
    .describe('Whether nothing of it is begun. Default: false.'),
  paused_because: z
    .string('expected a text')
    .min(1, 'expected a text')
    .exactOptional()
    .describe('Why it is paused, for those who look at it later.'),
});

const tokenAdvice = 'a token is never in this file: fieldmirror accounts add prompts for it';

export const accountsSection: Section<Account> = {
  name: 'accounts',
  about: [
    'The accounts that are mirrored. A token is never in this file:',
    'fieldmirror accounts add NAME prompts for it.',
    'An account is never removed; paused: true lets it rest.',
  ],
  schema: z.record(accountName, account),
  depth: 1,
  advice: {
    token: tokenAdvice,
    api_token: tokenAdvice,
    remove: 'an account is never removed; paused: true lets it rest',
  },
  read: async (db) =>
    (await listAccounts(db)).map(({name, apiUrl, timeZone, state, stateReason}) => ({
      path: [name],
      entry: leaveOutNulls({
        url: apiUrl,
        time_zone: timeZone,
        paused: state === 'paused',
        paused_because: state === 'paused' ? stateReason : null,
      }),
    })),
  defaultsOf: () => ({paused: false}),
  fixedOf: ({path: [name], before, after}, {account: environmentAccount, demo}) => {
    if (name === demo) return before === null ? {} : {url: before.url, time_zone: before.time_zone};
    if (
      environmentAccount === null ||
      toServiceAddress(after.url) !== toServiceAddress(environmentAccount.apiUrl)
    )
      return {};
    return {url: environmentAccount.apiUrl, time_zone: environmentAccount.timeZone};
  },
  check: (_db, changes, all) => [
    ...changes.flatMap(findAccountProblems),
    ...findDuplicates(
      all,
      changes.filter(({before}) => before === null).map(({path}) => path.join()),
    ),
  ],
  write: async (db, [name = ''], after, before) => {
    const {url: apiUrl, time_zone: timeZone, paused, paused_because: reason = null} = after;
    const {accountId} = await upsertAccount(db, {name, apiUrl, timeZone});
    if (paused === true) await pauseAccount(db, accountId, reason);
    else if (before?.paused === true) await resumeAccount(db, accountId);
  },
};

function findAccountProblems({path, before, after}: EntryChange<Account>): SettingProblem[] {
  if (after === null) return [];
  const problems: SettingProblem[] = [];
  const [currentPlace, newPlace] = [
    toServiceAddress(before?.url ?? after.url),
    toServiceAddress(after.url),
  ];
  if (currentPlace !== newPlace) {
    const command = `fieldmirror accounts move ${path.join()} --url ${after.url}`;
    const expected = `expected ${currentPlace}, which it mirrors, got ${newPlace}`;
    const nextStep =
      'give the other one another name, or, where the same business has moved, first';
    const text = `${expected}: the rows of two services would be mixed; ${nextStep}: ${command}`;
    problems.push({path: [...path, 'url'], text});
  }
  if (after.paused !== true && after.paused_because !== undefined) {
    const text = 'expected it beside paused: true alone';
    problems.push({path: [...path, 'paused_because'], text});
  }
  return problems;
}

/**
 * Finds accounts with the same address: its data would be mirrored twice.
 * @param newNames - the accounts that are not in the warehouse yet
 */
function findDuplicates(
  accounts: readonly Named<Account>[],
  newNames: readonly string[],
): SettingProblem[] {
  const places = Map.groupBy(accounts, ({entry}) => toServiceAddress(entry.url));
  return [...places].flatMap(([place, [first, ...duplicates]]) =>
    duplicates.map(({path}) => {
      const names = [first?.path.join() ?? '', path.join()];
      const expected = `expected another address than that of ${names[0]}`;
      const text = `${expected}, got ${place}: it would be mirrored twice`;
      const [storedName, ...others] = names.filter((name) => !newNames.includes(name));
      const newName = names.find((name) => newNames.includes(name));
      const isRenamed = storedName !== undefined && others.length === 0;
      const nextStep = `fieldmirror accounts rename ${storedName} ${newName}`;
      return {
        path: [...path, 'url'],
        text: isRenamed ? `${text}; if it is the same account, first: ${nextStep}` : text,
      };
    }),
  );
}

const labelsByNumber = z.record(recordNumber, removable(label)).exactOptional();

export const labelsSection: Section<string> = {
  name: 'labels',
  about: ['Names for what the service sends as a number alone, by account and kind.'],
  schema: z.strictObject({
    customer_type: labelsByNumber,
    customer_source: labelsByNumber,
    job_charge_type: labelsByNumber,
    time_entry_type: labelsByNumber,
    task_type: labelsByNumber,
  }),
  depth: 3,
  isByAccount: true,
  read: async (db) =>
    (await listLabels(db)).map((row) => nameEntry([row.account, row.kind, row.id], row.label)),
  write: (db, [account = '', kind = '', id = ''], text) =>
    writeLabel(db, {account, kind, id, label: text}),
  remove: (db, [account = '', kind = '', id = '']) => deleteLabel(db, {account, kind, id}),
};

type Hours = readonly number[];

export const capacitySection: Section<Hours> = {
  name: 'capacity',
  about: [
    'Working hours of an employee by number, Monday to Sunday, where they differ from those of the',
    'account.',
  ],
  schema: z.record(recordNumber, removable(workingHours)),
  depth: 2,
  isByAccount: true,
  read: async (db) =>
    (await listCapacity(db)).map((row) =>
      nameEntry([row.account, row.employeeNumber], row.workingHours),
    ),
  check: async (db, changes) => {
    const employees = await listEmployeeNumbers(db);
    return changes.flatMap((change) => findUnknownEmployee(change, employees));
  },
  write: (db, [account = '', employeeNumber = ''], hours) =>
    writeCapacity(db, {account, employeeNumber, workingHours: hours}),
  remove: (db, [account = '', employeeNumber = '']) =>
    deleteCapacity(db, {account, employeeNumber}),
};

/** Finds working hours of an employee that is not mirrored; empty if all are mirrored. */
export function findUnknownEmployee(
  {path, after}: EntryChange<Hours>,
  employees: ReadonlyMap<string, readonly string[]>,
): SettingProblem[] {
  const [account = '', number = ''] = path;
  const numbers = employees.get(account) ?? [];
  if (after === null || numbers.includes(number)) return [];
  const expected = `expected the number of an employee of ${account}`;
  const nextStep =
    numbers.length === 0
      ? 'none is mirrored yet: leave the employee out until the first sweep has ended'
      : 'warehouse.employees has them';
  return [{path, text: `${expected}, got ${number}${nearest(number, numbers)}; ${nextStep}`}];
}

const expectedDay = 'expected a day, such as 2026-12-25';
/** A day of the calendar: `2026-12-25`. */
export const calendarDay = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d$/, expectedDay)
  .refine(isCalendarDay, expectedDay);

export const closedDaysSection: Section<string> = {
  name: 'closed_days',
  about: ['Days on which no one of an account works, and why.'],
  schema: z.record(calendarDay, removable(label)),
  depth: 2,
  isByAccount: true,
  read: async (db) =>
    (await listClosedDays(db)).map(({account, date, name}) => nameEntry([account, date], name)),
  write: (db, [account = '', date = ''], name) => writeClosedDay(db, {account, date, name}),
  remove: (db, [account = '', date = '']) => deleteClosedDay(db, {account, date}),
};

const currencyText = 'expected a currency of three capital letters, such as EUR';
const daysText = 'expected whole days, 1 to 365';
const minutesText = 'expected whole minutes, 0 to 1440';

/** The settings of an account that its figures depend on. */
export const insight = z.strictObject({
  currency: z
    .string(currencyText)
    .regex(/^[A-Z]{3}$/, currencyText)
    .exactOptional()
    .describe('Currency of the amounts of the account.'),
  working_hours: workingHours
    .exactOptional()
    .describe('Hours that one technician works on Monday to Sunday.'),
  repeat_visit_days: z
    .int(daysText)
    .min(1, daysText)
    .max(365, daysText)
    .exactOptional()
    .describe('Within how many days another job of the same kind is a repeat visit. Default: 30.'),
  on_time_grace_minutes: z
    .int(minutesText)
    .min(0, minutesText)
    .max(1440, minutesText)
    .exactOptional()
    .describe('How late a job may begin and still be on time. Default: 15.'),
});

export const insightSection: Section<z.infer<typeof insight>> = {
  name: 'insight',
  about: [
    'What the service does not know of an account; a figure that needs what is not set is',
    'left out.',
    'Where they are not set, repeat_visit_days is 30 and on_time_grace_minutes is 15.',
  ],
  schema: removable(insight),
  depth: 1,
  isByAccount: true,
  read: async (db) =>
    (await listInsightSettings(db)).map((row) => ({
      path: [row.account],
      entry: leaveOutNulls({
        currency: row.currency,
        working_hours: row.workingHours,
        repeat_visit_days: row.repeatVisitDays,
        on_time_grace_minutes: row.onTimeGraceMinutes,
      }),
    })),
  write: async (db, [account = ''], after) => {
    // A row in which nothing is set means the same as no row.
    if (Object.keys(after).length === 0) return await deleteInsightSettings(db, account);
    await writeInsightSettings(db, account, {
      currency: after.currency ?? null,
      workingHours: after.working_hours ?? null,
      repeatVisitDays: after.repeat_visit_days ?? null,
      onTimeGraceMinutes: after.on_time_grace_minutes ?? null,
    });
  },
  remove: (db, [account = '']) => deleteInsightSettings(db, account),
};
