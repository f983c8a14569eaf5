import {z} from 'zod';
import {isHost, nearest, shortName, shortNameText} from '../core/names.ts';
import {deleteHook, listWriters, spellWriter} from '../feed/feed-hooks.ts';
import {
  type HookSetting,
  listAuthors,
  listHookSettings,
  writeHookSetting,
} from '../feed/hook-settings.ts';
import {mostEntries, usualMost} from '../feed/hook-tables.ts';
import {allTables} from '../streams/all.ts';
import type {Problem, Section} from './section.ts';
import {type Entry, listChanged} from './setting-entries.ts';
import {accountName} from './setting-values.ts';
import {isSame, type Leaf, type Path, type Tree, toTree} from './settings-tree.ts';

interface Hook extends Tree {
  readonly host: string;
  readonly account: string;
  readonly tables: readonly string[];
  readonly leave_out: readonly string[];
  readonly limit: number;
  readonly mask: boolean;
}

const secret =
  'an address and a secret are never in this file: fieldmirror hooks add NAME --url - asks for it';
const names = allTables.map(({name}) => name);
const tableText = `expected one of ${names.join(', ')}`;
const writerText = 'expected a login, or a key of the HTTP API as http:NAME';
const hostText = `expected the host of its address alone, such as erp.example.com; ${secret}`;
const limitText = `expected a whole number, 1 to ${mostEntries}`;

const hook = z.strictObject({
  host: z
    .string(hostText)
    .superRefine((text, context) => {
      // A whole address would be repeated in the message.
      if (!isHost(text))
        context.addIssue({code: 'custom', message: hostText, params: {isPrivate: true}});
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
  advice: {url: secret, address: secret, secret},
  read: async (db) => toTree((await listHookSettings(db)).flatMap(toLeaves)),
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
      ...findProblems(entry, accounts),
      ...findStrangers(entry, writers, authors),
    ]);
  },
  apply: async (db, change) => {
    for (const {path, after} of listChanged<Hook>(change, 1)) {
      const [name = ''] = path;
      if (after === null) await deleteHook(db, name);
      else await writeHookSetting(db, toSetting(name, after));
    }
  },
};

function toLeaves({name, target, account, tables, leavesOut, masks, most}: HookSetting): Leaf[] {
  return [
    {path: [name, 'host'], value: target},
    ...(account === null ? [] : [{path: [name, 'account'], value: account}]),
    ...(tables === null ? [] : [{path: [name, 'tables'], value: tables}]),
    ...(leavesOut === null ? [] : [{path: [name, 'leave_out'], value: leavesOut}]),
    {path: [name, 'limit'], value: most},
    {path: [name, 'mask'], value: masks},
  ];
}

function toSetting(name: string, wanted: Partial<Hook> & Pick<Hook, 'host'>): HookSetting {
  return {
    ...{name, target: wanted.host, account: wanted.account ?? null, tables: wanted.tables ?? null},
    leavesOut: wanted.leave_out ?? null,
    masks: wanted.mask ?? false,
    most: wanted.limit ?? usualMost,
  };
}

function findProblems({path, after}: Entry<Hook>, accounts: readonly string[]): Problem[] {
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
function findStrangers(
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
