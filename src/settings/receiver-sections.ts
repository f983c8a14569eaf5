// Sections of the file of settings about receivers: rules of alerts, and subscribers of the feed.
// Addresses and secrets are never in the file.

import {z} from 'zod';
import {
  deleteRule,
  listRuleSettings,
  type RuleSetting,
  usualEveryMs,
  usualQuietMs,
  writeRuleSetting,
} from '../alerts/rules.ts';
import {type Cause, causes, receivers} from '../core/errors.ts';
import {isHost, isMailbox, nearest, shortName, shortNameText} from '../core/names.ts';
import {
  deleteHook,
  type HookSetting,
  listAuthors,
  listHookSettings,
  listWriters,
  spellWriter,
  writeHookSetting,
} from '../feed/hooks.ts';
import {mostEntries, usualMost} from '../feed/terms.ts';
import {allTables} from '../streams/all.ts';
import {
  type Entry,
  isSame,
  type Leaf,
  listChanged,
  type Path,
  type Problem,
  type Section,
  type Tree,
  toTree,
} from './section.ts';
import {accountName, formatInterval, interval, intervalMs} from './values.ts';

interface Rule extends Tree {
  readonly receiver: RuleSetting['receiver'];
  readonly host: string;
  readonly to: string;
  readonly own_server: boolean;
  readonly account: string;
  readonly causes: readonly Cause[];
  readonly quiet: string;
  readonly every: string;
}

const ruleSecret =
  "a receiver's address, a server of e-mail and a secret are never in this file: fieldmirror alerts add NAME asks for them";
const ruleHostText = `expected the host of its address alone, such as hooks.example.com; ${ruleSecret}`;
const toText = 'expected one address of e-mail, such as ops@example.com';
const causeText = `expected one of ${causes.join(', ')}`;
const span = interval.refine(
  (text) => !/^\d{1,3}ms$/.test(text),
  'expected an interval of 1s or more',
);

const rule = z.strictObject({
  receiver: z
    .enum(receivers, `expected one of ${receivers.join(', ')}`)
    .exactOptional()
    .describe('How it tells; a ping comes for as long as nothing is wrong.'),
  host: z
    .string(ruleHostText)
    .superRefine((text, context) => {
      // A whole address would be repeated in the message.
      if (!isHost(text))
        context.addIssue({code: 'custom', message: ruleHostText, params: {isPrivate: true}});
    })
    .exactOptional()
    .describe(
      'The host of its address, for a reader of this file; alerts add gives the address itself. Not with email.',
    ),
  to: z
    .string(toText)
    .refine(isMailbox, toText)
    .exactOptional()
    .describe('With email: the address told.'),
  own_server: z
    .boolean('expected true or false')
    .nullable()
    .exactOptional()
    .describe(
      'With email: whether alerts add gives the rule a server of e-mail of its own. Default: false, that of FIELDMIRROR_SMTP_URL.',
    ),
  account: accountName.nullable().exactOptional().describe('The only account that is told of.'),
  causes: z
    .array(
      z.enum(causes, {
        error: ({input}) =>
          `${causeText}${typeof input === 'string' ? nearest(input, causes) : ''}`,
      }),
      'expected a list of causes, such as [stopped-account, failed]',
    )
    .min(1, 'expected one cause or more; null tells of everything')
    .nullable()
    .exactOptional()
    .describe('The only causes that are told.'),
  quiet: span
    .nullable()
    .exactOptional()
    .describe('How long a thing that was told is not told again. Default: 4h. Not with ping.'),
  every: span.nullable().exactOptional().describe('With ping: how often it comes. Default: 5m.'),
});

export const alertsSection: Section = {
  name: 'alerts',
  about: [
    'Rules: who is told what is wrong, by name. Neither address nor secret is in this file: a new rule waits for its address,',
    'and fieldmirror alerts add NAME --webhook -, --slack -, --ping - or --smtp - asks for it. A rule of null goes.',
  ],
  schema: z.record(z.string().regex(shortName, shortNameText), rule.nullable()),
  isByAccount: false,
  advice: {
    ...{
      url: ruleSecret,
      address: ruleSecret,
      ruleSecret,
      smtp: ruleSecret,
      webhook: ruleSecret,
      slack: ruleSecret,
      ping: ruleSecret,
    },
    email: 'receiver: email, and the address as to',
  },
  read: async (db) => toTree((await listRuleSettings(db)).flatMap(ruleLeaves)),
  defaultsOf: (tree) =>
    toTree(
      Object.entries(tree).flatMap(([name, held]) => listRuleDefaults(name, held as Partial<Rule>)),
    ),
  observed: ['host'],
  check: async (_db, {before, after, accounts}) =>
    listChanged<Rule>({before, after}, 1).flatMap((entry) => findRuleProblems(entry, accounts)),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<Rule>(change, 1)) {
      const [name = ''] = path;
      if (after === null) await deleteRule(db, name);
      else await writeRuleSetting(db, ruleSetting(name, after));
    }
  },
};

