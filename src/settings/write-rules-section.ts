import {z} from 'zod';
import {type Rule, readRules, setRule} from '../changes/write-rules.ts';
import {allTables} from '../streams/all.ts';
import type {Section} from './section.ts';
import {listChanged, listPaths} from './setting-entries.ts';
import {toTree} from './settings-tree.ts';

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
