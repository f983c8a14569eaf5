// A file of settings is read whole: every mistake is told at once, each with its line and column.

import {readFile} from 'node:fs/promises';
import {text as readText} from 'node:stream/consumers';
import {
  isMap,
  isPair,
  isScalar,
  LineCounter,
  type Document as ParsedDocument,
  type ParsedNode,
  parseDocument,
  visit,
} from 'yaml';
import {UsageError} from '../core/errors.ts';
import {fileSchema} from '../settings/file-schema.ts';
import type {Problem} from '../settings/section.ts';
import {isSame, type Patch, type Path} from '../settings/settings-tree.ts';
import {describeIssue} from './config-issue.ts';

type Parsed = ParsedDocument.Parsed<ParsedNode>;

/** A file of settings, whose shape is right. */
export interface SettingsFile {
  /** Its name, for a person. */
  readonly name: string;
  readonly patch: Patch;
  /** @throws {UsageError} there are problems: all of them, in the order of the file */
  readonly refuse: (problems: readonly Problem[]) => void;
}

/**
 * Reads a file of settings.
 * @param file - its path; `-` is standard input
 * @throws {UsageError} it cannot be read, or as `parseSettings`
 */
export async function readSettingsFile(file: string): Promise<SettingsFile> {
  const name = file === '-' ? 'standard input' : file;
  const source = await (file === '-' ? readText(process.stdin) : readFile(file, 'utf8')).catch(
    (error: Error) => {
      const isMissing = 'code' in error && error.code === 'ENOENT';
      const told = isMissing
        ? `expected a file of settings, got none of that name; fieldmirror config export ${name} writes one`
        : `expected a file that can be read, got ${error.message}`;
      throw new UsageError(`${name}: ${told}`, {cause: error});
    },
  );
  return parseSettings(source, name);
}

/**
 * @throws {UsageError} it is no YAML, or has keys and values that there are not: one line for each
 * mistake
 */
export function parseSettings(source: string, name: string): SettingsFile {
  const lines = new LineCounter();
  const document = parseDocument(source, {lineCounter: lines, prettyErrors: false});
  refuseFlaws(document, {name, lines});
  const refuse = (problems: readonly Problem[]) =>
    refuseProblems(problems, document, {name, lines});
  const odd = findOddKeys(document);
  if (!isMap(document.contents))
    throw new UsageError(
      `${name}: expected sections such as accounts: and schedules:, got ${describeContents(document)}`,
    );
  const given = toValue(document, name);
  const read = fileSchema.safeParse(given);
  const flaws = read.error?.issues.flatMap((issue) => describeIssue(issue, given)) ?? [];
  const isTold = ({path}: Problem) => odd.some((each) => isSame(each.path, path));
  refuse([...odd, ...flaws.filter((flaw) => !isTold(flaw))]);
  return {name, patch: read.data ?? {}, refuse};
}

/** @throws {UsageError} an alias without its anchor, or far too many of them */
function toValue(document: Parsed, name: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    throw new UsageError(`${name}: expected YAML, got ${error.message}`, {cause: error});
  }
}

interface Place {
  readonly name: string;
  readonly lines: LineCounter;
}

function refuseFlaws({errors, warnings}: Parsed, {name, lines}: Place): void {
  const flaws = [...errors, ...warnings].map(({pos: [at], code, message}) => {
    const {line, col} = lines.linePos(at);
    const told =
      code === 'DUPLICATE_KEY'
        ? 'expected each key once, got this one again: put what is under both together'
        : `expected YAML, got ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
    return `${name}:${line}:${col}: ${told}`;
  });
  if (flaws.length > 0) throw new UsageError(flaws.join('\n'));
}

/**
 * Makes a text of each key as it is written, so that no digit of a long number is lost.
 * @returns keys without a value, and keys that are there twice: as 7 and as "7"
 */
function findOddKeys(document: Parsed): Problem[] {
  const odd: Problem[] = [];
  const seen = new Set<string>();
  visit(document, {
    Pair(_, {key, value}, ancestors) {
      if (!isScalar(key)) return;
      if (key.source !== undefined) key.value = key.source;
      const above = ancestors.flatMap((each) =>
        isPair(each) && isScalar(each.key) ? [String(each.key.value)] : [],
      );
      const path = [...above, String(key.value)];
      const place = JSON.stringify(path);
      if (seen.has(place)) odd.push({path, text: 'expected it once, got it twice'});
      seen.add(place);
      if (isNothing(value)) odd.push({path, text: describeNothing(path)});
    },
  });
  return odd;
}

function isNothing(value: unknown): boolean {
  return value === null || (isScalar(value) && value.value === null && (value.source ?? '') === '');
}

function describeNothing(path: Path): string {
  const remedy = path.length === 1 ? '' : ', or write null to take it away';
  return `expected a value, got nothing; leave the key out to leave it alone${remedy}`;
}

function describeContents({contents}: Parsed): string {
  return contents === null || (isScalar(contents) && contents.value === null)
    ? 'nothing'
    : 'something else';
}

function refuseProblems(
  problems: readonly Problem[],
  document: Parsed,
  {name, lines}: Place,
): void {
  if (problems.length === 0) return;
  const placed = problems.map(({path, text}) => {
    const {line, col} = lines.linePos(findOffset(document, path));
    return {line, col, text: `${name}:${line}:${col}: ${path.join(' / ')}: ${text}`};
  });
  const ordered = placed.toSorted((left, right) => left.line - right.line || left.col - right.col);
  throw new UsageError(ordered.map(({text}) => text).join('\n'));
}

/** Where the key stands; of a key that is missing, what it should stand in. */
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
