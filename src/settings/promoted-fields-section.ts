import {z} from 'zod';
import {nearest} from '../core/names.ts';
import {demoteField, listPromotions, listSeenFields, promoteField} from '../star/fields.ts';
import {allStreams, allTables} from '../streams/all.ts';
import type {Problem, Section} from './section.ts';
import {type Entry, listChanged} from './setting-entries.ts';
import {accountName, label} from './setting-values.ts';
import {type Tree, toTree} from './settings-tree.ts';

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
