// Reads one record that looks as others of its kind looked before:
// docs/decisions/0019-a-quick-reader-before-the-strict-one.md.

import {saysUtf8} from './document-text.ts';
import {skipDeclaration} from './quick-cut.ts';
import {readUnlessAside, stepAside, type Terms} from './quick-document.ts';
import {DEFAULT_LIMITS} from './xml-limits.ts';
import {type ReadMeta, readOne} from './xml-read.ts';
import type {ElementNames, FieldRecord} from './xml-record.ts';

/**
 * Reads one record, quickly where it can be.
 * @throws {RetryableError | RecordError | FatalError} as `readOne` does
 */
export function readRecord(body: Buffer, names: ElementNames, meta: ReadMeta = {}): FieldRecord {
  const {limits, seen} = meta;
  const terms = {limits: {...DEFAULT_LIMITS, ...limits}, seen};
  const quick = saysUtf8(meta.contentType ?? null) ? readRecordQuickly(body, names, terms) : null;
  return quick ?? readOne(body, names, meta);
}

/**
 * Reads one record as the strict reader does.
 * @returns null where the strict reader must read it: nothing is said of the document then
 */
export function readRecordQuickly(
  body: Buffer,
  {list, item}: ElementNames,
  terms: Terms,
): FieldRecord | null {
  return readUnlessAside(body, item, {
    ...terms,
    read: (document) => {
      const start = skipDeclaration(body) ?? stepAside();
      const {name, record} = document.readRecords(start).next().value ?? stepAside();
      if (name !== item && name !== list) stepAside();
      // A list without a type shows itself by its records.
      if (record.names.every((name) => name === item)) stepAside();
      document.end('');
      return record;
    },
  });
}
