import {z} from 'zod';
import {deleteRule} from '../alerts/alert-rules.ts';
import {receivers} from '../alerts/receivers.ts';
import {
  listRuleSettings,
  type RuleSetting,
  usualEveryMs,
  usualQuietMs,
  writeRuleSetting,
} from '../alerts/rule-settings.ts';
import {type Cause, causes} from '../core/errors.ts';
import {isHost, isMailbox, nearest, shortName, shortNameText} from '../core/names.ts';
import {formatInterval, intervalMs, interval as intervalShape} from './interval.ts';
import type {Problem, Section} from './section.ts';
import {type Entry, listChanged} from './setting-entries.ts';
import {accountName} from './setting-values.ts';
import {type Leaf, type Tree, toTree} from './settings-tree.ts';

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

const secret =
  "a receiver's address, a server of e-mail and a secret are never in this file: fieldmirror alerts add NAME asks for them";
const hostText = `expected the host of its address alone, such as hooks.example.com; ${secret}`;
const toText = 'expected one address of e-mail, such as ops@example.com';
const causeText = `expected one of ${causes.join(', ')}`;
const span = intervalShape.refine(
  (text) => !/^\d{1,3}ms$/.test(text),
  'expected an interval of 1s or more',
);

const rule = z.strictObject({
  receiver: z
    .enum(receivers, `expected one of ${receivers.join(', ')}`)
    .exactOptional()
    .describe('How it tells; a ping comes for as long as nothing is wrong.'),
  host: z
    .string(hostText)
    .superRefine((text, context) => {
      // A whole address would be repeated in the message.
      if (!isHost(text))
        context.addIssue({code: 'custom', message: hostText, params: {isPrivate: true}});
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
      url: secret,
      address: secret,
      secret,
      smtp: secret,
      webhook: secret,
      slack: secret,
      ping: secret,
    },
    email: 'receiver: email, and the address as to',
  },
  read: async (db) => toTree((await listRuleSettings(db)).flatMap(toLeaves)),
  defaultsOf: (tree) =>
    toTree(
      Object.entries(tree).flatMap(([name, held]) => listDefaults(name, held as Partial<Rule>)),
    ),
  observed: ['host'],
  check: async (_db, {before, after, accounts}) =>
    listChanged<Rule>({before, after}, 1).flatMap((entry) => findProblems(entry, accounts)),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<Rule>(change, 1)) {
      const [name = ''] = path;
      if (after === null) await deleteRule(db, name);
      else await writeRuleSetting(db, toSetting(name, after));
    }
  },
};

function toLeaves({name, receiver, target, account, causes: told, ...held}: RuleSetting): Leaf[] {
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

function listDefaults(name: string, {receiver}: Partial<Rule>): Leaf[] {
  return [
    ...(receiver === 'email' ? [{path: [name, 'own_server'], value: false}] : []),
    receiver === 'ping'
      ? {path: [name, 'every'], value: formatInterval(usualEveryMs)}
      : {path: [name, 'quiet'], value: formatInterval(usualQuietMs)},
  ];
}

function toSetting(name: string, wanted: Partial<Rule> & Pick<Rule, 'receiver'>): RuleSetting {
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

function findProblems({path, before, after}: Entry<Rule>, accounts: readonly string[]): Problem[] {
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
