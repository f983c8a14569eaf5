import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {
  find,
  isTree,
  listDifferences,
  listLeaves,
  mergePatch,
  type Patch,
  type Tree,
  toTree,
} from '../../src/settings/section.ts';

const held: Tree = {north: {paused: true, hours: [8, 0]}, south: {paused: false}};

describe('a patch', () => {
  test('changes what it names, and leaves the rest alone', () => {
    expect(mergePatch(held, {north: {paused: false}}, {})).toEqual({
      north: {paused: false, hours: [8, 0]},
      south: {paused: false},
    });
  });

  test('takes away what it has null for, with all that is in it', () => {
    expect(mergePatch(held, {south: null, north: {hours: null}}, {})).toEqual({
      north: {paused: true},
    });
  });

  test('brings a value of null back to its default', () => {
    expect(mergePatch(held, {north: {paused: null}}, {north: {paused: false}})).toMatchObject({
      north: {paused: false},
    });
  });

  test('makes what was not there', () => {
    expect(mergePatch({}, {west: {paused: true}}, {})).toEqual({west: {paused: true}});
  });

  test('that takes away what is not there changes nothing', () => {
    expect(mergePatch(held, {west: null, north: {name: null}}, {})).toEqual(held);
  });
});

test('differences tell what was, what is to be, and what goes', () => {
  expect(listDifferences(held, {north: {paused: false}, west: {paused: true}})).toEqual([
    {path: ['north', 'paused'], from: true, to: false},
    {path: ['west', 'paused'], from: null, to: true},
    {path: ['north', 'hours'], from: [8, 0], to: null},
    {path: ['south', 'paused'], from: false, to: null},
  ]);
});

const key = fc.constantFrom('a', 'b', 'c', '7');
const value = fc.oneof(
  fc.integer(),
  fc.string(),
  fc.boolean(),
  fc.array(fc.integer(), {maxLength: 2}),
);
const {patch} = fc.letrec<{patch: Patch}>((tie) => ({
  patch: fc.dictionary(
    key,
    fc.oneof({depthSize: 'small'}, value, fc.constant(null), tie('patch')),
    {
      maxKeys: 4,
    },
  ) as fc.Arbitrary<Patch>,
}));
const tree = patch.map((each) => mergePatch({}, each, {}));

test('a patch that was applied changes nothing more', () => {
  fc.assert(
    fc.property(tree, patch, (before, each) => {
      const after = mergePatch(before, each, {});
      expect(listDifferences(after, mergePatch(after, each, {}))).toEqual([]);
    }),
  );
});

test('leaves make the tree that they were listed from', () => {
  fc.assert(
    fc.property(tree, (each) => {
      const made = toTree(listLeaves(each));
      expect(listDifferences(each, made)).toEqual([]);
      for (const {path, value: leaf} of listLeaves(each)) {
        const there = find(made, path);
        expect(isTree<Tree>(there)).toBe(false);
        expect(there).toEqual(leaf);
      }
    }),
  );
});
