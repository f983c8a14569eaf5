// A section of the file of settings describes itself: its shape, the rows that it stands for, and
// how they are changed. A new one is added to the list in settings.ts. Settings are nested keys and
// values: as a file has them, and as rows make them. A file that is applied is a patch of the tree
// in force, as in RFC 7396: what it does not name stays, and null takes away.

import type {z} from 'zod';
import type {Queryable} from '../postgres/database.ts';

/** What goes before a file. */
export interface Environment {
  /** The account that the environment names. */
  readonly account: {readonly apiUrl: string; readonly timeZone: string} | null;
  /**
   * The name of the account whose data are made up: its address and zone are those that `start`
   * gives it.
   */
  readonly demo: string;
}

/** What is wrong at a place of the section. */
export interface Problem {
  readonly path: Path;
  /** What was expected, what came, and the next step. */
  readonly text: string;
}

/** What a file would make of a section. */
export interface Prospect {
  readonly before: Tree;
  readonly after: Tree;
  readonly patch: Patch;
  /** The accounts that there will be. */
  readonly accounts: readonly string[];
}

export interface Section {
  /** Its key in the file. */
  readonly name: string;
  /** Told above it in an export and in editors: what it is, and what is so where nothing is set. */
  readonly about: readonly string[];
  /** Its shape in the file, where every value may be left out. */
  readonly schema: z.ZodType<Patch>;
  /** Whether its first keys are accounts. */
  readonly isByAccount: boolean;
  /** Whether an export leaves out what is at its default: there is much of it. */
  readonly hidesDefaults?: boolean;
  /** Advice on a key that is not known, by the key. */
  readonly advice?: Readonly<Record<string, string>>;
  /** The values in force, in the order of an export. */
  readonly read: (db: Queryable) => Promise<Tree>;
  /** The defaults of what is in a tree. */
  readonly defaultsOf?: (tree: Tree) => Tree;
  /**
   * The values that the environment gives, in place of a file.
   * @param trees - what is in force, and the same with what a file adds
   */
  readonly fromEnvironment?: (
    trees: {readonly before: Tree; readonly merged: Tree},
    environment: Environment,
  ) => Tree;
  /** Keys of what sweeps tell: their values count where there is none yet, and are not changed. */
  readonly observed?: readonly string[];
  /**
   * The values of a tree that mean nothing beside the others: they go, unless the file names them,
   * which is a mistake.
   */
  readonly listMoot?: (tree: Tree) => Path[];
  /** The problems that only the rows show. */
  readonly check?: (db: Queryable, prospect: Prospect) => Promise<Problem[]>;
  /** Writes what differs, as a person would by hand. */
  readonly apply: (db: Queryable, change: Pick<Prospect, 'before' | 'after'>) => Promise<void>;
}

/** What YAML and JSON can say in one value. */
export type Value = string | number | boolean | readonly Value[];
export interface Tree {
  readonly [key: string]: Value | Tree;
}
export interface Patch {
  readonly [key: string]: Value | Patch | null;
}

export type Path = readonly string[];
export interface Leaf {
  readonly path: Path;
  readonly value: Value;
}
/** One value that differs; null where there is none. */
export interface Difference {
  readonly path: Path;
  readonly from: Value | null;
  readonly to: Value | null;
}

export function isTree<T extends Tree | Patch>(node: T[string] | T | undefined): node is T {
  return typeof node === 'object' && node !== null && !Array.isArray(node);
}

/** Every value of a tree with the keys on the way to it, in the order of the tree. */
export function listLeaves(tree: Tree, above: Path = []): Leaf[] {
  return Object.entries(tree).flatMap(([key, node]) => {
    const path = [...above, key];
    return isTree<Tree>(node) ? listLeaves(node, path) : [{path, value: node}];
  });
}

/** Every value of a patch; null where it takes away. */
export function listPatches(patch: Patch, above: Path = []): {path: Path; value: Value | null}[] {
  return Object.entries(patch).flatMap(([key, node]) => {
    const path = [...above, key];
    return isTree<Patch>(node) ? listPatches(node, path) : [{path, value: node}];
  });
}

