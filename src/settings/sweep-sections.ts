// Sections of the file of settings about sweeps: schedules, freshness, limits of deletions,
// retention.

import {z} from 'zod';
import {listAccounts} from '../accounts/accounts.ts';
import {
  type DeletionLimit,
  deleteDeletionLimit,
  listDeletionLimits,
  writeDeletionLimit,
} from '../accounts/settings.ts';
import {UsageError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';
import {
  type RetentionKind,
  readRetention,
  retentionKinds,
  setRetention,
} from '../retention/retention.ts';
import {allStreams, findStream} from '../streams/all.ts';
import type {StreamName} from '../streams/stream.ts';
import {readWindow, wholeList} from '../streams/windows.ts';
import {estimatePass} from '../sweeps/freshness.ts';
import {
  deleteSchedule,
  isOfFreshness,
  listScheduleSettings,
  nameFreshness,
  planSchedules,
  type ScheduleSetting,
  writeSchedule,
} from '../sweeps/schedules.ts';
import {listUsualCosts} from '../sweeps/story.ts';
import {
  find,
  type Leaf,
  listChanged,
  listPaths,
  type Path,
  type Problem,
  type Prospect,
  type Section,
  type Tree,
  toTree,
} from './section.ts';
import {accountName, formatInterval, interval, intervalMs, isWholeDays, label} from './values.ts';

interface Schedule extends Tree {
  readonly stream: StreamName;
  readonly window: string;
  readonly every: string;
  readonly at: string;
}

const streamNames = allStreams.map(({name}) => name);
const time = 'expected a time of day in UTC as HH:MM:SSZ, such as 03:00:00Z';

const schedule = z.strictObject({
  stream: z
    .enum(streamNames, `expected one of ${streamNames.join(', ')}`)
    .exactOptional()
    .describe('The kind of object swept.'),
  window: z
    .string('expected the name of a window, such as today')
    .nullable()
    .exactOptional()
    .describe(
      'The part of its list that is read, as in sync --window. Without it the sweep is a full one.',
    ),
  every: interval.exactOptional().describe('How often, such as 5m, 1h or 1d.'),
  at: z
    .string(time)
    .regex(/^([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ?$/, time)
    // It says its zone wherever it is told.
    .overwrite((text) => (text.endsWith('Z') ? text : `${text}Z`))
    .exactOptional()
    .describe(
      'Time of day in UTC, such as 03:00:00Z, of a schedule that comes round in whole days.',
    ),
});

export const schedulesSection: Section = {
  name: 'schedules',
  about: [
    'Sweeps that come round by themselves, by account and name. A schedule of null goes.',
    'at is a time of day in UTC, which the Z says: in summer it is another hour of the account than in winter.',
    'An account without any gets those that every account begins with at its next start.',
  ],
  schema: z.record(accountName, z.record(label, schedule.nullable())),
  isByAccount: true,
  read: async (db) =>
    toTree(
      (await listScheduleSettings(db))
        .filter((each) => !isOfFreshness(each))
        .flatMap(scheduleLeaves),
    ),
  defaultsOf: (tree) => toTree(Object.keys(tree).flatMap(listScheduleDefaults)),
  listMoot: (tree) =>
    listPaths(tree, 2).flatMap((path) => {
      const {every, at} = find(tree, path) as Schedule;
      return at !== undefined && every !== undefined && !isWholeDays(intervalMs(every))
        ? [[...path, 'at']]
        : [];
    }),
  check: async (_db, {before, after}) =>
    listChanged<Schedule>({before, after}, 2).flatMap(({path, after}) =>
      after === null ? [] : findScheduleProblems(path, after),
    ),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<Schedule>(change, 2)) {
      const [account = '', name = ''] = path;
      if (after === null) await deleteSchedule(db, {account, name});
      else await writeSchedule(db, scheduleSetting(account, name, after));
    }
  },
};

function scheduleLeaves({account, name, stream, windowName, everyMs, at}: ScheduleSetting): Leaf[] {
  const place = [account, name];
  return [
    {path: [...place, 'stream'], value: stream},
    ...(windowName === null ? [] : [{path: [...place, 'window'], value: windowName}]),
    {path: [...place, 'every'], value: formatInterval(everyMs)},
    ...(at === null ? [] : [{path: [...place, 'at'], value: `${at}Z`}]),
  ];
}

function scheduleSetting(
  account: string,
  name: string,
  {stream, window, every, at}: Schedule,
): ScheduleSetting {
  const everyMs = intervalMs(every);
  const isDaily = isWholeDays(everyMs);
  return {
    account,
    name,
    stream,
    windowName: window ?? null,
    everyMs,
    at: isDaily ? (at?.replace('Z', '') ?? null) : null,
  };
}

/** The time of day has no default: each account has its own. */
function listScheduleDefaults(account: string): Leaf[] {
  return planSchedules(new Date(0), 'UTC').flatMap(({name, stream, windowName = null, everyMs}) =>
    scheduleLeaves({account, name, stream, windowName, everyMs, at: null}),
  );
}

function findScheduleProblems(path: Path, wanted: Schedule): Problem[] {
  const owner = streamNames.find((stream) => nameFreshness(stream) === path[1]);
  if (owner !== undefined) {
    const text = `expected another name, for freshness sets this one: fieldmirror schedules set ${owner} --fresh 1h`;
    return [{path, text}];
  }
  const missing = (['stream', 'every'] as const).filter((key) => wanted[key] === undefined);
  if (missing.length > 0)
    return missing.map((key) => ({
      path,
      text: `expected ${key}, for the schedule is new, got nothing`,
    }));
  const isDaily = isWholeDays(intervalMs(wanted.every));
  const problems: Problem[] = [];
  if (isDaily && wanted.at === undefined)
    problems.push({path, text: `${time.replace('expected', 'expected at,')}, got nothing`});
  if (!isDaily && wanted.at !== undefined)
    problems.push({
      path: [...path, 'at'],
      text: `expected it with whole days alone, such as every: 1d, got every: ${wanted.every}`,
    });
  const window = wanted.window === undefined ? null : findWindowProblem(wanted);
  return window === null ? problems : [...problems, {path: [...path, 'window'], text: window}];
}

function findWindowProblem({stream, window}: Schedule): string | null {
  try {
    readWindow(findStream(stream), window);
    return null;
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

const leastMs = 60_000;
const tooShort = 'expected an interval of a minute or more, such as 1h or 15m';

const freshness = interval.refine((text) => intervalMs(text) >= leastMs, tooShort);

export const freshnessSection: Section = {
  name: 'freshness',
  about: [
    'How old what is known of a stream may become during the day, by account and stream: its whole list is read once so often.',
    'Where nothing is set, the full sweeps by night alone read the whole list.',
  ],
  schema: z.record(
    accountName,
    z.strictObject(
      Object.fromEntries(
        allStreams.map(({name}) => [
          name,
          freshness
            .nullable()
            .exactOptional()
            .describe(
              `How often the whole list of ${name} is read, such as 1h. Each time costs a request a page.`,
            ),
        ]),
      ),
    ),
  ),
  isByAccount: true,
  read: async (db) =>
    toTree(
      (await listScheduleSettings(db)).filter(isOfFreshness).map(({account, stream, everyMs}) => ({
        path: [account, stream],
        value: formatInterval(everyMs),
      })),
    ),
  check: async (db, prospect) => await findTooOften(db, prospect),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<string>(change, 2)) {
      const [account = '', stream = ''] = path;
      const name = nameFreshness(stream);
      if (after === null) await deleteSchedule(db, {account, name});
      else
        await writeSchedule(
          db,
          {...freshnessSetting(account, stream, after), name},
          {isDueNow: true},
        );
    }
  },
};

function freshnessSetting(
  account: string,
  stream: string,
  every: string,
): Omit<ScheduleSetting, 'name'> {
  // The path has been checked: its second key is a stream.
  return {
    account,
    stream: stream as StreamName,
    windowName: wholeList,
    everyMs: intervalMs(every),
    at: null,
  };
}

/**
 * A pass that takes longer than half its interval hardly ends before the next: such a promise is
 * not kept.
 */
async function findTooOften(db: Queryable, {before, after}: Prospect): Promise<Problem[]> {
  const changed = listChanged<string>({before, after}, 2);
  if (changed.length === 0) return [];
  const accounts = await listAccounts(db);
  const costs = await listUsualCosts(
    db,
    accounts.map(({accountId}) => accountId),
  );
  return changed.flatMap(({path, after: every}) => {
    const [name, stream = ''] = path;
    const accountId = accounts.find((account) => account.name === name)?.accountId;
    const pass = estimatePass(
      costs.filter((cost) => cost.accountId === accountId),
      stream,
    );
    if (every === null || pass === null || pass.seconds * 2_000 <= intervalMs(every)) return [];
    const least = formatInterval(Math.ceil((pass.seconds * 2_000) / leastMs) * leastMs);
    const text = `expected ${least} or more, for one pass over ${stream} takes ${Math.ceil(pass.seconds)} seconds, got ${every}`;
    return [{path, text}];
  });
}

const expectedLimit =
  'expected a number of rows, such as 20, or a share of the live ones, such as 5%';
const mostRows = 2_147_483_647;
const limit = z
  .union([z.number(), z.string()], expectedLimit)
  .transform(String)
  .refine((text) => parseLimit(text) !== null, expectedLimit);

export const deletionsSection: Section = {
  name: 'deletions',
  about: [
    'How many rows one full sweep may mark as deleted before a person approves it, by account and stream: rows, or a share.',
    'Where nothing is set: 2 % or 50 rows, whichever is more, but never above 10 % and 3 rows.',
  ],
  schema: z.record(
    accountName,
    z.strictObject(
      Object.fromEntries(
        allStreams
          .filter(({isDeletable}) => isDeletable)
          .map(({name}) => [
            name,
            limit
              .nullable()
              .exactOptional()
              .describe(
                `How many rows of ${name} one sweep may mark as deleted, such as 20 or 5%.`,
              ),
          ]),
      ),
    ),
  ),
  isByAccount: true,
  read: async (db) =>
    toTree(
      (await listDeletionLimits(db)).map((held) => ({
        path: [held.account, held.stream],
        value: formatLimit(held.limit),
      })),
    ),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<string>(change, 2)) {
      const [account = '', stream = ''] = path;
      const parsed = after === null ? null : parseLimit(after);
      if (parsed === null) await deleteDeletionLimit(db, {account, stream});
      else await writeDeletionLimit(db, {account, stream, limit: parsed});
    }
  },
};

