// The file of settings as a whole: its sections, the plan of its changes, its application, and the
// settings in force, each with its origin.

import type pg from 'pg';
import {z} from 'zod';
import {lockSettings} from '../accounts/settings.ts';
import {nearest} from '../core/names.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {
  accountsSection,
  capacitySection,
  closedDaysSection,
  insightSection,
  labelsSection,
} from './account-sections.ts';
import {
  deletionsSection,
  editsSection,
  freshnessSection,
  promotedFieldsSection,
  retentionSection,
  schedulesSection,
  writeRulesSection,
} from './mirror-sections.ts';
import {alertsSection, deliverySection, hooksSection, reportsSection} from './receiver-sections.ts';
import {
  accountName,
  addDefaults,
  type Entry,
  type EntryChange,
  type EntryFields,
  type Environment,
  fieldsOf,
  hasFields,
  isBuiltIn,
  isSame,
  listEntries,
  type Named,
  type Path,
  presetOf,
  type Section,
  type SettingProblem,
  type SettingsTree,
  type SettingValue,
  serialisePath,
  type Tree,
  toValuePath,
} from './section.ts';

/**
 * Every section, in the order of an export and of applying: the accounts come first, because other
 * sections name them.
 */
export const allSections: readonly Section[] = [
  accountsSection,
  schedulesSection,
  freshnessSection,
  deletionsSection,
  editsSection,
  writeRulesSection,
  promotedFieldsSection,
  insightSection,
  capacitySection,
  closedDaysSection,
  labelsSection,
  retentionSection,
  hooksSection,
  alertsSection,
  deliverySection,
  reportsSection,
];

/** The shape of a whole file, in which every section may be left out. */
export const fileSchema: z.ZodType<SettingsTree> = z
  .strictObject(
    Object.fromEntries(
      allSections.map(({name, schema, isByAccount, about}) => {
        const shape = isByAccount === true ? z.record(accountName, schema) : schema;
        return [name, shape.describe(about.join(' ')).exactOptional()];
      }),
    ),
  )
  .describe('Settings of Fieldmirror: an entry is written whole; what is not named is left alone.');

/** The shape of a file as a JSON Schema, for editors. */
export function toJsonSchema(): Record<string, unknown> {
  return {...z.toJSONSchema(fileSchema, {io: 'input'}), title: 'fieldmirror.yaml'};
}

/** One value that differs; null if there is none. */
interface Difference {
  readonly path: Path;
  readonly from: SettingValue | null;
  readonly to: SettingValue | null;
}

/** A value of the file that the environment overrides. */
interface Overridden {
  readonly path: Path;
  readonly inFile: SettingValue;
  readonly inEnvironment: SettingValue;
}

/** The changes that a file would make in one section. */
interface SectionPlan {
  readonly section: Section;
  /** The entries that differ; `differences` has the values of them that do. */
  readonly changes: readonly EntryChange[];
  readonly differences: readonly Difference[];
  /** The values that the environment gives instead. */
  readonly overridden: readonly Overridden[];
  /** The entries that are set and that the file does not name: they stay. */
  readonly unnamed: readonly Path[];
}

export interface SettingsPlan {
  readonly sections: readonly SectionPlan[];
  /** If there are problems, nothing may be applied; their paths begin with the section. */
  readonly problems: readonly SettingProblem[];
}

/** Compares a file with the settings in force. Nothing is written. */
export async function planSettings(
  db: Queryable,
  file: SettingsTree,
  environment: Environment,
): Promise<SettingsPlan> {
  const sections: SectionPlan[] = [];
  const problems: SettingProblem[] = [];
  const mirrored = (await accountsSection.read(db)).flatMap(({path}) => path);
  const accounts = [...new Set([...mirrored, ...Object.keys(file.accounts ?? {})])];
  for (const section of allSections) {
    const tree = file[section.name];
    if (tree === undefined) continue;
    const currentEntries = await section.read(db);
    const wanted = listEntries(tree, section.depth);
    const plan = planSection(section, {held: currentEntries, wanted, environment});
    const sectionProblems = [
      ...findUnknownAccounts(section, tree, accounts),
      ...((await section.check?.(db, plan.changes, plan.all)) ?? []),
    ];
    sections.push(plan);
    problems.push(
      ...sectionProblems.map(({path, text}) => ({path: [section.name, ...path], text})),
    );
  }
  return {sections, problems};
}

