import type {AccountTime} from './account-time.ts';
import type {Field, Fields} from './field.ts';
import {humanize, invalid} from './refusal.ts';
import type {Resource} from './resource.ts';
import type {Given, RequestFields} from './xml-read.ts';

/** The values that a request sets, as they are kept. */
export type Changes = Record<string, string | null>;

/** Collects the problems of a request, so that one answer names them all. */
export class Problems {
  readonly #texts: string[] = [];

  add(field: string, text: string): void {
    this.#texts.push(`${humanize(field)} ${text}`);
  }

  /** The rule of Rails: neither nil nor nothing but white space. */
  requirePresence(fields: Fields, ...names: readonly string[]): void {
    for (const name of names)
      if ((fields[name] ?? '').trim() === '') this.add(name, "can't be blank");
  }

  /** @throws {Refusal} 422 with every text, if there is one */
  refuse(): void {
    if (this.#texts.length > 0) throw invalid([...new Set(this.#texts)]);
  }
}

/**
 * Takes from a request the fields that the resource lets be set, each value in the form in which it
 * is kept; other fields are ignored. Decimals stay as they are sent (`275.10`), an empty text is
 * kept for text fields and nil for others.
 */
export function takeChanges(
  resource: Resource,
  given: RequestFields,
  {time, problems}: {readonly time: AccountTime; readonly problems: Problems},
): Changes {
  const changes: Changes = {};
  for (const field of resource.fields) {
    const value = resource.writable.has(field.name) ? given.get(field.name) : undefined;
    if (value === undefined) continue;
    const taken = takeValue(field, value, time);
    if ('problem' in taken) problems.add(field.name, taken.problem);
    else changes[field.name] = taken.value;
  }
  return changes;
}

type Taken = {readonly value: string | null} | {readonly problem: string};

function takeValue(field: Field, given: Given, time: AccountTime): Taken {
  if (given === null) return {value: null};
  if (typeof given !== 'string') return {problem: 'is invalid'};
  if (field.type === 'text') return {value: given};
  const text = given.trim();
  if (text === '') return {value: null};
  switch (field.type) {
    case 'integer':
      return /^\d{1,18}$/.test(text) ? {value: String(BigInt(text))} : {problem: 'is not a number'};
    case 'decimal':
    case 'float':
      return /^[+-]?(\d{1,15}(\.\d{0,10})?|\.\d{1,10})$/.test(text)
        ? {value: text}
        : {problem: 'is not a number'};
    case 'boolean':
      return takeBoolean(text);
    case 'dateTime':
      return takeTime(time.parse(text));
    default:
      return {problem: 'is invalid'};
  }
}

function takeBoolean(text: string): Taken {
  if (/^(true|1)$/i.test(text)) return {value: 'true'};
  if (/^(false|0)$/i.test(text)) return {value: 'false'};
  return {problem: 'is not true or false'};
}

function takeTime(utc: string | null): Taken {
  return utc === null ? {problem: 'is not a valid date and time'} : {value: utc};
}
