// A section of the file of settings describes itself: its shape, the entries that rows make, and
// how an entry is written. A new section is added to the list in settings.ts. An entry is known by
// its name and is written whole: values that a file leaves out get their defaults.
// Several sections share the shapes at the end of this file. Their messages say what is expected;
// the reader of the file adds the place and the value that it got.

import {z} from 'zod';
import {formatInterval, intervalPattern, parseInterval} from '../core/format.ts';
import {accountNamePattern, accountNameText} from '../core/names.ts';
import {idPattern} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';

/** The values of the environment, which override those of a file. */
export interface Environment {
  /** The account that the environment names. */
  readonly account: {readonly apiUrl: string; readonly timeZone: string} | null;
  /** The name of the account whose data are made up: `start` sets its address and its zone. */
  readonly demo: string;
}

/** One value, as YAML and JSON can express it. */
export type SettingValue = string | number | boolean | readonly SettingValue[];
export type EntryFields = Readonly<Record<string, SettingValue>>;
/** One value, or values by their keys. */
export type Entry = SettingValue | EntryFields;
/** The keys that lead to an entry, or to a value of one. */
export type Path = readonly string[];

/**
 * Sections or entries by name, as a file nests them; `{remove: true}` is an entry to be removed.
 */
export interface Tree {
  readonly [key: string]: Entry | Tree;
}
export type SettingsTree = Readonly<Record<string, Tree>>;

export interface Named<E extends Entry | null = Entry> {
  readonly path: Path;
  readonly entry: E;
}

/** An entry that a file changes; null if there was none before, or if there is none after. */
export interface EntryChange<E extends Entry = Entry> {
  readonly path: Path;
  readonly before: E | null;
  readonly after: E | null;
}

/** A problem at a place of the section. */
export interface SettingProblem {
  readonly path: Path;
  /** The expected value, the value found, and the next step. */
  readonly text: string;
}

export interface Section<E extends Entry = Entry> {
  /** Its key in the file. */
  readonly name: string;
  /**
   * The text above it in an export and in editors: what it is, and what applies if nothing is set.
   */
  readonly about: readonly string[];
  /** Its shape in the file; with `isByAccount` that of one account. */
  readonly schema: z.ZodType<Tree>;
  /** How many keys name an entry. */
  readonly depth: 1 | 2 | 3;
  /** Whether its first keys are accounts. */
  readonly isByAccount?: boolean;
  /** Whether an export leaves out the built-in entries, because there are many. */
  readonly hidesBuiltIn?: boolean;
  /** Advice on an unknown key, by the key. */
  readonly advice?: Readonly<Record<string, string>>;
  /**
   * Keys whose value in force stays, whatever a file says: an export shows it for readers alone.
   */
  readonly observed?: readonly string[];
  /** The entries in force, in the order of an export. */
  read(db: Queryable): Promise<Named<E>[]>;
  /** The default values of an entry, for those that may be left out and have one. */
  defaultsOf?(entry: E): EntryFields;
  /** The entry of that name as it is if no person has set it. */
  builtIn?(path: Path): Entry | undefined;
  /** The values that the environment gives, which replace those of the file. */
  fixedOf?(change: {path: Path; before: E | null; after: E}, environment: Environment): EntryFields;
  /** Finds the problems that the shape does not show. @param all - every entry after the change */
  check?(
    db: Queryable,
    changes: readonly EntryChange<E>[],
    all: readonly Named<E>[],
  ): SettingProblem[] | Promise<SettingProblem[]>;
  /** Writes an entry whole, as a person would by hand. */
  write(db: Queryable, path: Path, after: E, before: E | null): Promise<unknown>;
  /** Removes an entry; if the method is absent, no entry of the section may be removed. */
  remove?(db: Queryable, path: Path): Promise<unknown>;
}

export function nameEntry<E extends Entry>(path: Path, entry: E): Named<E> {
  return {path, entry};
}

/** The entries of a section of a file; null for an entry that is to be removed. */
export function listEntries(
  tree: Tree,
  depth: number,
  parentPath: Path = [],
): Named<Entry | null>[] {
  return Object.entries(tree).flatMap(([key, node]): Named<Entry | null>[] => {
    const path = [...parentPath, key];
    if (depth > 1) return hasFields(node) ? listEntries(node, depth - 1, path) : [];
    const entry = node as Entry;
    return [{path, entry: fieldsOf(entry).remove === true ? null : entry}];
  });
}

