import {z} from 'zod';
import {UsageError} from '../core/errors.ts';
import {allStreams, findStream} from '../streams/all.ts';
import type {StreamName} from '../streams/stream.ts';
import {readWindow} from '../streams/windows.ts';
import {
  deleteSchedule,
  isOfFreshness,
  listScheduleSettings,
  nameFreshness,
  planSchedules,
  type ScheduleSetting,
  writeSchedule,
} from '../sweeps/schedules.ts';
import {formatInterval, intervalMs, interval as intervalShape, isWholeDays} from './interval.ts';
import type {Problem, Section} from './section.ts';
import {listChanged, listPaths} from './setting-entries.ts';
import {accountName, label} from './setting-values.ts';
import {find, type Leaf, type Path, type Tree, toTree} from './settings-tree.ts';

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
  every: intervalShape.exactOptional().describe('How often, such as 5m, 1h or 1d.'),
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
      (await listScheduleSettings(db)).filter((each) => !isOfFreshness(each)).flatMap(toLeaves),
    ),
  defaultsOf: (tree) => toTree(Object.keys(tree).flatMap(listDefaults)),
  listMoot: (tree) =>
    listPaths(tree, 2).flatMap((path) => {
      const {every, at} = find(tree, path) as Schedule;
      return at !== undefined && every !== undefined && !isWholeDays(intervalMs(every))
        ? [[...path, 'at']]
        : [];
    }),
  check: async (_db, {before, after}) =>
    listChanged<Schedule>({before, after}, 2).flatMap(({path, after}) =>
      after === null ? [] : findProblems(path, after),
    ),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<Schedule>(change, 2)) {
      const [account = '', name = ''] = path;
      if (after === null) await deleteSchedule(db, {account, name});
      else await writeSchedule(db, toSetting(account, name, after));
    }
  },
};

function toLeaves({account, name, stream, windowName, everyMs, at}: ScheduleSetting): Leaf[] {
  const place = [account, name];
  return [
    {path: [...place, 'stream'], value: stream},
    ...(windowName === null ? [] : [{path: [...place, 'window'], value: windowName}]),
    {path: [...place, 'every'], value: formatInterval(everyMs)},
    ...(at === null ? [] : [{path: [...place, 'at'], value: `${at}Z`}]),
  ];
}

function toSetting(
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
function listDefaults(account: string): Leaf[] {
  return planSchedules(new Date(0), 'UTC').flatMap(({name, stream, windowName = null, everyMs}) =>
    toLeaves({account, name, stream, windowName, everyMs, at: null}),
  );
}

function findProblems(path: Path, wanted: Schedule): Problem[] {
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
