// Settings as nested keys and values: as a file has them, and as rows make them. A file that is
// applied is a patch of the tree in force, as in RFC 7396: what it does not name stays, and null
// takes away.

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
