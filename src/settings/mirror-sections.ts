// Sections of the file of settings about the mirror: schedules, freshness, limits of deletions and
// edits, retention, the fields that become columns, and who may write which.

import {z} from 'zod';
import {listAccounts} from '../accounts/accounts.ts';
import {
  deleteRowLimit,
  type LimitKind,
  listRowLimits,
  type RowLimit,
  writeRowLimit,
} from '../accounts/settings.ts';
import {type Rule, readRules, setRule} from '../changes/write-rules.ts';
import {UsageError} from '../core/errors.ts';
import {formatInterval, isWholeDays} from '../core/format.ts';
import {nearest} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';
import {
  type RetentionKind,
  readRetention,
  retentionKinds,
  setRetention,
} from '../retention/retention.ts';
import {demoteField, listPromotions, listSeenFields, promoteField} from '../star/fields.ts';
import {allStreams, allTables, findStream} from '../streams/all.ts';
import {readWindow, wholeList} from '../streams/stream.ts';
import {estimatePass} from '../sweeps/freshness.ts';
import {
  deleteSchedule,
  isOfFreshness,
  listScheduleSettings,
  nameFreshness,
  planSchedules,
  writeSchedule,
} from '../sweeps/schedules.ts';
import {listUsualCosts} from '../sweeps/story.ts';
import {
  type EntryChange,
  interval,
  intervalMs,
  known,
  label,
  type Named,
  named,
  removable,
  type Section,
  type SettingProblem,
} from './section.ts';

const streamNames = allStreams.map(({name}) => name);
const timeShape = 'a time of day in UTC as HH:MM:SSZ, such as 03:00:00Z';
const time = `expected ${timeShape}`;

/** Freshness sets a separate schedule for each stream. */
export const scheduleName = label.superRefine((name, context) => {
  const stream = streamNames.find((each) => nameFreshness(each) === name);
  if (stream === undefined) return;
  const command = `fieldmirror schedules set ${stream} --fresh 1h`;
  const message = `expected another name, for freshness sets this one: ${command}`;
  context.addIssue({code: 'custom', message});
});