function ruleLeaves({name, receiver, target, account, causes: told, ...held}: RuleSetting): Leaf[] {
  const isEmail = receiver === 'email';
  return [
    {path: [name, 'receiver'], value: receiver},
    {path: [name, isEmail ? 'to' : 'host'], value: target},
    ...(isEmail ? [{path: [name, 'own_server'], value: held.hasServer}] : []),
    ...(account === null ? [] : [{path: [name, 'account'], value: account}]),
    ...(told === null ? [] : [{path: [name, 'causes'], value: told}]),
    held.everyMs === null
      ? {path: [name, 'quiet'], value: formatInterval(held.quietMs)}
      : {path: [name, 'every'], value: formatInterval(held.everyMs)},
  ];
}

function listRuleDefaults(name: string, {receiver}: Partial<Rule>): Leaf[] {
  return [
    ...(receiver === 'email' ? [{path: [name, 'own_server'], value: false}] : []),
    receiver === 'ping'
      ? {path: [name, 'every'], value: formatInterval(usualEveryMs)}
      : {path: [name, 'quiet'], value: formatInterval(usualQuietMs)},
  ];
}

function ruleSetting(name: string, wanted: Partial<Rule> & Pick<Rule, 'receiver'>): RuleSetting {
  const {receiver, host, to, own_server: hasServer, account, causes: told, quiet, every} = wanted;
  return {
    ...{name, receiver, target: to ?? host ?? '', hasServer: hasServer ?? false},
    ...{account: account ?? null, causes: told ?? null},
    quietMs: quiet === undefined ? usualQuietMs : intervalMs(quiet),
    everyMs: receiver !== 'ping' ? null : every === undefined ? usualEveryMs : intervalMs(every),
  };
}

/** Keys that mean something with some receivers alone. */
const receiversOf: Readonly<Record<string, readonly RuleSetting['receiver'][]>> = {
  host: ['webhook', 'slack', 'ping'],
  to: ['email'],
  own_server: ['email'],
  quiet: ['webhook', 'slack', 'email'],
  every: ['ping'],
};

function findRuleProblems(
  {path, before, after}: Entry<Rule>,
  accounts: readonly string[],
): Problem[] {
  if (after === null) return [];
  const {receiver, account}: Partial<Rule> = after;
  if (receiver === undefined)
    return [
      {
        path,
        text: `expected receiver, one of ${receivers.join(', ')}, for the rule is new, got nothing`,
      },
    ];
  // The address that is sealed is one of the receiver before.
  if (before !== null && before.receiver !== receiver) {
    const text = `expected ${before.receiver}, as the rule has it, got ${receiver}; give the new one another name, and this one null`;
    return [{path: [...path, 'receiver'], text}];
  }
  const target = receiver === 'email' ? 'to' : 'host';
  const problems: Problem[] = Object.entries(receiversOf)
    .filter(([key, those]) => after[key] !== undefined && !those.includes(receiver))
    .map(([key, those]) => ({
      path: [...path, key],
      text: `expected it with receiver: ${those.join(', ')} alone, got receiver: ${receiver}`,
    }));
  if (after[target] === undefined)
    problems.push({path, text: `expected ${target}, for the rule is new, got nothing`});
  if (account !== undefined && !accounts.includes(account))
    problems.push({
      path: [...path, 'account'],
      text: `expected the name of an account, got ${account}${nearest(account, accounts)}`,
    });
  return problems;
}

interface Hook extends Tree {
  readonly host: string;
  readonly account: string;
  readonly tables: readonly string[];
  readonly leave_out: readonly string[];
  readonly limit: number;
  readonly mask: boolean;
}

const hookSecret =
  'an address and a secret are never in this file: fieldmirror hooks add NAME --url - asks for it';
const names = allTables.map(({name}) => name);
const tableText = `expected one of ${names.join(', ')}`;
const writerText = 'expected a login, or a key of the HTTP API as http:NAME';
const hookHostText = `expected the host of its address alone, such as erp.example.com; ${hookSecret}`;
const limitText = `expected a whole number, 1 to ${mostEntries}`;

