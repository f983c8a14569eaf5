// Reads a file of settings as a whole: all mistakes are reported at once, each with its line and
// column. Also writes the settings in force as a file.

import {mkdir, readFile, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {text as readText} from 'node:stream/consumers';
import {
  Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Document as ParsedDocument,
  type ParsedNode,
  parseDocument,
  visit,
} from 'yaml';
import type {z} from 'zod';
import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import {shorten} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';
import {
  fieldsOf,
  isBuiltIn,
  isSame,
  type Named,
  type Path,
  presetOf,
  type Section,
  type SettingProblem,
  type SettingsTree,
  toTree,
  toValuePath,
} from '../settings/section.ts';
import {allSections, fileSchema, toJsonSchema} from '../settings/settings.ts';
import {isReplaced, writeAside} from './write-file.ts';

type Parsed = ParsedDocument.Parsed<ParsedNode>;

/** A file of settings with a valid structure. */
interface SettingsFile {
  /** The name of the file, for a person. */
  readonly name: string;
  readonly settings: SettingsTree;
  /** @throws {UsageError} if there are problems: all of them, in the order of the file */
  readonly refuse: (problems: readonly SettingProblem[]) => void;
}

/**
 * Reads a file of settings.
 * @param file - its path; `-` is standard input
 * @throws {UsageError} the file cannot be read, or the errors of `parseSettings`
 */
export async function readSettingsFile(file: string): Promise<SettingsFile> {
  const name = file === '-' ? 'standard input' : file;
  const source = await (file === '-' ? readText(process.stdin) : readFile(file, 'utf8')).catch(
    (error: Error) => {
      const isMissing = 'code' in error && error.code === 'ENOENT';
      const problem = isMissing
        ? 'expected a file of settings, got none of that name; ' +
          `fieldmirror config export ${name} writes one`
        : `expected a file that can be read, got ${error.message}`;
      throw new UsageError(`${name}: ${problem}`, {cause: error});
    },
  );
  return parseSettings(source, name);
}

/**
 * @throws {UsageError} the text is not YAML, or has unknown keys or invalid values: one line for
 *   each mistake
 */
export function parseSettings(source: string, name: string): SettingsFile {
  const lines = new LineCounter();
  const document = parseDocument(source, {lineCounter: lines, prettyErrors: false});
  refuseSyntax(document, {name, lines});
  const refuse = (problems: readonly SettingProblem[]) =>
    refuseProblems(problems, document, {name, lines});
  const oddKeys = findOddKeys(document);
  if (!isMap(document.contents))
    throw new UsageError(
      `${name}: expected sections such as accounts: and schedules:, ` +
        `got ${describeContents(document)}`,
    );
  const fileValue = toValue(document, name);
  const parsed = fileSchema.safeParse(fileValue);
  const problems = parsed.error?.issues.flatMap((issue) => describeIssue(issue, fileValue)) ?? [];
  const isReported = ({path}: SettingProblem) => oddKeys.some((each) => isSame(each.path, path));
  refuse([...oddKeys, ...problems.filter((problem) => !isReported(problem))]);
  return {name, settings: parsed.data ?? {}, refuse};
}

/** @throws {UsageError} an alias without its anchor, or far too many aliases */
function toValue(document: Parsed, name: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    throw new UsageError(`${name}: expected YAML, got ${error.message}`, {cause: error});
  }
}

interface SourceFile {
  readonly name: string;
  readonly lines: LineCounter;
}

