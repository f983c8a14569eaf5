// Sections of the file of settings about receivers: rules of alerts, subscribers of the feed, the
// delivery of the star, and the weekly report by e-mail. Addresses and secrets of receivers are
// never in the file; keys of storage and the mail server are in the environment of the worker.

import {posix} from 'node:path';
import {z} from 'zod';
import {
  deleteRule,
  listRuleSettings,
  usualEveryMs,
  usualQuietMs,
  writeRuleSetting,
} from '../alerts/alerts.ts';
import {causes, receivers} from '../core/errors.ts';
import {formatInterval} from '../core/format.ts';
import {
  defaultSystem,
  isHost,
  isMailbox,
  nearest,
  shortName,
  shortNameText,
} from '../core/names.ts';
import {defaultKeep, defaultRegion, parseBucket} from '../delivery/store.ts';
import {
  deleteReportList,
  deleteTarget,
  listReportListSettings,
  listTargetSettings,
  writeReportList,
  writeTargetSetting,
} from '../delivery/targets.ts';
import {listFeedColumns} from '../feed/feed.ts';
import {
  deleteHook,
  listAuthors,
  listHookSettings,
  listWriters,
  spellWriter,
  writeHookSetting,
} from '../feed/hooks.ts';
import {defaultEntries, maxEntries} from '../feed/terms.ts';
import {allTables} from '../streams/all.ts';
import {
  accountName,
  type EntryChange,
  interval,
  intervalMs,
  isSame,
  leaveOutNulls,
  type Named,
  removable,
  type Section,
  type SettingProblem,
} from './section.ts';

const receiverName = z.string().regex(shortName, shortNameText);
const yesOrNo = z.boolean('expected true or false');

/** The host of a sealed address. */
function buildHostSchema(example: string, secret: string) {
  const expected = `expected the host of its address alone, such as ${example}; ${secret}`;
  return z.string(expected).superRefine((text, context) => {
    // The message would repeat a whole address.
    if (!isHost(text))
      context.addIssue({code: 'custom', message: expected, params: {isPrivate: true}});
  });
}

const ruleSecretAdvice =
  "a receiver's address, a server of e-mail and a secret are never in this file: " +
  'fieldmirror alerts add NAME prompts for them';
const secretKeys = ['url', 'address', 'secret', 'smtp', 'webhook', 'slack', 'ping'];
const toText = 'expected one address of e-mail, such as ops@example.com';
const causeText = `expected one of ${causes.join(', ')}`;
/** A row of a newer version may hold another word; a file of settings may not name one. */
const causeName: z.ZodType<string> = z.enum(causes, {
  error: ({input}) => `${causeText}${typeof input === 'string' ? nearest(input, causes) : ''}`,
});
const span = interval.refine(
  (text) => !/^\d{1,3}ms$/.test(text),
  'expected an interval of 1s or more',
);

const rule = z.strictObject({
  receiver: z
    .enum(receivers, `expected one of ${receivers.join(', ')}`)
    .describe('How it receives alerts; a ping comes for as long as nothing is wrong.'),
  host: buildHostSchema('hooks.example.com', ruleSecretAdvice)
    .exactOptional()
    .describe(
      'The host of its address, for a reader; alerts add gives the address. Not with email.',
    ),
  to: z
    .string(toText)
    .refine(isMailbox, toText)
    .exactOptional()
    .describe('With email: the address that alerts are sent to.'),
  own_server: yesOrNo
    .exactOptional()
    .describe(
      'With email: whether alerts add gives it a separate server. ' +
        'Default: false, that of FIELDMIRROR_SMTP_URL.',
    ),
  account: accountName.exactOptional().describe('The only account whose alerts are sent.'),
  causes: z
    .array(causeName, 'expected a list of causes, such as [stopped-account, failed]')
    .min(1, 'expected one cause or more; without the key all causes are sent')
    .readonly()
    .exactOptional()
    .describe('The only causes whose alerts are sent.'),
  quiet: span
    .exactOptional()
    .describe('How long a reported thing is not reported again. Default: 4h. Not with ping.'),
  every: span.exactOptional().describe('With ping: how often it comes. Default: 5m.'),
});