const hook = z.strictObject({
  host: z
    .string(hookHostText)
    .superRefine((text, context) => {
      // A whole address would be repeated in the message.
      if (!isHost(text))
        context.addIssue({code: 'custom', message: hookHostText, params: {isPrivate: true}});
    })
    .exactOptional()
    .describe(
      'The host of its address, for a reader of this file; hooks add gives the address itself.',
    ),
  account: accountName
    .nullable()
    .exactOptional()
    .describe('The only account whose entries are sent.'),
  tables: z
    .array(z.enum(names, tableText), 'expected a list of tables, such as [jobs, customers]')
    .min(1, 'expected one table or more; null sends those of all')
    .nullable()
    .exactOptional()
    .describe('The only tables whose entries are sent.'),
  leave_out: z
    .array(
      z.string(writerText).min(1, writerText).overwrite(spellWriter),
      'expected a list of logins and keys, such as [erp, "http:erp"]',
    )
    .min(1, `${writerText}, in a list; null leaves out none`)
    .nullable()
    .exactOptional()
    .describe(
      'Logins, and keys of the HTTP API as http:NAME, whose entries are not sent: its own echo.',
    ),
  limit: z
    .int(limitText)
    .min(1, limitText)
    .max(mostEntries, limitText)
    .nullable()
    .exactOptional()
    .describe(`The most entries in one message. Default: ${usualMost}.`),
  mask: z
    .boolean('expected true or false')
    .nullable()
    .exactOptional()
    .describe('Whether personal values are hidden. Default: false.'),
});

export const hooksSection: Section = {
  name: 'hooks',
  about: [
    'Subscribers that are sent the feed over HTTP, by name. Neither address nor secret is in this file:',
    'a new one waits for its address, and fieldmirror hooks add NAME --url - asks for it. A subscriber of null goes.',
  ],
  schema: z.record(z.string().regex(shortName, shortNameText), hook.nullable()),
  isByAccount: false,
  advice: {url: hookSecret, address: hookSecret, secret: hookSecret},
  read: async (db) => toTree((await listHookSettings(db)).flatMap(hookLeaves)),
  defaultsOf: (tree) =>
    toTree(
      Object.keys(tree).flatMap((name) => [
        {path: [name, 'limit'], value: usualMost},
        {path: [name, 'mask'], value: false},
      ]),
    ),
  observed: ['host'],
  check: async (db, {before, after, accounts}) => {
    const changed = listChanged<Hook>({before, after}, 1);
    const writers = changed.length === 0 ? [] : await listWriters(db);
    const authors = changed.length === 0 ? [] : await listAuthors(db);
    return changed.flatMap((entry) => [
      ...findHookProblems(entry, accounts),
      ...findUnknownWriters(entry, writers, authors),
    ]);
  },
  apply: async (db, change) => {
    for (const {path, after} of listChanged<Hook>(change, 1)) {
      const [name = ''] = path;
      if (after === null) await deleteHook(db, name);
      else await writeHookSetting(db, hookSetting(name, after));
    }
  },
};

function hookLeaves({name, target, account, tables, leavesOut, masks, most}: HookSetting): Leaf[] {
  return [
    {path: [name, 'host'], value: target},
    ...(account === null ? [] : [{path: [name, 'account'], value: account}]),
    ...(tables === null ? [] : [{path: [name, 'tables'], value: tables}]),
    ...(leavesOut === null ? [] : [{path: [name, 'leave_out'], value: leavesOut}]),
    {path: [name, 'limit'], value: most},
    {path: [name, 'mask'], value: masks},
  ];
}

function hookSetting(name: string, wanted: Partial<Hook> & Pick<Hook, 'host'>): HookSetting {
  return {
    ...{name, target: wanted.host, account: wanted.account ?? null, tables: wanted.tables ?? null},
    leavesOut: wanted.leave_out ?? null,
    masks: wanted.mask ?? false,
    most: wanted.limit ?? usualMost,
  };
}

function findHookProblems({path, after}: Entry<Hook>, accounts: readonly string[]): Problem[] {
  if (after === null) return [];
  const {host, account}: Partial<Hook> = after;
  const problems: Problem[] = [];
  if (host === undefined)
    problems.push({
      path,
      text: 'expected host, that of its address, for the subscriber is new, got nothing',
    });
  if (account !== undefined && !accounts.includes(account))
    problems.push({
      path: [...path, 'account'],
      text: `expected the name of an account, got ${account}${nearest(account, accounts)}`,
    });
  return problems;
}

/**
 * A writer that is misspelt would leave nothing out: its entries would come back as an echo. Where
 * there is no login of an author yet, or no key, as on an empty installation, those of the file are
 * still to come.
 */
function findUnknownWriters(
  {path, before, after}: Entry<Hook>,
  writers: readonly string[],
  authors: readonly string[],
): Problem[] {
  const wanted: readonly string[] | undefined = after?.leave_out;
  if (wanted === undefined || isSame(before?.leave_out, wanted)) return [];
  const place: Path = [...path, 'leave_out'];
  return wanted
    .filter(
      (writer) =>
        !writers.includes(writer) && authors.some((each) => isKey(each) === isKey(writer)),
    )
    .map((writer) => ({
      path: place,
      text: `${writerText}, got ${writer}${nearest(writer, writers)}`,
    }));
}

function isKey(writer: string): boolean {
  return writer.startsWith('http: ');
}
