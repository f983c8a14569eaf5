// What zod found, in our words: the place, what was expected, what came, and the nearest key.

import type {z} from 'zod';
import {nearest} from '../core/names.ts';
import {shorten} from '../core/text.ts';
import {allSections} from '../settings/all-sections.ts';
import {toJsonSchema} from '../settings/file-schema.ts';
import type {Problem} from '../settings/section.ts';

type Issue = z.core.$ZodIssue;

/** The part of a JSON Schema that tells the keys of an object. */
interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: Shape | false;
  readonly anyOf?: readonly Shape[];
}

const longest = 60;

/** @param given - the whole file */
export function describeIssue(issue: Issue, given: unknown): Problem[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({path: [...path, key], text: describeUnknown(path, key)}));
  if (issue.code === 'invalid_key')
    return [{path, text: `${issue.issues[0]?.message}, got ${show(path.at(-1))}`}];
  const tellsAll = issue.code === 'custom' && issue.params?.isPrivate === true;
  const expected = issue.message.startsWith('expected')
    ? issue.message
    : 'expected keys with values';
  return [{path, text: tellsAll ? expected : `${expected}, got ${show(valueAt(given, path))}`}];
}

function describeUnknown(path: readonly string[], key: string): string {
  const section = allSections.find(({name}) => name === path[0]);
  const advice = Object.entries(section?.advice ?? {}).find(([known]) => known === key)?.[1];
  if (advice !== undefined) return `there is no such key; ${advice}`;
  const known = listKeys(path);
  return `there is no such key${nearest(key, known)}; there are ${known.join(', ')}`;
}

/** The keys that may stand at a place. */
function listKeys(path: readonly string[]): string[] {
  let shape: Shape = toJsonSchema();
  for (const key of path) {
    const inside = ofObject(shape);
    shape = inside.properties?.[key] ?? (inside.additionalProperties || {});
  }
  return Object.keys(ofObject(shape).properties ?? {});
}

/** What may also be null is one of two shapes. */
function ofObject(shape: Shape): Shape {
  return (
    shape.anyOf?.find(({properties, additionalProperties}) => properties ?? additionalProperties) ??
    shape
  );
}

function valueAt(given: unknown, path: readonly string[]): unknown {
  let value = given;
  for (const key of path)
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Readonly<Record<string, unknown>>)[key]
        : undefined;
  return value;
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return 'keys with values';
  return shorten(JSON.stringify(value), longest);
}