type Rule = z.infer<typeof rule>;

export const alertsSection: Section<Rule> = {
  name: 'alerts',
  about: [
    'Rules: who receives which alerts, by name. Neither address nor secret is in this file: a new',
    'rule waits for its address, and fieldmirror alerts add NAME --webhook -, --slack -, --ping -',
    'or --smtp - prompts for it.',
  ],
  schema: z.record(receiverName, removable(rule)),
  depth: 1,
  advice: {
    ...Object.fromEntries(secretKeys.map((key) => [key, ruleSecretAdvice])),
    email: 'receiver: email, and the address as to',
  },
  observed: ['host'],
  read: async (db) =>
    (await listRuleSettings(db)).map(({name, receiver, target, hasServer, ...row}) => ({
      path: [name],
      entry: leaveOutNulls({
        receiver,
        host: receiver === 'email' ? null : target,
        to: receiver === 'email' ? target : null,
        own_server: receiver === 'email' ? hasServer : null,
        account: row.account,
        causes: row.causes,
        quiet: row.everyMs === null ? formatInterval(row.quietMs) : null,
        every: row.everyMs === null ? null : formatInterval(row.everyMs),
      }),
    })),
  defaultsOf: ({receiver}) => {
    if (receiver === 'ping') return {every: formatInterval(usualEveryMs)};
    const quiet = formatInterval(usualQuietMs);
    return receiver === 'email' ? {own_server: false, quiet} : {quiet};
  },
  check: (_db, changes) => changes.flatMap(findRuleProblems),
  write: (db, [name = ''], {receiver, host = '', to = host, account = null, ...after}) =>
    writeRuleSetting(db, {
      name,
      receiver,
      target: to,
      account,
      hasServer: after.own_server ?? false,
      causes: after.causes ?? null,
      quietMs: after.quiet === undefined ? usualQuietMs : intervalMs(after.quiet),
      everyMs: after.every === undefined ? null : intervalMs(after.every),
    }),
  remove: (db, [name = '']) => deleteRule(db, name),
};

/** Keys that apply to some receivers alone. */
const receiversOf: Readonly<Record<string, readonly Rule['receiver'][]>> = {
  host: ['webhook', 'slack', 'ping'],
  to: ['email'],
  own_server: ['email'],
  quiet: ['webhook', 'slack', 'email'],
  every: ['ping'],
};

function findRuleProblems({path, before, after}: EntryChange<Rule>): SettingProblem[] {
  if (after === null) return [];
  const {receiver} = after;
  // The sealed address belongs to the previous receiver.
  if (before !== null && before.receiver !== receiver) {
    const expected = `expected ${before.receiver}, as the rule has it, got ${receiver}`;
    const nextStep = 'give the new one another name, and remove this one';
    return [{path: [...path, 'receiver'], text: `${expected}; ${nextStep}`}];
  }
  const target = receiver === 'email' ? 'to' : 'host';
  const problems = Object.entries(receiversOf)
    .filter(([key, allowed]) => Object.hasOwn(after, key) && !allowed.includes(receiver))
    .map(([key, allowed]): SettingProblem => {
      const text = `expected it with receiver: ${allowed.join(', ')} alone`;
      return {path: [...path, key], text: `${text}, got receiver: ${receiver}`};
    });
  return after[target] === undefined
    ? [...problems, {path, text: `expected ${target}, got nothing`}]
    : problems;
}

const hookSecretAdvice =
  'an address and a secret are never in this file: ' +
  'fieldmirror hooks add NAME --url - prompts for it';
