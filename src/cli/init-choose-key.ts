// The sealing key of an installation: made at its setting up, so that a second account, an alert or
// a subscriber needs no further step.

import type {Secret} from '../core/secret.ts';
import {makeKey, parseKeys, type SealingKey} from '../core/secret.ts';
import {wrap} from './wrap-text.ts';

/** The key that seals from now on. */
export interface KeyChoice {
  /** Its fingerprint; null where there is none yet. */
  readonly id: string | null;
  /** The text of a key that was made; null where none was. */
  readonly made: Secret | null;
  /** Keys that the warehouse needs, and that are not given. */
  readonly missing: readonly string[];
}

/**
 * Keeps the key that is given, or makes one. None is made for a warehouse with seals of another
 * key: a person has that one somewhere, and a second one would hide that it is missing.
 * @param sealedWith - the keys of the warehouse, by their fingerprints
 */
export function chooseKey(given: readonly SealingKey[], sealedWith: readonly string[]): KeyChoice {
  const missing = sealedWith.filter((id) => !given.some((key) => key.id === id));
  const [first] = given;
  if (first !== undefined || missing.length > 0)
    return {id: first?.id ?? null, made: null, missing};
  const made = makeKey();
  return {id: parseKeys(made.reveal())[0]?.id ?? null, made, missing};
}

export function describeKey({id, made, missing}: KeyChoice, envFile: string): string[] {
  if (missing.length > 0) {
    const expected = `key ${missing.join(' and key ')}`;
    return [
      wrap(
        `The warehouse has what is sealed with ${expected}, and the key is not given here: put it into ${envFile} as FIELDMIRROR_KEY. No new key was made.`,
        0,
      ),
    ];
  }
  if (made === null)
    return [
      `The sealing key is the one that was given: key ${id ?? ''}. FIELDMIRROR_KEY stays as it is.`,
    ];
  return [
    `  FIELDMIRROR_KEY in ${envFile} is a new sealing key, key ${id ?? ''}:`,
    '  it seals tokens of further accounts, addresses of alerts and of subscribers, and passwords on their way.',
    '  Keep a copy apart from the dumps of the database. If it is lost, these are given anew; nothing else is lost.',
  ];
}