export const schedule = z.strictObject({
  stream: z
    .enum(streamNames, `expected one of ${streamNames.join(', ')}`)
    .describe('The kind of object swept.'),
  window: z
    .string('expected the name of a window, such as today')
    .exactOptional()
    .describe(
      'The part of its list that is read, as in sync --window. Without it the sweep is a full one.',
    ),
  every: interval.describe('How often, such as 5m, 1h or 1d.'),
  at: z
    .string(time)
    .regex(/^([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ?$/, time)
    // The time has its zone wherever it is shown.
    .overwrite((text) => (text.endsWith('Z') ? text : `${text}Z`))
    .exactOptional()
    .describe(
      'Time of day in UTC, such as 03:00:00Z, of a schedule that comes round in whole days.',
    ),
});

type Schedule = Omit<z.infer<typeof schedule>, 'stream'> & {readonly stream: string};

export const schedulesSection: Section<Schedule> = {
  name: 'schedules',
  about: [
    'Sweeps that run automatically, by account and name.',
    'at is a time of day in UTC, which the Z says: in summer it is another hour of the account',
    'than in winter.',
    'An account without any gets those that every account begins with at its next start.',
  ],
  schema: z.record(scheduleName, removable(schedule)),
  depth: 2,
  isByAccount: true,
  read: async (db) =>
    (await listScheduleSettings(db))
      .filter((held) => !isOfFreshness(held))
      .map(({account, name, stream, windowName: window, everyMs, at}) => ({
        path: [account, name],
        entry: known({
          ...{stream, window, every: formatInterval(everyMs)},
          at: at === null ? null : `${at}Z`,
        }),
      })),
  // The time of day is not built in: each account has its own.
  builtIn: ([, name]) =>
    planSchedules(new Date(0), 'UTC')
      .filter((plan) => plan.name === name)
      .map(({stream, windowName: window = null, everyMs}) =>
        known({stream, window, every: formatInterval(everyMs)}),
      )[0],
  check: (_db, changes) => changes.flatMap(findScheduleProblems),
  write: (db, [account = '', name = ''], {stream, window = null, every, at = null}) =>
    writeSchedule(db, {
      ...{account, name, stream, windowName: window, everyMs: intervalMs(every)},
      at: at?.replace('Z', '') ?? null,
    }),
  remove: (db, [account = '', name = '']) => deleteSchedule(db, {account, name}),
};

function findScheduleProblems({path, after}: EntryChange<Schedule>): SettingProblem[] {
  if (after === null) return [];
  const isDaily = isWholeDays(intervalMs(after.every));
  const problems: SettingProblem[] = [];
  if (isDaily && after.at === undefined)
    problems.push({path, text: `expected at, ${timeShape}, got nothing`});
  if (!isDaily && after.at !== undefined) {
    const expected = 'expected it with whole days alone, such as every: 1d';
    problems.push({path: [...path, 'at'], text: `${expected}, got every: ${after.every}`});
  }
  const problem = findWindowProblem(after);
  return problem === null ? problems : [...problems, {path: [...path, 'window'], text: problem}];
}

function findWindowProblem({stream, window}: Schedule): string | null {
  try {
    if (window !== undefined) readWindow(findStream(stream), window);
    return null;
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

const leastMs = 60_000;
const tooShort = 'expected an interval of a minute or more, such as 1h or 15m';

export const freshness = interval
  .refine((text) => intervalMs(text) >= leastMs, tooShort)
  .describe('How often the whole list is read, such as 1h. Each time costs a request a page.');

export const freshnessSection: Section<string> = {
  name: 'freshness',
  about: [
    'How old what is known of a stream may become during the day, by account and stream: its',
    'whole list is read once so often.',
    'Where nothing is set, the full sweeps by night alone read the whole list.',
  ],
  schema: byStream(streamNames, freshness),
  depth: 2,
  isByAccount: true,
  read: async (db) =>
    (await listScheduleSettings(db))
      .filter(isOfFreshness)
      .map(({account, stream, everyMs}) => named([account, stream], formatInterval(everyMs))),
  check: findTooOften,
  write: (db, [account = '', stream = ''], every) => {
    const name = nameFreshness(stream);
    const everyMs = intervalMs(every);
    const plan = {account, name, stream: findStream(stream).name, windowName: wholeList, everyMs};
    return writeSchedule(db, {...plan, at: null}, {isDueNow: true});
  },
  remove: (db, [account = '', stream = '']) =>
    deleteSchedule(db, {account, name: nameFreshness(stream)}),
};

/** The shape of a section that has one entry per stream or table. */
function byStream(names: readonly string[], entry: z.ZodType<string>) {
  const streams = names.map((name) => [name, removable(entry).exactOptional()] as const);
  return z.strictObject(Object.fromEntries(streams));
}

/**
 * A pass that takes longer than half its interval hardly ends before the next one is due: such a
 * promise is not kept.
 */
async function findTooOften(
  db: Queryable,
  changes: readonly EntryChange<string>[],
): Promise<SettingProblem[]> {
  const accounts = await listAccounts(db);
  const ids = accounts.map(({accountId}) => accountId);
  const costs = changes.length === 0 ? [] : await listUsualCosts(db, ids);
  return changes.flatMap(({path, after: every}) => {
    const [name, stream = ''] = path;
    const accountId = accounts.find((account) => account.name === name)?.accountId;
    const own = costs.filter((cost) => cost.accountId === accountId);
    const pass = estimatePass(own, stream);
    if (every === null || pass === null || pass.seconds * 2_000 <= intervalMs(every)) return [];
    const least = formatInterval(Math.ceil((pass.seconds * 2_000) / leastMs) * leastMs);
    const seconds = Math.ceil(pass.seconds);
    const reason = `for one pass over ${stream} takes ${seconds} seconds`;
    return [{path, text: `expected ${least} or more, ${reason}, got ${every}`}];
  });
}

const expectedLimit =
  'expected a number of rows, such as 20, or a share of the live ones, such as 5%';
const mostRows = 2_147_483_647;
const limit = z
  .union([z.number(), z.string()], expectedLimit)
  .transform(String)
  .refine((text) => parseLimit(text) !== null, expectedLimit);

export const deletionsSection: Section<string> = {
  name: 'deletions',
  about: [
    'How many rows one full sweep may mark as deleted before a person approves it, by account and',
    'stream: rows, or a share.',
    'Where nothing is set: 2 % or 50 rows, whichever is more, but never above 10 % and 3 rows.',
  ],
  schema: byStream(
    allStreams.filter(({isDeletable}) => isDeletable).map(({name}) => name),
    limit.describe('How many rows one sweep may mark as deleted, such as 20 or 5%.'),
  ),
  ...limits('deletions'),
};

/** An assignment of employees is a change of its job. */
const editedTables = allTables.filter(
  ({name, writable}) => writable.length > 0 && name !== 'job_employees',
);

export const editsSection: Section<string> = {
  name: 'edits',
  about: [
    'How many rows of a table one transaction may update or delete before a person releases its',
    'changes, by account and table: rows, or a share.',
    'Where nothing is set: a quarter of the rows, in a table that has more than 20.',
  ],
  schema: byStream(
    editedTables.map(({name}) => name),
    limit.describe('How many rows one transaction may update or delete, such as 500 or 50%.'),
  ),
  ...limits('edits'),
};

/** The entries of a section of limits. */
function limits(
  kind: LimitKind,
): Pick<Section<string>, 'depth' | 'isByAccount' | 'read' | 'write' | 'remove'> {
  return {
    depth: 2,
    isByAccount: true,
    read: async (db) =>
      (await listRowLimits(db, kind)).map((held) =>
        named([held.account, held.of], formatLimit(held.limit)),
      ),
    write: async (db, [account = '', of = ''], text) => {
      const parsed = parseLimit(text);
      if (parsed !== null) await writeRowLimit(db, kind, {account, of, limit: parsed});
    },
    remove: (db, [account = '', of = '']) => deleteRowLimit(db, kind, {account, of}),
  };
}

/** `20` is rows, `5%` or `2.5%` a share; null for anything else. */
function parseLimit(text: string): RowLimit | null {
  const [, amount, percent] = /^(\d{1,10}|\d{1,3}\.\d{1,3}(?=\s*%))\s*(%?)$/.exec(text) ?? [];
  if (amount === undefined) return null;
  const number = Number(amount);
  if (percent === '%') return number <= 100 ? {percent: number} : null;
  return number <= mostRows ? {rows: number} : null;
}

function formatLimit(held: RowLimit): string {
  return 'rows' in held ? String(held.rows) : `${held.percent}%`;
}

const forever = 'forever';

export const retentionSection: Section<string> = {
  name: 'retention',
  about: [
    'How long what grows with time is kept, in whole days such as 90d, or forever.',
    'What is older is removed, and does not come back.',
  ],
  schema: z.strictObject(
    Object.fromEntries(retentionKinds.map((kind) => [kind.name, shapeOf(kind)])),
  ),
  depth: 1,
  read: async (db) =>
    (await readRetention(db)).kinds.map(({kind, days}) => ({path: [kind], entry: show(days)})),
  builtIn: ([kind]) => {
    const preset = retentionKinds.find(({name}) => name === kind);
    return preset === undefined ? undefined : show(preset.defaultDays);
  },
  write: async (db, [kind], after) => {
    const preset = retentionKinds.find(({name}) => name === kind);
    if (preset !== undefined) await setRetention(db, preset.name, readDays(after));
  },
};

function shapeOf({leastDays, defaultDays, about, hasEnd = false}: RetentionKind) {
  const choice = hasEnd ? '' : `, or ${forever}`;
  const expected = `expected whole days from ${leastDays}d on, such as 90d${choice}`;
  return z
    .string(expected)
    .regex(hasEnd ? /^[1-9]\d{0,4}d$/ : /^(?:[1-9]\d{0,4}d|forever)$/, expected)
    .refine((text) => (readDays(text) ?? leastDays) >= leastDays, expected)
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

const nameText =
  'expected a name of at most 63 small letters, digits and underscores, a letter first';
const typeText = 'expected the name of a type';

type Promotion = z.infer<typeof promotion>;

const promotion = z.strictObject({
  name: z
    .string(nameText)
    .regex(/^[a-z][a-z0-9_]{0,62}$/, nameText)
    .describe('The column of the view of the table in mart.'),
  types: z
    .array(z.string(typeText).regex(/^\w+$/, typeText), 'expected a list of types')
    .readonly()
    .exactOptional()
    .describe('The types that the field is sent with: they count where no sweep has seen it yet.'),
});

const table = z.record(label, removable(promotion)).exactOptional();

export const promotedFieldsSection: Section<Promotion> = {
  name: 'promoted_fields',
  about: [
    'Custom fields that are columns of mart, by account, table and field.',
    'The types count only where no sweep has seen the field yet.',
  ],
  schema: z.strictObject(Object.fromEntries(allTables.map(({name}) => [name, table]))),
  depth: 3,
  isByAccount: true,
  observed: ['types'],
  read: async (db) =>
    (await listPromotions(db)).map(({account, table: place, field, name, types}) =>
      named([account, place, field], {name, types}),
    ),
  check: async (db, changes, all) => {
    const seen = await listSeenFields(db);
    return changes.flatMap((each) => [...findUnknown(each, seen), ...findTaken(each, all)]);
  },
  write: (db, [account = '', place = '', field = ''], {name, types = []}) => {
    const stream = findStreamOf(place);
    return promoteField(db, {account, table: place, field, name, types, stream});
  },
  remove: (db, [account = '', place = '', field = '']) =>
    demoteField(db, {account, table: place, field}),
};

function findUnknown(
  {path, after}: EntryChange<Promotion>,
  seen: ReadonlyMap<string, string[]>,
): SettingProblem[] {
  const [account = '', place = '', field = ''] = path;
  const fields = seen.get(`${account} ${place}`);
  if (after === null || fields === undefined || fields.includes(field)) return [];
  const expected = `expected a field of ${place} that sweeps of ${account} have seen`;
  const got = `got ${field}${nearest(field, fields)}; sync.fields lists them`;
  return [{path, text: `${expected} and that has no column, ${got}`}];
}

/** Finds a name that another field or column has. */
function findTaken(
  {path, after}: EntryChange<Promotion>,
  all: readonly Named<Promotion>[],
): SettingProblem[] {
  const [account, place, field] = path;
  const columns = allTables.find((each) => each.name === place)?.columns ?? [];
  const twin = all.find(
    ({path: [other, beside, name], entry}) =>
      other === account && beside === place && name !== field && entry.name === after?.name,
  );
  if (twin === undefined && !columns.some(({name}) => name === after?.name)) return [];
  const holder = twin === undefined ? `a column of ${place}` : twin.path[2];
  const text = `expected a name that is free, got ${after?.name}, which ${holder} has`;
  return [{path: [...path, 'name'], text}];
}

function findStreamOf(name: string): string {
  const stream = allStreams.find(
    ({table: own, children}) =>
      own.name === name || children.some((child) => child.table.name === name),
  );
  return stream?.name ?? name;
}

const rules = ['service', 'warehouse', 'newest', 'ask'] as const satisfies readonly Rule[];

const rule = z
  .enum(rules, `expected one of ${rules.join(', ')}`)
  .exactOptional()
  .describe(
    'Whose value counts: service, warehouse, newest, or ask (a person decides). Default: ask.',
  );

const byTable = allTables
  .filter(({writable}) => writable.length > 0)
  .map(({name, writable}) => {
    const fields = z.strictObject(Object.fromEntries(writable.map((field) => [field.name, rule])));
    return [name, fields.exactOptional()] as const;
  });

export const writeRulesSection: Section<Rule> = {
  name: 'write_rules',
  about: [
    'Whose value counts where the service and the warehouse changed a field: service, warehouse,',
    'newest or ask. The rule of every field that is not here is ask.',
  ],
  schema: z.strictObject(Object.fromEntries(byTable)),
  depth: 2,
  hidesBuiltIn: true,
  read: async (db) =>
    [...(await readRules(db))]
      .flatMap(([place, fields]) =>
        [...fields].map(([field, held]) => ({path: [place, field], entry: held.rule})),
      )
      .toSorted((left, right) => (left.path.join() < right.path.join() ? -1 : 1)),
  builtIn: () => 'ask',
  write: (db, [place = '', field = ''], after) => setRule(db, {table: place, field, rule: after}),
};
