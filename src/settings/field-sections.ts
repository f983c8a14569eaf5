// Sections of the file of settings about fields: those that become columns, and who may write
// which.

import {z} from 'zod';
import {type Rule, readRules, setRule} from '../changes/write-rules.ts';
import {nearest} from '../core/names.ts';
import {demoteField, listPromotions, listSeenFields, promoteField} from '../star/fields.ts';
import {allStreams, allTables} from '../streams/all.ts';
import {
  type EntryChange,
  label,
  type Named,
  named,
  removable,
  type Section,
  type SettingProblem,
} from './section.ts';

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

/** A name that something else has. */
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
