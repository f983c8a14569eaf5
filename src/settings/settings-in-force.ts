// The settings that are rows, each with its origin: what `config export` tells, and who or what set
// it.

import {type FileSetting, listFileSettings} from '../accounts/settings.ts';
import type {Queryable} from '../postgres/database.ts';
import {allSections} from './all-sections.ts';
import type {Environment, Section} from './section.ts';
import {
  find,
  isSame,
  isTree,
  listLeaves,
  type Path,
  type Tree,
  type Value,
} from './settings-tree.ts';

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
