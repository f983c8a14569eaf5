import {find, isSame, isTree, type Path, type Tree, type Value} from './settings-tree.ts';

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
