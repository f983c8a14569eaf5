import type {z} from 'zod';
import {shorten} from '../core/text.ts';
import type {Flaw} from './problem.ts';

type Issue = z.core.$ZodIssue;
type Part = string | number;

const shownCharacters = 40;

/**
 * The flaws that a schema found, told in the terms of the request. The value met is shown in short:
 * it goes back to its sender, and nowhere else.
 */
export function findFlaws(
  issues: readonly Issue[],
  {place, value}: {readonly place: Flaw['in']; readonly value: unknown},
): Flaw[] {
  return issues.flatMap(openUnion).flatMap((issue): Flaw[] => {
    const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : null;
    const paths: Part[][] = keys === null ? [path] : keys.map((key) => [...path, key]);
    return paths.map((at) => ({
      in: place,
      at: place === 'body' ? toPointer(at) : at.join('.'),
      expected: wordsOf(issue.message),
      got: describe(valueAt(value, at)),
    }));
  });
}

/** JSON pointer, RFC 6901. */
export function toPointer(path: readonly Part[]): string {
  return path
    .map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}

/** One change or an array of them: the issues of the form that was meant. */
function openUnion(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.path.length > 0 || issue.errors.length === 0)
    return [issue];
  const isMeant = (branch: readonly Issue[]) =>
    !branch.some(({code, path}) => code === 'invalid_type' && path.length === 0);
  return [...(issue.errors.find(isMeant) ?? [{...issue, message: 'expected an object'}])];
}

function wordsOf(message: string): string {
  return /expected (.*?)(?:, received .*)?$/s.exec(message)?.[1] ?? message;
}

function valueAt(value: unknown, path: readonly Part[]): unknown {
  let here = value;
  for (const part of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, part)) return undefined;
    here = (here as Record<Part, unknown>)[part];
  }
  return here;
}

function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return shorten(JSON.stringify(value), shownCharacters);
}