const tableText = `expected one of ${allTables.map(({name}) => name).join(', ')}`;
const columnText = 'expected a list of columns, such as [name, phone_number]';
const writerText = 'expected a login, or a key of the HTTP API as http:NAME';
const limitText = `expected a whole number, 1 to ${maxEntries}`;

const systemText = 'expected the name of an outside system, such as tryton';

const hook = z.strictObject({
  host: buildHostSchema('erp.example.com', hookSecretAdvice).describe(
    'The host of its address, for a reader of this file; hooks add gives the address itself.',
  ),
  account: accountName.exactOptional().describe('The only account whose entries are sent.'),
  tables: z
    .array(
      z.enum(
        allTables.map(({name}) => name),
        tableText,
      ),
      'expected a list of tables, such as [jobs, customers]',
    )
    .min(1, 'expected one table or more; without the key those of all are sent')
    .readonly()
    .exactOptional()
    .describe('The only tables whose entries are sent.'),
  columns: z
    .array(z.string(columnText).min(1, columnText), columnText)
    .min(1, 'expected one column or more; without the key every change of a row is sent')
    .readonly()
    .exactOptional()
    .describe('A row that changed in none of these is not sent. Rows that came or went are sent.'),
  leave_out: z
    .array(
      z.string(writerText).min(1, writerText).overwrite(spellWriter),
      'expected a list of logins and keys, such as [erp, "http:erp"]',
    )
    .min(1, `${writerText}, in a list; without the key none is left out`)
    .readonly()
    .exactOptional()
    .describe(
      'Logins, and keys of the HTTP API as http:NAME, whose entries are not sent: its own echo.',
    ),
  limit: z
    .int(limitText)
    .min(1, limitText)
    .max(maxEntries, limitText)
    .exactOptional()
    .describe(`The most entries in one message. Default: ${defaultEntries}.`),
  mask: yesOrNo.exactOptional().describe('Whether personal values are hidden. Default: false.'),
  system: z
    .string(systemText)
    .regex(shortName, systemText)
    .exactOptional()
    .describe('The outside system whose keys of rows it is sent. Default: default.'),
});

type Hook = z.infer<typeof hook>;

export const hooksSection: Section<Hook> = {
  name: 'hooks',
  about: [
    'Subscribers that are sent the feed over HTTP, by name. Neither address nor secret is in this',
    'file: a new one waits for its address, and fieldmirror hooks add NAME --url - prompts for it.',
  ],
  schema: z.record(receiverName, removable(hook)),
  depth: 1,
  advice: {url: hookSecretAdvice, address: hookSecretAdvice, secret: hookSecretAdvice},
  observed: ['host'],
  read: async (db) =>
    (await listHookSettings(db)).map(({name, target: host, account, tables, columns, ...row}) => ({
      path: [name],
      entry: leaveOutNulls({
        host,
        account,
        tables,
        columns,
        leave_out: row.leavesOut,
        limit: row.most,
        mask: row.masks,
        system: row.system,
      }),
    })),
  defaultsOf: () => ({limit: defaultEntries, mask: false, system: defaultSystem}),
  check: async (db, changes) => {
    if (changes.length === 0) return [];
    const [writers, authors] = [await listWriters(db), await listAuthors(db)];
    return changes.flatMap((change) => [
      ...findUnknownColumns(change),
      ...findUnknownWriters(change, writers, authors),
    ]);
  },
  write: (db, [name = ''], {host: target, account = null, tables = null, ...after}) =>
    writeHookSetting(db, {
      name,
      target,
      account,
      tables,
      columns: after.columns ?? null,
      leavesOut: after.leave_out ?? null,
      masks: after.mask ?? false,
      most: after.limit ?? defaultEntries,
      system: after.system ?? defaultSystem,
    }),
  remove: (db, [name = '']) => deleteHook(db, name),
};

