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
import {type Rule, readRules, setRule} from '../changes/authored-rows.ts';
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
  isFreshnessSchedule,
  listScheduleSettings,
  nameFreshnessSchedule,
  planSchedules,
  writeSchedule,
} from '../sweeps/schedules.ts';
import {listUsualCosts} from '../sweeps/story.ts';
import {
  type EntryChange,
  interval,
  intervalMs,
  label,
  leaveOutNulls,
  type Named,
  nameEntry,
  removable,
  type Section,
  type SettingProblem,
} from './section.ts';

const streamNames = allStreams.map(({name}) => name);
const timeShape = 'a time of day in UTC as HH:MM:SSZ, such as 03:00:00Z';
const timeText = `expected ${timeShape}`;

/** Freshness sets a separate schedule for each stream. */
export const scheduleName = label.superRefine((name, context) => {
  const stream = streamNames.find((candidate) => nameFreshnessSchedule(candidate) === name);
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
    .string(timeText)
    .regex(/^([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ?$/, timeText)
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
      .filter((row) => !isFreshnessSchedule(row))
      .map(({account, name, stream, windowName: window, everyMs, at}) => ({
        path: [account, name],
        entry: leaveOutNulls({
          stream,
          window,
          every: formatInterval(everyMs),
          at: at === null ? null : `${at}Z`,
        }),
      })),
  // The time of day is not built in: each account has its own.
  builtIn: ([, name]) =>
    planSchedules(new Date(0), 'UTC')
      .filter((plan) => plan.name === name)
      .map(({stream, windowName: window = null, everyMs}) =>
        leaveOutNulls({stream, window, every: formatInterval(everyMs)}),
      )[0],
  check: (_db, changes) => changes.flatMap(findScheduleProblems),
  write: (db, [account = '', name = ''], {stream, window = null, every, at = null}) =>
    writeSchedule(db, {
      account,
      name,
      stream,
      windowName: window,
      everyMs: intervalMs(every),
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
  schema: buildStreamSchema(streamNames, freshness),
  depth: 2,
  isByAccount: true,
  read: async (db) =>
    (await listScheduleSettings(db))
      .filter(isFreshnessSchedule)
      .map(({account, stream, everyMs}) => nameEntry([account, stream], formatInterval(everyMs))),
  check: findTooOften,
  write: (db, [account = '', stream = ''], every) => {
    const name = nameFreshnessSchedule(stream);
    const everyMs = intervalMs(every);
    const plan = {account, name, stream: findStream(stream).name, windowName: wholeList, everyMs};
    return writeSchedule(db, {...plan, at: null}, {isDueNow: true});
  },
  remove: (db, [account = '', stream = '']) =>
    deleteSchedule(db, {account, name: nameFreshnessSchedule(stream)}),
};

/** The shape of a section that has one entry per stream or table. */
function buildStreamSchema(names: readonly string[], entry: z.ZodType<string>) {
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
    const accountCosts = costs.filter((cost) => cost.accountId === accountId);
    const pass = estimatePass(accountCosts, stream);
    if (every === null || pass === null || pass.seconds * 2_000 <= intervalMs(every)) return [];
    const leastInterval = formatInterval(Math.ceil((pass.seconds * 2_000) / leastMs) * leastMs);
    const seconds = Math.ceil(pass.seconds);
    const reason = `for one pass over ${stream} takes ${seconds} seconds`;
    return [{path, text: `expected ${leastInterval} or more, ${reason}, got ${every}`}];
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
  schema: buildStreamSchema(
    allStreams.filter(({isDeletable}) => isDeletable).map(({name}) => name),
    limit.describe('How many rows one sweep may mark as deleted, such as 20 or 5%.'),
  ),
  ...buildLimitSection('deletions'),
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
  schema: buildStreamSchema(
    editedTables.map(({name}) => name),
    limit.describe('How many rows one transaction may update or delete, such as 500 or 50%.'),
  ),
  ...buildLimitSection('edits'),
};

/** The entries of a section of limits. */
function buildLimitSection(
  kind: LimitKind,
): Pick<Section<string>, 'depth' | 'isByAccount' | 'read' | 'write' | 'remove'> {
  return {
    depth: 2,
    isByAccount: true,
    read: async (db) =>
      (await listRowLimits(db, kind)).map((row) =>
        nameEntry([row.account, row.of], formatLimit(row.limit)),
      ),
    write: async (db, [account = '', streamOrTable = ''], text) => {
      const parsed = parseLimit(text);
      if (parsed !== null)
        await writeRowLimit(db, kind, {account, of: streamOrTable, limit: parsed});
    },
    remove: (db, [account = '', streamOrTable = '']) =>
      deleteRowLimit(db, kind, {account, of: streamOrTable}),
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

function formatLimit(rowLimit: RowLimit): string {
  return 'rows' in rowLimit ? String(rowLimit.rows) : `${rowLimit.percent}%`;
}

const forever = 'forever';

export const retentionSection: Section<string> = {
  name: 'retention',
  about: [
    'How long what grows with time is kept, in whole days such as 90d, or forever.',
    'What is older is removed, and does not come back.',
  ],
  schema: z.strictObject(
    Object.fromEntries(retentionKinds.map((kind) => [kind.name, buildRetentionSchema(kind)])),
  ),
  depth: 1,
  read: async (db) =>
    (await readRetention(db)).kinds.map(({kind, days}) => ({
      path: [kind],
      entry: formatDays(days),
    })),
  builtIn: ([kind]) => {
    const retentionKind = retentionKinds.find(({name}) => name === kind);
    return retentionKind === undefined ? undefined : formatDays(retentionKind.defaultDays);
  },
  write: async (db, [kind], after) => {
    const retentionKind = retentionKinds.find(({name}) => name === kind);
    if (retentionKind !== undefined) await setRetention(db, retentionKind.name, readDays(after));
  },
};

function buildRetentionSchema({leastDays, defaultDays, about, hasEnd = false}: RetentionKind) {
  const choice = hasEnd ? '' : `, or ${forever}`;
  const expected = `expected whole days from ${leastDays}d on, such as 90d${choice}`;
  return z
    .string(expected)
    .regex(hasEnd ? /^[1-9]\d{0,4}d$/ : /^(?:[1-9]\d{0,4}d|forever)$/, expected)
    .refine((text) => (readDays(text) ?? leastDays) >= leastDays, expected)
    .exactOptional()
    .describe(`${about} Default: ${formatDays(defaultDays)}; least: ${leastDays}d.`);
}

function formatDays(days: number | null): string {
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

const promotionsOfTable = z.record(label, removable(promotion)).exactOptional();

export const promotedFieldsSection: Section<Promotion> = {
  name: 'promoted_fields',
  about: [
    'Custom fields that are columns of mart, by account, table and field.',
    'The types count only where no sweep has seen the field yet.',
  ],
  schema: z.strictObject(Object.fromEntries(allTables.map(({name}) => [name, promotionsOfTable]))),
  depth: 3,
  isByAccount: true,
  observed: ['types'],
  read: async (db) =>
    (await listPromotions(db)).map(({account, table: tableName, field, name, types}) =>
      nameEntry([account, tableName, field], {name, types}),
    ),
  check: async (db, changes, all) => {
    const seenFields = await listSeenFields(db);
    return changes.flatMap((change) => [
      ...findUnknownField(change, seenFields),
      ...findTakenName(change, all),
    ]);
  },
  write: (db, [account = '', tableName = '', field = ''], {name, types = []}) => {
    const stream = findStreamOf(tableName);
    return promoteField(db, {account, table: tableName, field, name, types, stream});
  },
  remove: (db, [account = '', tableName = '', field = '']) =>
    demoteField(db, {account, table: tableName, field}),
};

function findUnknownField(
  {path, after}: EntryChange<Promotion>,
  seenFields: ReadonlyMap<string, string[]>,
): SettingProblem[] {
  const [account = '', tableName = '', field = ''] = path;
  const fields = seenFields.get(`${account} ${tableName}`);
  if (after === null || fields === undefined || fields.includes(field)) return [];
  const expected = `expected a field of ${tableName} that sweeps of ${account} have seen`;
  const gotText = `got ${field}${nearest(field, fields)}; sync.fields lists them`;
  return [{path, text: `${expected} and that has no column, ${gotText}`}];
}

/** Finds a name that another field or column has. */
function findTakenName(
  {path, after}: EntryChange<Promotion>,
  all: readonly Named<Promotion>[],
): SettingProblem[] {
  const [account, tableName, field] = path;
  const columns = allTables.find((candidate) => candidate.name === tableName)?.columns ?? [];
  const duplicate = all.find(
    ({path: [otherAccount, otherTable, otherField], entry}) =>
      otherAccount === account &&
      otherTable === tableName &&
      otherField !== field &&
      entry.name === after?.name,
  );
  if (duplicate === undefined && !columns.some(({name}) => name === after?.name)) return [];
  const holder = duplicate === undefined ? `a column of ${tableName}` : duplicate.path[2];
  const text = `expected a name that is free, got ${after?.name}, which ${holder} has`;
  return [{path: [...path, 'name'], text}];
}

function findStreamOf(name: string): string {
  const stream = allStreams.find(
    ({table: streamTable, children}) =>
      streamTable.name === name || children.some((child) => child.table.name === name),
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

const tableSchemas = allTables
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
  schema: z.strictObject(Object.fromEntries(tableSchemas)),
  depth: 2,
  hidesBuiltIn: true,
  read: async (db) =>
    [...(await readRules(db))]
      .flatMap(([tableName, fields]) =>
        [...fields].map(([field, fieldRule]) => ({
          path: [tableName, field],
          entry: fieldRule.rule,
        })),
      )
      .toSorted((left, right) => (left.path.join() < right.path.join() ? -1 : 1)),
  builtIn: () => 'ask',
  write: (db, [tableName = '', field = ''], after) =>
    setRule(db, {table: tableName, field, rule: after}),
};
