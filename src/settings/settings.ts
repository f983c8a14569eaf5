// The file of settings as a whole: its sections, the plan of what it would change, its application,
// and the settings in force, each with its origin.

import type pg from 'pg';
import {z} from 'zod';
import {
  type FileSetting,
  forgetFileSettings,
  listFileSettings,
  lockFileSettings,
  noteFileSettings,
} from '../accounts/settings.ts';
import {nearest} from '../core/names.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {
  accountsSection,
  capacitySection,
  closedDaysSection,
  insightSection,
  labelsSection,
} from './account-sections.ts';
import {promotedFieldsSection, writeRulesSection} from './field-sections.ts';
import {alertsSection, hooksSection} from './receiver-sections.ts';
import {
  type Difference,
  type Environment,
  find,
  isSame,
  isTree,
  listDifferences,
  listLeaves,
  listPatches,
  mergePatch,
  type Patch,
  type Path,
  type Problem,
  type Prospect,
  type Section,
  type Tree,
  toTree,
  type Value,
  withoutNulls,
} from './section.ts';
import {
  deletionsSection,
  freshnessSection,
  retentionSection,
  schedulesSection,
} from './sweep-sections.ts';

/**
 * Every section, in the order of an export and of applying: the accounts come first, for others
 * name them.
 */
export const allSections: readonly Section[] = [
  accountsSection,
  schedulesSection,
  freshnessSection,
  deletionsSection,
  writeRulesSection,
  promotedFieldsSection,
  insightSection,
  capacitySection,
  closedDaysSection,
  labelsSection,
  retentionSection,
  hooksSection,
  alertsSection,
];

/** The shape of a whole file, where every section may be left out. */
export const fileSchema: z.ZodType<Patch> = z
  .strictObject(
    Object.fromEntries(
      allSections.map(({name, schema, about}) => [
        name,
        schema.describe(about.join(' ')).exactOptional(),
      ]),
    ),
  )
  .describe('Settings of Fieldmirror: what is not named is left alone; null takes away.');

/** The same as a JSON Schema, for editors. */
export function toJsonSchema(): Record<string, unknown> {
  return {...z.toJSONSchema(fileSchema, {io: 'input'}), title: 'fieldmirror.yaml'};
}

/** A value of the file that does not count. */
interface Overridden {
  readonly path: Path;
  readonly inFile: Value;
  readonly inEnvironment: Value;
}

/** What a file would change in one section. */
interface SectionPlan extends Prospect {
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
    problems.push(...(await findSectionProblems(db, plan)));
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

async function findSectionProblems(db: Queryable, plan: SectionPlan): Promise<Problem[]> {
  const found = (await plan.section.check?.(db, plan)) ?? [];
  return found.map(({path, text}) => ({path: [plan.section.name, ...path], text}));
}

/**
 * Brings the warehouse in line with a file, in one transaction: all of it, or nothing.
 * @param file - its name, to be told by doctor; null where a verb sets the values, and no file
 * @returns what was changed; with problems nothing was
 */
export async function applySettings(
  pool: pg.Pool,
  {patch, file}: {readonly patch: Patch; readonly file: string | null},
  environment: Environment,
): Promise<SettingsPlan> {
  return await inTransaction(pool, async (client) => {
    await lockFileSettings(client);
    const plan = await planSettings(client, patch, environment);
    if (plan.problems.length > 0) return plan;
    for (const {section, differences, ...change} of plan.sections)
      if (differences.length > 0) await section.apply(client, change);
    await refuseRest(client, patch, environment);
    if (file !== null) await noteOrigins(client, plan.sections, file);
    return plan;
  });
}

/** Rows that a rule of the database made something else of are not what was asked for. */
async function refuseRest(db: Queryable, patch: Patch, environment: Environment): Promise<void> {
  const {sections} = await planSettings(db, patch, environment);
  const rest = sections.flatMap(({section, differences}) =>
    differences.map(({path}) => [section.name, ...path].join(' / ')),
  );
  if (rest.length === 0) return;
  throw new Error(
    `config apply: expected nothing left to change, got ${rest.join(', ')}; nothing was written`,
  );
}

/** Notes which values a file gave. A value that the environment gives is not one of them. */
async function noteOrigins(
  db: Queryable,
  plans: readonly SectionPlan[],
  file: string,
): Promise<void> {
  const given: FileSetting[] = [];
  const gone: Pick<FileSetting, 'section' | 'path'>[] = [];
  for (const {section, patch, overridden, differences} of plans) {
    const removed = differences.filter(({to}) => to === null);
    gone.push(...removed.map(({path}) => ({section: section.name, path})));
    const others = toTree(overridden.map(({path, inEnvironment: value}) => ({path, value})));
    for (const {path, value} of listPatches(patch)) {
      const place = {section: section.name, path};
      if (value === null || find(others, path) !== undefined) gone.push(place);
      else given.push({...place, value, file});
    }
  }
  await forgetFileSettings(db, gone);
  await noteFileSettings(db, given);
}

/** One value in force. */
export interface SettingInForce {
  /** As in `schedules / north / jobs today / every`. */
  readonly name: string;
  readonly value: Value;
  /**
   * `environment` goes before `file` before `default`. `warehouse`: set there, by a verb, by SQL,
   * or by the first start, since a file was applied or without one.
   */
  readonly source: 'environment' | 'file' | 'default' | 'warehouse';
  /** Whether it is that of the default, whatever gave it. */
  readonly isDefault: boolean;
  /** Name of the file that gave it. */
  readonly file: string | null;
}

/** Every setting that is a row, in the order of an export. */
export async function readSettingsInForce(
  db: Queryable,
  environment: Environment,
): Promise<SettingInForce[]> {
  const given = new Map(
    (await listFileSettings(db)).map((each) => [keyOf(each.section, each.path), each]),
  );
  const told: SettingInForce[] = [];
  for (const section of allSections) {
    const tree = await section.read(db);
    const origins = {
      section,
      given,
      fixed: section.fromEnvironment?.({before: tree, merged: tree}, environment) ?? {},
      defaults: section.defaultsOf?.(tree) ?? {},
    };
    told.push(...listLeaves(tree).map(({path, value}) => tellOrigin(path, value, origins)));
  }
  return told;
}

interface Origins {
  readonly section: Section;
  readonly given: ReadonlyMap<string, FileSetting>;
  readonly fixed: Tree;
  readonly defaults: Tree;
}

function tellOrigin(
  path: Path,
  value: Value,
  {section, given, fixed, defaults}: Origins,
): SettingInForce {
  const name = [section.name, ...path].join(' / ');
  const fromFile = given.get(keyOf(section.name, path));
  const fromEnvironment = find(fixed, path);
  const isDefault = isSame(find(defaults, path), value);
  if (
    fromEnvironment !== undefined &&
    !isTree<Tree>(fromEnvironment) &&
    isSame(fromEnvironment, value)
  )
    return {name, value, isDefault, source: 'environment', file: null};
  if (fromFile !== undefined && isSame(fromFile.value, value))
    return {name, value, isDefault, source: 'file', file: fromFile.file};
  return {name, value, isDefault, source: isDefault ? 'default' : 'warehouse', file: null};
}

function keyOf(section: string, path: Path): string {
  return JSON.stringify([section, ...path]);
}
