// Reads a list that looks as lists of its kind looked before:
// docs/decisions/0019-a-quick-reader-before-the-strict-one.md.

import {readOpening} from './quick-cut.ts';
import {readUnlessAside, stepAside, type Terms} from './quick-document.ts';
import type {ElementNames, FieldRecord} from './xml-record.ts';

/**
 * Reads a list as the strict reader does.
 * @returns null where the strict reader must read it: nothing is said of the document then
 */
export function readQuickly(body: Buffer, names: ElementNames, terms: Terms): FieldRecord[] | null {
  const records: FieldRecord[] = [];
  return takeQuickly(body, names, (record) => records.push(record), terms) ? records : null;
}

/**
 * The same, record by record.
 * @returns false where the strict reader must read it: what was taken up to there must be forgotten
 */
export function takeQuickly(
  body: Buffer,
  {list, item}: ElementNames,
  take: (record: FieldRecord) => void,
  terms: Terms,
): boolean {
  const isRead = readUnlessAside(body, `${list} of ${item}`, {
    ...terms,
    read: (document) => {
      const {listName, start} = readOpening(body, list) ?? stepAside();
      let count = 0;
      for (const {name, record} of document.readRecords(start)) {
        if (name !== item || count++ === terms.limits.records) stepAside();
        take(record);
      }
      document.end(`</${listName}>`);
      return true;
    },
  });
  return isRead ?? false;
}
