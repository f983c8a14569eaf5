// Sections of the file of settings about fields: those that become columns, and who may write
// which.

import {z} from 'zod';
import {type Rule, readRules, setRule} from '../changes/write-rules.ts';
import {nearest} from '../core/names.ts';
import {demoteField, listPromotions, listSeenFields, promoteField} from '../star/fields.ts';
import {allStreams, allTables} from '../streams/all.ts';
import {
  type Entry,
  listChanged,
  listPaths,
  type Problem,
  type Section,
  type Tree,
  toTree,
} from './section.ts';
import {accountName, label} from './values.ts';

interface Promotion extends Tree {
  readonly name: string;
  readonly types: readonly string[];
}

type Fields = Readonly<Record<string, Promotion>>;

const nameText =
  'expected a name of at most 63 small letters, digits and underscores, a letter first';

const promotion = z.strictObject({
  name: z
    .string(nameText)
    .regex(/^[a-z][a-z0-9_]{0,62}$/, nameText)
    .exactOptional()
    .describe('The column of the view of the table in mart.'),
  types: z
    .array(
      z.string('expected the name of a type').regex(/^\w+$/, 'expected the name of a type'),
      'expected a list of types',
    )
    .exactOptional()
    .describe('The types that the field is sent with: they count where no sweep has seen it yet.'),
});

const table = z.record(label, promotion.nullable()).exactOptional();

export const promotedFieldsSection: Section = {
  name: 'promoted_fields',
  about: [
    'Custom fields that are columns of mart, by account, table and field. A field of null is no column any more.',
    'The types count only where no sweep has seen the field yet.',
  ],
  schema: z.record(
    accountName,
    z.strictObject(Object.fromEntries(allTables.map(({name}) => [name, table]))),
  ),
  isByAccount: true,
  read: async (db) =>
    toTree(
      (await listPromotions(db)).flatMap(({account, table: place, field, name, types}) => [
        {path: [account, place, field, 'name'], value: name},
        {path: [account, place, field, 'types'], value: types},
      ]),
    ),
  observed: ['types'],
  check: async (db, {before, after}) => {
    const seen = await listSeenFields(db);
    const changed = listChanged<Promotion>({before, after}, 3);
    return changed.flatMap((entry) => [
      ...findUnknown(entry, seen),
      ...findTaken(entry, after as Readonly<Record<string, Readonly<Record<string, Fields>>>>),
    ]);
  },
  apply: async (db, change) => {
    for (const {path, after} of listChanged<Promotion>(change, 3)) {
      const [account = '', place = '', field = ''] = path;
      if (after === null) await demoteField(db, {account, table: place, field});
      else {
        const {name, types = []} = after;
        await promoteField(db, {
          account,
          table: place,
          field,
          name,
          types,
          stream: findStreamOf(place),
        });
      }
    }
  },
};

function findUnknown(
  {path, after}: Entry<Promotion>,
  seen: ReadonlyMap<string, string[]>,
): Problem[] {
  const [account = '', place = '', field = ''] = path;
  const known = seen.get(`${account} ${place}`);
  if (after === null || known === undefined || known.includes(field)) return [];
  const expected = `expected a field of ${place} that sweeps of ${account} have seen and that has no column`;
  return [
    {path, text: `${expected}, got ${field}${nearest(field, known)}; sync.fields lists them`},
  ];
}

/** A name that is missing, or that something else has. */
function findTaken(
  {path, after}: Entry<Promotion>,
  all: Readonly<Record<string, Readonly<Record<string, Fields>>>>,
): Problem[] {
  if (after === null) return [];
  const {name} = after;
  if (name === undefined) return [{path, text: 'expected name, that of its column, got nothing'}];
  const [account = '', place = '', field = ''] = path;
  const own = allTables
    .find((each) => each.name === place)
    ?.columns.some((column) => column.name === name);
  const twin = Object.entries(all[account]?.[place] ?? {}).find(
    ([other, each]) => other !== field && each.name === name,
  );
  if (own !== true && twin === undefined) return [];
  const holder = twin === undefined ? `a column of ${place}` : twin[0];
  return [
    {
      path: [...path, 'name'],
      text: `expected a name that is free, got ${name}, which ${holder} has`,
    },
  ];
}

function findStreamOf(name: string): string {
  const stream = allStreams.find(
    ({table: own, children}) =>
      own.name === name || children.some((child) => child.table.name === name),
  );
  return stream?.name ?? name;
}

const preset: Rule = 'ask';
const rules = ['service', 'warehouse', 'newest', 'ask'] as const satisfies readonly Rule[];

const rule = z
  .enum(rules, `expected one of ${rules.join(', ')}`)
  .nullable()
  .exactOptional()
  .describe(
    'Whose value counts: service, warehouse, newest, or ask (a person decides). Default: ask.',
  );

const tables = allTables.filter(({writable}) => writable.length > 0);
const byTable = tables.map(({name, writable}) => {
  const fields = z.strictObject(Object.fromEntries(writable.map((field) => [field.name, rule])));
  return [name, fields.exactOptional()] as const;
});

export const writeRulesSection: Section = {
  name: 'write_rules',
  about: [
    'Whose value counts where the service and the warehouse changed a field: service, warehouse, newest or ask.',
    'A rule of null is ask again, which is the rule of every field that is not here.',
  ],
  schema: z.strictObject(Object.fromEntries(byTable)),
  isByAccount: false,
  hidesDefaults: true,
  read: async (db) => {
    const held = [...(await readRules(db))].flatMap(([table, fields]) =>
      [...fields].map(([field, each]) => ({path: [table, field], value: each.rule})),
    );
    return toTree(held.toSorted((left, right) => compare(left.path.join(), right.path.join())));
  },
  defaultsOf: (tree) => toTree(listPaths(tree, 2).map((path) => ({path, value: preset}))),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<Rule>(change, 2)) {
      const [table = '', field = ''] = path;
      await setRule(db, {table, field, rule: after ?? preset});
    }
  },
};

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