interface PlanInput {
  readonly held: readonly Named[];
  readonly wanted: readonly Named<Entry | null>[];
  readonly environment: Environment;
}

/** @returns also all entries after the change */
function planSection(
  section: Section,
  {held: currentEntries, wanted, environment}: PlanInput,
): SectionPlan & {readonly all: readonly Named[]} {
  const remaining = new Map(currentEntries.map((named) => [serialisePath(named.path), named]));
  const changes: EntryChange[] = [];
  const overridden: Overridden[] = [];
  for (const {path, entry} of wanted) {
    const before = remaining.get(serialisePath(path))?.entry ?? null;
    remaining.delete(serialisePath(path));
    const completed =
      entry === null ? null : completeEntry(section, {path, before, entry}, environment);
    overridden.push(...(completed?.overridden ?? []));
    changes.push({path, before, after: completed?.after ?? null});
  }
  const unnamed = [...remaining.values()];
  return {
    section,
    changes: changes.filter((change) => listDifferences(change).length > 0),
    differences: changes.flatMap(listDifferences),
    overridden,
    unnamed: unnamed.filter((named) => !isBuiltIn(section, named)).map(({path}) => path),
    all: [
      ...unnamed,
      ...changes.flatMap(({path, after}) => (after === null ? [] : {path, entry: after})),
    ],
  };
}

/**
 * The entry as it will be written: with defaults for missing values, with the observed values that
 * are in force, and with the values of the environment.
 */
function completeEntry(
  section: Section,
  {path, before, entry}: Named & {readonly before: Entry | null},
  environment: Environment,
): {readonly after: Entry; readonly overridden: readonly Overridden[]} {
  if (!hasFields(entry)) return {after: entry, overridden: []};
  const observed = Object.entries(fieldsOf(before)).filter(([key]) =>
    section.observed?.includes(key),
  );
  const after = {...addDefaults(section, entry), ...Object.fromEntries(observed)};
  const fixed = section.fixedOf?.({path, before, after}, environment) ?? {};
  const overridden = Object.entries(fixed)
    .map(([key, inEnvironment]) => {
      return {path: [...path, key], inFile: after[key] ?? '', inEnvironment};
    })
    .filter(({inFile, inEnvironment}) => !isSame(inFile, inEnvironment));
  return {after: {...after, ...fixed}, overridden};
}

/** The values of an entry that a file changes: those that it sets, then those that it removes. */
function listDifferences({path, before, after}: EntryChange): Difference[] {
  const [current, wanted] = [fieldsOf(before), fieldsOf(after)];
  return Object.keys({...wanted, ...current})
    .map((key) => {
      return {path: toValuePath(path, key), from: current[key] ?? null, to: wanted[key] ?? null};
    })
    .filter(({from, to}) => !isSame(from, to));
}

/** Settings of an account that will not exist: each account is one problem. */
function findUnknownAccounts(
  {isByAccount, depth}: Section,
  tree: Tree,
  accounts: readonly string[],
): SettingProblem[] {
  const accountPaths = isByAccount
    ? Object.keys(tree).map((name): [Path, SettingValue | undefined] => [[name], name])
    : listEntries(tree, depth).map(({path, entry}): [Path, SettingValue | undefined] => {
        return [[...path, 'account'], fieldsOf(entry).account];
      });
  const knownText =
    accounts.length === 0 ? 'there is no account' : `there are ${accounts.slice(0, 20).join(', ')}`;
  return accountPaths.flatMap(([path, name]) => {
    if (name === undefined || accounts.includes(String(name))) return [];
    const hint = nearest(String(name), accounts);
    return [{path, text: `expected the name of an account, got ${name}${hint}; ${knownText}`}];
  });
}