/** A subscriber would receive no changes of a column that none of its tables has. */
function findUnknownColumns({path, after}: EntryChange<Hook>): SettingProblem[] {
  if (after === null) return [];
  const {tables = null, columns = []} = after;
  const names = listFeedColumns(tables);
  return columns
    .filter((column) => !names.includes(column))
    .map((column) => ({
      path: [...path, 'columns'],
      text:
        `expected columns of ${tables?.join(', ') ?? 'tables of warehouse'}, ` +
        `got ${column}${nearest(column, names)}`,
    }));
}

/**
 * A misspelt writer would leave nothing out: the entries of the right writer would come back as an
 * echo. If no author has a login or a key yet, as on an empty installation, those of the file are
 * accepted.
 */
function findUnknownWriters(
  {path, before, after}: EntryChange<Hook>,
  writers: readonly string[],
  authors: readonly string[],
): SettingProblem[] {
  const wanted = after?.leave_out ?? [];
  if (isSame(before?.leave_out, wanted)) return [];
  return wanted
    .filter(
      (name) => !writers.includes(name) && authors.some((author) => isKey(author) === isKey(name)),
    )
    .map((name) => ({
      path: [...path, 'leave_out'],
      text: `${writerText}, got ${name}${nearest(name, writers)}`,
    }));
}

function isKey(writer: string): boolean {
  return writer.startsWith('http: ');
}

const placeText =
  'expected the absolute path of a folder, such as /srv/lake, or a bucket, such as ' +
  's3://lake/star (a prefix has only letters, digits and . _ = -)';
const addressText =
  'expected an address without a password, such as https://storage.googleapis.com';
const regionText = 'expected a region, such as eu-central-1';
const keepText = 'expected a whole number of snapshots, 1 to 10000';
const keyAdvice =
  'a key is never in this file: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment';

const target = z.strictObject({
  to: z
    .string(placeText)
    .superRefine((text, context) => {
      // A text that looks like an address may contain a password.
      const params = {isPrivate: text.includes('@')};
      if (!isPlace(text)) context.addIssue({code: 'custom', message: placeText, params});
    })
    .describe('The folder, or the bucket of S3-compatible storage, that gets the snapshots.'),
  endpoint: z
    .string(addressText)
    .superRefine((text, context) => {
      if (!isEndpoint(text))
        context.addIssue({code: 'custom', message: addressText, params: {isPrivate: true}});
    })
    .exactOptional()
    .describe('Of a bucket: address of its service. Default: that of AWS in the region.'),
  region: z
    .string(regionText)
    .regex(/^[a-z0-9-]{2,40}$/, regionText)
    .exactOptional()
    .describe(`Of a bucket: region that requests are signed for. Default: ${defaultRegion}.`),
  keep: z
    .int(keepText)
    .min(1, keepText)
    .max(10_000, keepText)
    .exactOptional()
    .describe(`How many snapshots stay there, the newest ones. Default: ${defaultKeep}.`),
});

type Target = z.infer<typeof target>;

function isPlace(text: string): boolean {
  if (/^[a-z\d]+:/i.test(text)) return parseBucket(text) !== null;
  return posix.isAbsolute(text) && posix.normalize(text) === text;
}

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const {protocol, username, password, search, hash} = new URL(text);
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === '';
}

export const deliverySection: Section<Target> = {
  name: 'delivery',
  about: [
    'Where the star is delivered at the end of each certified night, by name: one snapshot of all',
    'its tables as Parquet. Keys of storage are never in this file: the worker has them in',
    'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
  ],
  schema: z.record(z.string().regex(shortName, shortNameText), removable(target)),
  depth: 1,
  advice: Object.fromEntries(
    ['key', 'secret', 'access_key_id', 'secret_access_key'].map((key) => [key, keyAdvice]),
  ),
  read: async (db) =>
    (await listTargetSettings(db)).map(({name, place: to, endpoint, region, keep: snapshots}) => ({
      path: [name],
      entry: leaveOutNulls({to, endpoint, region, keep: snapshots}),
    })),
  defaultsOf: () => ({keep: defaultKeep}),
  check: (_db, changes, all) =>
    changes.flatMap((change) => [...findTargetProblems(change), ...findSharedPlace(change, all)]),
  write: (db, [name = ''], {to, endpoint = null, region = null, keep: snapshots = defaultKeep}) =>
    writeTargetSetting(db, {name, place: to, endpoint, region, keep: snapshots}),
  remove: (db, [name = '']) => deleteTarget(db, name),
};