/** `20` is rows, `5%` or `2.5%` a share; null for anything else. */
function parseLimit(text: string): DeletionLimit | null {
  const [, amount, percent] = /^(\d{1,10}|\d{1,3}\.\d{1,3}(?=\s*%))\s*(%?)$/.exec(text) ?? [];
  if (amount === undefined) return null;
  const number = Number(amount);
  if (percent === '%') return number <= 100 ? {percent: number} : null;
  return number <= mostRows ? {rows: number} : null;
}

function formatLimit(held: DeletionLimit): string {
  return 'rows' in held ? String(held.rows) : `${held.percent}%`;
}

const forever = 'forever';

export const retentionSection: Section = {
  name: 'retention',
  about: [
    'How long what grows with time is kept, in whole days such as 90d, or forever. What is older is removed, and does not come back.',
    'A value of null is the default again.',
  ],
  schema: z.strictObject(
    Object.fromEntries(retentionKinds.map((kind) => [kind.name, shapeOf(kind)])),
  ),
  isByAccount: false,
  read: async (db) =>
    toTree(
      (await readRetention(db)).kinds.map(({kind, days}) => ({path: [kind], value: show(days)})),
    ),
  defaultsOf: () =>
    toTree(retentionKinds.map(({name, defaultDays}) => ({path: [name], value: show(defaultDays)}))),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<string>(change, 1)) {
      const kind = retentionKinds.find(({name}) => name === path[0]);
      if (kind === undefined) continue;
      await setRetention(db, kind.name, after === null ? kind.defaultDays : readDays(after));
    }
  },
};

function shapeOf({leastDays, defaultDays, about, hasEnd = false}: RetentionKind) {
  const expected = `expected whole days from ${leastDays}d on, such as 90d${hasEnd ? '' : `, or ${forever}`}`;
  return z
    .string(expected)
    .regex(hasEnd ? /^[1-9]\d{0,4}d$/ : /^(?:[1-9]\d{0,4}d|forever)$/, expected)
    .refine((text) => (readDays(text) ?? leastDays) >= leastDays, expected)
    .nullable()
    .exactOptional()
    .describe(`${about} Default: ${show(defaultDays)}; least: ${leastDays}d.`);
}

function show(days: number | null): string {
  return days === null ? forever : `${days}d`;
}

/** @returns null for `forever` */
function readDays(text: string): number | null {
  return text === forever ? null : Number.parseInt(text, 10);
}