/**
 * Applies a file to the warehouse in one transaction: all of it, or nothing.
 * @param isFile - false if a command sets one entry: it needs a right to its row alone
 * @returns the changes; if there are problems, nothing was changed
 */
export async function applySettings(
  pool: pg.Pool,
  {file, isFile}: {readonly file: SettingsTree; readonly isFile: boolean},
  environment: Environment,
): Promise<SettingsPlan> {
  return await inTransaction(pool, async (client) => {
    if (isFile) await lockSettings(client);
    const plan = await planSettings(client, file, environment);
    if (plan.problems.length > 0) return plan;
    for (const {section, changes} of plan.sections) {
      // Removals come first, so that their names are free for other entries.
      for (const {path, after} of changes) if (after === null) await section.remove?.(client, path);
      for (const {path, before, after} of changes)
        if (after !== null) await section.write(client, path, after, before);
    }
    await refuseRemaining(client, file, environment);
    return plan;
  });
}

/**
 * Throws if rows differ from the file after it was applied: a rule of the database changed them.
 */
async function refuseRemaining(
  db: Queryable,
  file: SettingsTree,
  environment: Environment,
): Promise<void> {
  const {sections} = await planSettings(db, file, environment);
  const remaining = sections.flatMap(({section, differences}) =>
    differences.map(({path}) => [section.name, ...path].join(' / ')),
  );
  if (remaining.length === 0) return;
  const remainingText = remaining.join(', ');
  throw new Error(
    `config apply: expected nothing left to change, got ${remainingText}; nothing was written`,
  );
}

/** One value in force. */
export interface ActiveSetting {
  /** As in `schedules / north / jobs today / every`. */
  readonly name: string;
  readonly value: SettingValue;
  /** `file`: the compared file has the same value. `warehouse`: nothing else has the value. */
  readonly source: 'environment' | 'file' | 'default' | 'warehouse';
  /** Whether it equals the default, no matter who set it. */
  readonly isDefault: boolean;
  /** Name of the file that has the value. */
  readonly file: string | null;
}

/** A file with which the settings in force are compared. */
interface ComparedFile {
  readonly name: string;
  readonly settings: SettingsTree;
}

/** Every setting that is a row, in the order of an export. */
export async function readSettingsInForce(
  db: Queryable,
  environment: Environment,
  file: ComparedFile | null,
): Promise<ActiveSetting[]> {
  const settings: ActiveSetting[] = [];
  for (const section of allSections) {
    const fileEntries = new Map(
      listEntries(file?.settings[section.name] ?? {}, section.depth).map(({path, entry}) => {
        return [serialisePath(path), entry === null ? {} : addDefaults(section, entry)];
      }),
    );
    for (const namedEntry of await section.read(db)) {
      const {path, entry} = namedEntry;
      const change = {path, before: entry, after: entry};
      const sources = {
        environment: section.fixedOf?.(change, environment) ?? {},
        file: fileEntries.get(serialisePath(path)) ?? {},
        default: presetOf(section, namedEntry),
      };
      settings.push(...listOrigins(section, namedEntry, sources, file?.name ?? null));
    }
  }
  return settings;
}

type Sources = Readonly<Record<'environment' | 'file' | 'default', EntryFields>>;

function listOrigins(
  section: Section,
  {path, entry}: Named,
  sources: Sources,
  file: string | null,
): ActiveSetting[] {
  return Object.entries(fieldsOf(entry)).map(([key, value]) => {
    const isEqualIn = (origin: keyof Sources) => isSame(sources[origin][key], value);
    const source = (['environment', 'file', 'default'] as const).find(isEqualIn) ?? 'warehouse';
    return {
      name: [section.name, ...toValuePath(path, key)].join(' / '),
      value,
      source,
      isDefault: isEqualIn('default'),
      file: source === 'file' ? file : null,
    };
  });
}
