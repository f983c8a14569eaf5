import {z} from 'zod';
import {
  listAccounts,
  pauseAccount,
  placeOf,
  resumeAccount,
  upsertAccount,
} from '../accounts/accounts.ts';
import {parseBaseUrl} from '../api/addresses.ts';
import {UsageError} from '../core/errors.ts';
import {expectTimeZone, isTimeZone} from '../core/names.ts';
import type {Problem, Section} from './section.ts';
import {listChanged} from './setting-entries.ts';
import {accountName} from './setting-values.ts';
import {type Leaf, type Tree, toTree} from './settings-tree.ts';

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
    ...listChanged<Account>({before, after}, 1).flatMap((entry) => findProblems(entry)),
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

function findProblems({
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