/** The value or tree at a place; undefined where there is none. */
export function find(tree: Tree, path: Path): Value | Tree | undefined {
  let node: Value | Tree | undefined = tree;
  for (const key of path) {
    if (!isTree<Tree>(node) || !Object.hasOwn(node, key)) return undefined;
    node = node[key];
  }
  return node;
}

/** A tree of leaves, in their order. */
export function toTree(leaves: readonly Leaf[]): Tree {
  const entries = Map.groupBy(leaves, ({path}) => path[0] ?? '');
  return Object.fromEntries(
    [...entries].map(([key, inside]) => {
      const [first] = inside;
      if (first?.path.length === 1) return [key, first.value];
      return [key, toTree(inside.map(({path, value}) => ({path: path.slice(1), value})))];
    }),
  );
}

/**
 * The tree after a patch. A value of null becomes the default where there is one, else it goes; a
 * tree of null goes with all that is in it.
 */
export function mergePatch(tree: Tree, patch: Patch, defaults: Tree): Tree {
  const merged: Record<string, Value | Tree> = {...tree};
  for (const [key, node] of Object.entries(patch)) {
    const held = tree[key];
    const preset = Object.hasOwn(defaults, key) ? defaults[key] : undefined;
    if (node === null) {
      delete merged[key];
      if (preset !== undefined && !isTree<Tree>(preset)) merged[key] = preset;
    } else if (isTree<Patch>(node)) {
      const inside = {
        held: isTree<Tree>(held) ? held : {},
        preset: isTree<Tree>(preset) ? preset : {},
      };
      merged[key] = mergePatch(inside.held, node, inside.preset);
    } else merged[key] = node;
  }
  return merged;
}

/** A patch that takes nothing away. */
export function withoutNulls(patch: Patch): Patch {
  return Object.fromEntries(
    Object.entries(patch).flatMap(([key, node]): [string, Patch[string]][] => {
      if (node === null) return [];
      return [[key, isTree<Patch>(node) ? withoutNulls(node) : node]];
    }),
  );
}

/**
 * The values in which two trees differ, in the order of the second, those that are gone at the end.
 */
export function listDifferences(from: Tree, to: Tree): Difference[] {
  const changed = listLeaves(to).flatMap(({path, value}) => {
    const held = find(from, path);
    const before = held === undefined || isTree<Tree>(held) ? null : held;
    return isSame(before, value) ? [] : [{path, from: before, to: value}];
  });
  const gone = listLeaves(from).flatMap(({path, value}) =>
    find(to, path) === undefined ? [{path, from: value, to: null}] : [],
  );
  return [...changed, ...gone];
}

export function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** An entry of a section that differs: what a statement writes. */
export interface Entry<T extends Tree | Value> {
  /** The keys on the way to it. */
  readonly path: Path;
  /** Null where there was none. */
  readonly before: T | null;
  /** Null where it goes. */
  readonly after: T | null;
}

/**
 * The entries that differ, those first that go.
 * @param depth - how many keys lead to an entry
 */
export function listChanged<T extends Tree | Value>(
  {before, after}: {readonly before: Tree; readonly after: Tree},
  depth: number,
): Entry<T>[] {
  const paths = new Map(
    [...listPaths(before, depth), ...listPaths(after, depth)].map((path) => [
      JSON.stringify(path),
      path,
    ]),
  );
  const read = (tree: Tree, path: Path) => (find(tree, path) as T | undefined) ?? null;
  return [...paths.values()]
    .map((path) => ({path, before: read(before, path), after: read(after, path)}))
    .filter((entry) => !isSame(entry.before, entry.after))
    .toSorted((left, right) => Number(left.after !== null) - Number(right.after !== null));
}

/** The keys on the way to each entry of a depth. */
export function listPaths(tree: Tree, depth: number): Path[] {
  return Object.entries(tree).flatMap(([key, node]) => {
    if (depth === 1) return [[key]];
    return isTree<Tree>(node) ? listPaths(node, depth - 1).map((path) => [key, ...path]) : [];
  });
}
