import {getTableConfig} from 'drizzle-orm/pg-core';
import {describe, expect, test} from 'vitest';
import {toDrizzle} from '../../src/schema/tables.ts';
import {type Definition, mirrorTable} from '../../src/streams/table.ts';

const definition: Definition = {
  comment: 'Things.',
  key: ['number'],
  indexes: [['parent']],
  columns: [
    {name: 'number', type: 'integer', comment: 'Number.'},
    {name: 'parent', type: 'integer', comment: 'Parent.'},
  ],
};

describe('mirrorTable', () => {
  test('puts the columns of the service between those of Fieldmirror', () => {
    const names = getTableConfig(toDrizzle(mirrorTable('things', definition))).columns.map(
      (column) => column.name,
    );
    expect(names.slice(0, 6)).toEqual([
      'row_id',
      'account_id',
      'external_key',
      'number',
      'parent',
      'extra',
    ]);
    expect(names.slice(6)).toEqual([
      '_hash',
      '_first_seen_at',
      '_changed_at',
      '_deleted_at',
      '_sweep_id',
      '_page',
      'parent_row_id',
      '_change_id',
      '_pending',
    ]);
  });

  test('names its unique key and indexes, and starts the key with the account', () => {
    const {uniqueConstraints, indexes} = getTableConfig(
      toDrizzle(mirrorTable('things', definition)),
    );
    const named = uniqueConstraints.map((one) => [
      one.getName(),
      one.columns.map((column) => column.name),
    ]);
    expect(named).toEqual([['things_key', ['account_id', 'number']]]);
    expect(indexes.map((one) => one.config.name)).toEqual([
      'things_external_key',
      'things_parent_idx',
    ]);
  });

  test('allows nulls in the key, for rows that have no number yet', () => {
    const {columns} = getTableConfig(toDrizzle(mirrorTable('things', definition)));
    expect(columns.find((column) => column.name === 'number')?.notNull).toBe(false);
  });

  test.each([
    [
      'a name of our own',
      {columns: [...definition.columns, {name: 'account_id', type: 'text', comment: ''}]},
    ],
    [
      'a name used twice',
      {columns: [...definition.columns, {name: 'parent', type: 'text', comment: ''}]},
    ],
    [
      'a column to be written of a type that no request can hold',
      {
        columns: [
          ...definition.columns,
          {name: 'parts', type: 'nested', writable: true, comment: ''},
        ],
      },
    ],
    ['a key without its column', {key: ['id']}],
    ['an index without its column', {indexes: [['job_number']]}],
    ['a search in no text', {searched: {words: ['parent']}}],
    ['no key', {key: []}],
    [
      'a key that is no number',
      {key: ['name'], columns: [{name: 'name', type: 'text', comment: ''}]},
    ],
  ] as const)('refuses %s', (_what, wrong) => {
    expect(() => mirrorTable('things', {...definition, ...wrong})).toThrow(TypeError);
  });
});
