import {nearest} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';
import {allSections} from './all-sections.ts';
import type {Environment, Problem, Prospect, Section} from './section.ts';
import {
  type Difference,
  find,
  isSame,
  isTree,
  listDifferences,
  listLeaves,
  listPatches,
  mergePatch,
  type Patch,
  type Path,
  type Tree,
  type Value,
  withoutNulls,
} from './settings-tree.ts';

/** A value of the file that does not count. */
interface Overridden {
  readonly path: Path;
  readonly inFile: Value;
  readonly inEnvironment: Value;
}

/** What a file would change in one section. */
export interface SectionPlan extends Prospect {
  readonly section: Section;
  readonly differences: readonly Difference[];
  /** The environment gives these. */
  readonly overridden: readonly Overridden[];
  /** What is set and the file does not name: it stays. */
  readonly unnamed: readonly Path[];
}

export interface SettingsPlan {
  readonly sections: readonly SectionPlan[];
  /** With any of these nothing may be applied; their paths begin with the section. */
  readonly problems: readonly Problem[];
}

/** Compares a file with what is in force. Nothing is written. */
export async function planSettings(
  db: Queryable,
  file: Patch,
  environment: Environment,
): Promise<SettingsPlan> {
  const sections: SectionPlan[] = [];
  const problems: Problem[] = [];
  let accounts: readonly string[] = [];
  for (const section of allSections) {
    const given = file[section.name];
    const isNamed = isTree<Patch>(given);
    if (!isNamed && section.name !== 'accounts') continue;
    const plan = await planSection(db, {
      section,
      given: isNamed ? given : {},
      accounts,
      environment,
    });
    if (section.name === 'accounts') accounts = Object.keys(plan.after);
    else if (section.isByAccount) problems.push(...findStrangers(plan, accounts));
    if (!isNamed) continue;
    sections.push(plan);
    problems.push(...(await findProblems(db, plan)));
  }
  return {sections, problems};
}

async function planSection(
  db: Queryable,
  {
    section,
    given,
    accounts,
    environment,
  }: {
    readonly section: Section;
    readonly given: Patch;
    readonly accounts: readonly string[];
    readonly environment: Environment;
  },
): Promise<SectionPlan> {
  const before = await section.read(db);
  const wanted = withoutObserved(given, before, section.observed);
  const merged = mergePatch(before, withoutNulls(wanted), {});
  const fixed = section.fromEnvironment?.({before, merged}, environment) ?? {};
  const {patch, overridden} = giveWay(wanted, fixed);
  const defaults = section.defaultsOf?.(merged) ?? {};
  const after = withoutMoot(mergePatch(before, patch, defaults), patch, section);
  const differences = listDifferences(before, after);
  const unnamed = listUnnamed(before, patch, defaults).filter(
    (path) =>
      find(after, path) !== undefined && section.observed?.includes(path.at(-1) ?? '') !== true,
  );
  return {section, before, after, patch, accounts, differences, overridden, unnamed};
}

/** The patch without what sweeps tell by now. */
function withoutObserved(patch: Patch, before: Tree, observed: readonly string[] = []): Patch {
  if (observed.length === 0) return patch;
  return Object.fromEntries(
    Object.entries(patch).flatMap(([key, node]): [string, Patch[string]][] => {
      const held = find(before, [key]);
      if (isTree<Patch>(node) && isTree<Tree>(held))
        return [[key, withoutObserved(node, held, observed)]];
      return observed.includes(key) && held !== undefined && !isTree<Tree>(held)
        ? []
        : [[key, node]];
    }),
  );
}

function withoutMoot(after: Tree, patch: Patch, {listMoot}: Section): Tree {
  const named = new Set(listPatches(patch).map(({path}) => path.join('\n')));
  const moot = (listMoot?.(after) ?? []).filter((path) => !named.has(path.join('\n')));
  return moot.reduce((tree, path) => mergePatch(tree, removing(path), {}), after);
}

/** The patch that takes one value away. */
function removing([key = '', ...rest]: Path): Patch {
  return {[key]: rest.length === 0 ? null : removing(rest)};
}

/** The patch with the values of the environment in place of its own. */
function giveWay(
  patch: Patch,
  fixed: Tree,
): {readonly patch: Patch; readonly overridden: Overridden[]} {
  const overridden = listPatches(patch).flatMap(({path, value}) => {
    const inEnvironment = find(fixed, path);
    if (inEnvironment === undefined || isTree<Tree>(inEnvironment) || value === null) return [];
    return isSame(value, inEnvironment) ? [] : [{path, inFile: value, inEnvironment}];
  });
  const changed = overridden.reduce(
    (held, {path, inEnvironment}) => replace(held, path, inEnvironment),
    patch,
  );
  return {patch: changed, overridden};
}

function replace(patch: Patch, [key = '', ...rest]: Path, value: Value): Patch {
  const inside = patch[key];
  return {...patch, [key]: isTree<Patch>(inside) ? replace(inside, rest, value) : value};
}

/** The least places that hold all that is set and not named. */
function listUnnamed(before: Tree, patch: Patch, defaults: Tree, above: Path = []): Path[] {
  return Object.entries(before).flatMap(([key, held]) => {
    const named = Object.hasOwn(patch, key) ? patch[key] : undefined;
    const preset = find(defaults, [key]);
    if (isTree<Tree>(held) && isTree<Patch>(named))
      return listUnnamed(held, named, isTree<Tree>(preset) ? preset : {}, [...above, key]);
    return named === undefined && !isAtDefault(held, preset) ? [[...above, key]] : [];
  });
}

function isAtDefault(held: Value | Tree, preset: Value | Tree | undefined): boolean {
  if (!isTree<Tree>(held)) return isSame(held, preset);
  if (!isTree<Tree>(preset)) return false;
  return listLeaves(held).every(({path, value}) => isSame(find(preset, path), value));
}

/** Settings of an account that there will not be. */
function findStrangers({section, patch}: SectionPlan, accounts: readonly string[]): Problem[] {
  const strangers = Object.keys(patch).filter((name) => !accounts.includes(name));
  const known =
    accounts.length === 0 ? 'there is none' : `there are ${accounts.slice(0, 20).join(', ')}`;
  return strangers.map((name) => ({
    path: [section.name, name],
    text: `expected the name of an account, got ${JSON.stringify(name)}${nearest(name, accounts)}; ${known}`,
  }));
}

async function findProblems(db: Queryable, plan: SectionPlan): Promise<Problem[]> {
  const found = (await plan.section.check?.(db, plan)) ?? [];
  return found.map(({path, text}) => ({path: [plan.section.name, ...path], text}));
}