/** Builds the section of a file from its entries, in their order. */
export function toTree(entries: readonly Named[]): Tree {
  const groups = Map.groupBy(entries, ({path}) => path[0] ?? '');
  return Object.fromEntries(
    [...groups].map(([key, group]) => {
      if (group[0]?.path.length === 1) return [key, group[0].entry];
      return [key, toTree(group.map(({path, entry}) => ({path: path.slice(1), entry})))];
    }),
  );
}

export function hasFields(node: Entry | Tree): node is EntryFields {
  return typeof node === 'object' && !Array.isArray(node);
}

/** The values of an entry by key; if an entry is one value, its key is empty. */
export function fieldsOf(entry: Entry | null): EntryFields {
  if (entry === null) return {};
  return hasFields(entry) ? entry : {'': entry};
}

export function toValuePath(path: Path, key: string): Path {
  return key === '' ? path : [...path, key];
}

/** An entry with the defaults of the values that it leaves out. */
export function addDefaults(section: Section, entry: Entry): EntryFields {
  return {...section.defaultsOf?.(entry), ...fieldsOf(entry)};
}

/** The values that an entry of that name has if no person has set them. */
export function presetOf(section: Section, {path, entry}: Named): EntryFields {
  return {...section.defaultsOf?.(entry), ...fieldsOf(section.builtIn?.(path) ?? null)};
}

/** Whether every value of an entry is the one that `presetOf` gives. */
export function isBuiltIn(section: Section, namedEntry: Named): boolean {
  const preset = presetOf(section, namedEntry);
  return Object.entries(fieldsOf(namedEntry.entry)).every(([key, value]) =>
    isSame(preset[key], value),
  );
}

export function serialisePath(path: Path): string {
  return JSON.stringify(path);
}

export function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

type Nullable = Readonly<Record<string, SettingValue | null>>;
type WithoutNulls<T extends Nullable> = {
  readonly [K in keyof T as null extends T[K] ? never : K]: T[K] & SettingValue;
} & {readonly [K in keyof T as null extends T[K] ? K : never]?: T[K] & SettingValue};

/** The values that are set: a row has null for a key that a file leaves out. */
export function leaveOutNulls<T extends Nullable>(values: T): WithoutNulls<T> {
  const present = Object.entries(values).filter(([, value]) => value !== null);
  return Object.fromEntries(present) as WithoutNulls<T>;
}

const expectedInterval =
  'expected an interval of whole days, hours, minutes or seconds, such as 1d, 1h, 5m or 30s';

/** An interval as a text, in its one spelling: 60m becomes 1h. */
export const interval = z
  .string(expectedInterval)
  .regex(intervalPattern, expectedInterval)
  .refine((text) => !intervalPattern.test(text) || parseInterval(text) !== null, expectedInterval)
  .overwrite((text) => {
    const ms = parseInterval(text);
    return ms === null ? text : formatInterval(ms);
  });

/** @param text - a text that `interval` accepts */
export function intervalMs(text: string): number {
  return parseInterval(text) ?? 0;
}

export const accountName = z.string().regex(accountNamePattern, accountNameText);

export const recordNumber = z.string().regex(idPattern, 'expected a number from 1 on');

export const label = z.string('expected a text').min(1, 'expected a text that is not empty');

const hoursText = 'expected hours of a day, 0 to 24';
const weekText = 'expected the hours of Monday to Sunday, such as [8, 8, 8, 8, 8, 0, 0]';
export const hoursOfDay = z.number(hoursText).min(0, hoursText).max(24, hoursText);
export const workingHours = z
  .array(hoursOfDay, weekText)
  .length(7, weekText)
  .readonly()
  .describe('Hours on Monday to Sunday.');

const removeText = 'expected remove: true alone, in place of all that the entry has';

/** An entry that a file may also remove. */
export function removable<T extends z.ZodType>(entry: T) {
  return z.union([entry, z.strictObject({remove: z.literal(true, removeText)}, removeText)]);
}