/** Keys that apply to a bucket alone. */
function findTargetProblems({path, after}: EntryChange<Target>): SettingProblem[] {
  if (after === null || parseBucket(after.to) !== null) return [];
  return (['endpoint', 'region'] as const)
    .filter((key) => after[key] !== undefined)
    .map((key) => ({
      path: [...path, key],
      text: `expected it beside a bucket alone, got the folder ${after.to}`,
    }));
}

/** Of two targets at one place, each delivery would remove what the other is writing. */
function findSharedPlace(
  {path, after}: EntryChange<Target>,
  all: readonly Named<Target>[],
): SettingProblem[] {
  const describePlace = ({to, endpoint = ''}: Target) => `${endpoint} ${to.replace(/\/$/, '')}`;
  const isAtIt = ({path: [name], entry}: Named<Target>) =>
    after !== null && name !== path[0] && describePlace(entry) === describePlace(after);
  const other = all.find(isAtIt)?.path[0];
  const text = `expected a place without a target, got that of ${other}; remove it or name another`;
  return other === undefined ? [] : [{path: [...path, 'to'], text}];
}

const days = [
  ...(['monday', 'tuesday', 'wednesday', 'thursday'] as const),
  ...(['friday', 'saturday', 'sunday'] as const),
] as const;
const usualDay = days[0];
const usualAt = '06:00';

const addressesText = 'expected addresses of e-mail, such as [owner@example.com]';
const timeText = 'expected a time of day, such as 07:30';
const dayText = `expected one of ${days.join(', ')}`;
const serverAdvice =
  'a mail server is never in this file: FIELDMIRROR_SMTP_URL in the environment of start';

const reportList = z.strictObject({
  to: z
    .array(z.string(addressesText).refine(isMailbox, addressesText), addressesText)
    .min(1, addressesText)
    .max(100, 'expected at most 100 addresses')
    .refine((all) => new Set(all).size === all.length, 'expected each address once')
    .readonly()
    .describe('The addresses; each gets a separate mail.'),
  account: accountName.exactOptional().describe('The only account reported. Default: all.'),
  day: z
    .enum(days, dayText)
    .exactOptional()
    .describe(`The day on which the week before is reported. Default: ${usualDay}.`),
  at: z
    .string(timeText)
    .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, timeText)
    .exactOptional()
    .describe(`The time of that day, in the zone of the account. Default: ${usualAt}.`),
});

export const reportsSection: Section<z.infer<typeof reportList>> = {
  name: 'reports',
  about: [
    'Who gets the weekly report by e-mail, by name. The mail server is never in this file: the',
    'worker has it in FIELDMIRROR_SMTP_URL.',
  ],
  schema: z.record(z.string().regex(shortName, shortNameText), removable(reportList)),
  depth: 1,
  advice: Object.fromEntries(['smtp', 'server', 'password'].map((key) => [key, serverAdvice])),
  read: async (db) =>
    (await listReportListSettings(db)).map(({name, addresses: to, account, weekday, at}) => ({
      path: [name],
      entry: leaveOutNulls({to, account, day: days[weekday - 1] ?? usualDay, at}),
    })),
  defaultsOf: () => ({day: usualDay, at: usualAt}),
  write: (db, [name = ''], {to, account = null, day = usualDay, at = usualAt}) =>
    writeReportList(db, {name, addresses: to, account, weekday: days.indexOf(day) + 1, at}),
  remove: (db, [name = '']) => deleteReportList(db, name),
};