function refuseSyntax({errors, warnings}: Parsed, {name, lines}: SourceFile): void {
  const problems = [...errors, ...warnings].map(({pos: [at], code, message}) => {
    const {line, col} = lines.linePos(at);
    const problem =
      code === 'DUPLICATE_KEY'
        ? 'expected each key once, got this one again: put what is under both together'
        : `expected YAML, got ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
    return `${name}:${line}:${col}: ${problem}`;
  });
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
}

const missingValue =
  'expected a value, got nothing; leave the key out to leave it alone, ' +
  'or remove a whole entry with {remove: true}';

/**
 * Converts each key to text as it is written, so that no digit of a long number is lost.
 * @returns keys without a value, and keys that appear twice: as 7 and as "7"
 */
function findOddKeys(document: Parsed): SettingProblem[] {
  const oddKeys: SettingProblem[] = [];
  const seen = new Set<string>();
  visit(document, {
    Pair(_, {key, value}, ancestors) {
      if (!isScalar(key)) return;
      if (key.source !== undefined) key.value = key.source;
      const ancestorKeys = ancestors.flatMap((each) =>
        isPair(each) && isScalar(each.key) ? [String(each.key.value)] : [],
      );
      const path = [...ancestorKeys, String(key.value)];
      const place = JSON.stringify(path);
      if (seen.has(place)) oddKeys.push({path, text: 'expected it once, got it twice'});
      seen.add(place);
      if (value === null || (isScalar(value) && value.value === null))
        oddKeys.push({path, text: missingValue});
    },
  });
  return oddKeys;
}

function describeContents({contents}: Parsed): string {
  return contents === null || (isScalar(contents) && contents.value === null)
    ? 'nothing'
    : 'something else';
}

function refuseProblems(
  problems: readonly SettingProblem[],
  document: Parsed,
  {name, lines}: SourceFile,
): void {
  if (problems.length === 0) return;
  const placed = problems.map(({path, text}) => {
    const {line, col} = lines.linePos(findOffset(document, path));
    return {line, col, text: `${name}:${line}:${col}: ${path.join(' / ')}: ${text}`};
  });
  const ordered = placed.toSorted((left, right) => left.line - right.line || left.col - right.col);
  throw new UsageError(ordered.map(({text}) => text).join('\n'));
}

/** The position of a key; if the key is missing, that of the innermost key around it. */
function findOffset({contents}: Parsed, path: Path): number {
  let node: unknown = contents;
  let offset = 0;
  for (const key of path) {
    if (!isMap(node)) break;
    const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === key);
    if (pair === undefined || !isScalar(pair.key)) break;
    offset = pair.key.range?.[0] ?? offset;
    node = pair.value;
  }
  return offset;
}

// Describes the problems that zod found in our words: the place, the expected value, the actual
// value, and the nearest key.

type Issue = z.core.$ZodIssue;

/** The part of a JSON Schema that describes the keys of an object. */
interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: Shape | false;
  readonly anyOf?: readonly Shape[];
}

const longestValue = 60;

/** @param fileValue - the whole file */
function describeIssue(issue: Issue, fileValue: unknown, parentPath: Path = []): SettingProblem[] {
  const path = [...parentPath, ...issue.path.map(String)];
  const actual = readValueAt(fileValue, path);
  const isOwnText = issue.message.startsWith('expected');
  if (issue.code === 'invalid_union' && !isOwnText) {
    const [entry = [], removal = []] = issue.errors;
    const issues = isKeyed(actual) && Object.hasOwn(actual, 'remove') ? removal : entry;
    return issues.flatMap((nested) => describeIssue(nested, fileValue, path));
  }
  if (issue.code === 'unrecognized_keys' && !isOwnText)
    return issue.keys.map((key) => ({path: [...path, key], text: describeUnknown(path, key)}));
  if (issue.code === 'invalid_key')
    return [{path, text: `${issue.issues[0]?.message}, got ${describeValue(path.at(-1))}`}];
  const isPrivate = issue.code === 'custom' && issue.params?.isPrivate === true;
  const expected = isOwnText ? issue.message : 'expected keys with values';
  return [{path, text: isPrivate ? expected : `${expected}, got ${describeValue(actual)}`}];
}

function describeUnknown(path: readonly string[], key: string): string {
  const section = allSections.find(({name}) => name === path[0]);
  const advice = new Map(Object.entries(section?.advice ?? {})).get(key);
  if (advice !== undefined) return `there is no such key; ${advice}`;
  const keys = listKeys(path);
  return `there is no such key${nearest(key, keys)}; there are ${keys.join(', ')}`;
}

/** The keys that are allowed at a place. */
function listKeys(path: readonly string[]): string[] {
  let shape: Shape = toJsonSchema();
  for (const key of path) {
    const objectShape = findObjectShape(shape);
    shape = objectShape.properties?.[key] ?? (objectShape.additionalProperties || {});
  }
  return Object.keys(findObjectShape(shape).properties ?? {});
}

/** A nullable value has one of two shapes; this finds the shape of the object. */
function findObjectShape(shape: Shape): Shape {
  return (
    shape.anyOf?.find(({properties, additionalProperties}) => properties ?? additionalProperties) ??
    shape
  );
}

function readValueAt(fileValue: unknown, path: readonly string[]): unknown {
  let value = fileValue;
  for (const key of path)
    value = isKeyed(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

function isKeyed(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (isKeyed(value) && !Array.isArray(value)) return 'keys with values';
  return shorten(JSON.stringify(value), longestValue);
}

/** The settings of a section that are in force. */
interface SectionSettings {
  readonly section: Section;
  readonly entries: readonly Named[];
}

const headerLines = [
  'Settings of Fieldmirror: fieldmirror config plan shows what this file would change,',
  'config apply changes it.',
  'An entry is written whole, and what is not named is left alone. {remove: true} in place of an',
  'entry removes it.',
];

/** The settings in force, in the order of a file. */
export async function readEntries(db: Queryable): Promise<SectionSettings[]> {
  const sections: SectionSettings[] = [];
  for (const section of allSections) {
    const entries = await section.read(db);
    const isShown = (each: Named) => section.hidesBuiltIn !== true || !isBuiltIn(section, each);
    sections.push({section, entries: entries.filter(isShown)});
  }
  return sections;
}

/**
 * Formats settings as a file, always in the same order.
 * @param schema - the path of the JSON Schema for editors, relative to the file; null if there is
 *   none
 */
export function formatFile(sections: readonly SectionSettings[], schema: string | null): string {
  const document = new Document(toFile(sections));
  document.commentBefore = formatComment(headerLines);
  for (const each of sections) {
    formatAbout(document, each.section);
    formatValues(document, each);
  }
  const hint = schema === null ? '' : `# yaml-language-server: $schema=${schema}\n`;
  return `${hint}${document.toString({lineWidth: 0, flowCollectionPadding: false})}`;
}

function formatAbout({contents}: Document, {name, about}: Section): void {
  if (!isMap(contents)) return;
  const key = contents.items
    .map((item) => item.key)
    .find((each) => isScalar(each) && each.value === name);
  if (!isNode(key)) return;
  key.spaceBefore = key !== contents.items[0]?.key;
  key.commentBefore = formatComment(about);
}

/** Puts each list on one line, and marks each value that is at its default. */
function formatValues(document: Document, {section, entries}: SectionSettings): void {
  for (const namedEntry of entries) {
    const preset = presetOf(section, namedEntry);
    for (const [key, value] of Object.entries(fieldsOf(namedEntry.entry))) {
      const node = document.getIn([section.name, ...toValuePath(namedEntry.path, key)], true);
      if (isSeq(node)) node.flow = true;
      if (isNode(node) && isSame(preset[key], value)) node.comment = ' default';
    }
  }
}

function toFile(sections: readonly SectionSettings[]): SettingsTree {
  return Object.fromEntries(sections.map(({section, entries}) => [section.name, toTree(entries)]));
}

function formatComment(lines: readonly string[]): string {
  return lines.map((line) => ` ${line}`).join('\n');
}

/** The file that editors read the schema from, if it is beside the settings. */
const schemaFile = 'fieldmirror.schema.json';

/**
 * Formats the settings in force as a file, and writes the file if one is named.
 * @throws {UsageError} the file cannot be written
 */
export async function writeActiveSettings(db: Queryable, file: string | undefined) {
  const sections = await readEntries(db);
  const hasSchema = file !== undefined && (await isReplaced(join(dirname(file), schemaFile)));
  const text = formatFile(sections, hasSchema ? `./${schemaFile}` : null);
  if (file !== undefined) await write(file, text);
  return {text, settings: toFile(sections)};
}

/**
 * Writes the file, all of it or nothing; creates its folder.
 * @throws {UsageError} it cannot be written
 */
export async function write(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), {recursive: true});
    await writeAside(file, (path) => writeFile(path, text));
  } catch (error) {
    throw new UsageError(`${file}: expected a file that can be written, got ${String(error)}`, {
      cause: error,
    });
  }
}

/** @throws {UsageError} there is a file, and it is no schema of these settings */
export async function refuseOtherFile(file: string): Promise<void> {
  if (!(await isReplaced(file))) return;
  const text = await readFile(file, 'utf8').catch(() => '');
  if (isSchema(text)) return;
  throw new UsageError(
    `config schema: ${file}: expected no file there, or a schema that config schema wrote, ` +
      'got another file; give another path, or remove the file first',
  );
}

function isSchema(text: string): boolean {
  try {
    return JSON.parse(text)?.title === toJsonSchema().title;
  } catch {
    return false;
  }
}
