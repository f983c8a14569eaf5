import {expect, test} from 'vitest';
import {DEFAULT_LIMITS} from '../../src/api/xml-document.ts';
import {readRecord, readRecordQuickly} from '../../src/api/xml-read.ts';
import {readOne} from '../../src/api/xml-strict.ts';
import {RecordError, RetryableError} from '../../src/core/errors.ts';
import {compareReaders, names, onlyRecord} from './compare-readers.ts';
import {makeJobPage} from './job-page.ts';

const terms = {limits: DEFAULT_LIMITS, seen: undefined};
const documentOf = (inside: string) =>
  Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${inside}\n`);

test('the quick reader never contradicts the strict one in 10,000 mutated records', () => {
  const {taken, leftSound} = compareReaders(
    'record',
    Array.from({length: 5_000}, (_, seed) => seed),
  );
  expect(taken).toBeGreaterThan(500);
  expect(leftSound).toBeLessThan(taken);
});

test.each(['observed', 'documented'] as const)(
  'the quick reader reads a sound record of the %s dialect like the strict one',
  (dialect) => {
    const body = Buffer.from(onlyRecord(makeJobPage({jobs: 2, dialect}).toString()));
    expect(readRecordQuickly(body, names, terms)).toEqual(readOne(body, names));
  },
);

test('the quick reader reads a record under the name of its list like the strict one', () => {
  const body = documentOf('<jobs><id type="integer">5</id></jobs>');
  expect(readRecordQuickly(body, names, terms)).toEqual(readOne(body, names));
});

test.each([
  ['a list that says so', '<jobs type="array"><job><id>1</id></job></jobs>'],
  ['a list that does not say so', '<jobs><job><id>1</id></job></jobs>'],
  ['two records', '<job><id>1</id></job><job><id>2</id></job>'],
  ['a record of another name', '<task><id>1</id></task>'],
  ['a record without fields', '<job/>'],
  ['a record that is nil', '<job nil="true"/>'],
  ['a record that is a text', '<job>1</job>'],
  ['something behind the record', '<job><id>1</id></job>x'],
  ['a comment behind the record', '<job><id>1</id></job><!-- a -->'],
  ['a record that is cut off', '<job><id>1</id></jo'],
  ['a record that does not begin', ''],
])('%s is left to the strict reader', (_, inside) => {
  expect(readRecordQuickly(documentOf(inside), names, terms)).toBeNull();
});

test('a document that does not declare its encoding is left to the strict reader', () => {
  expect(readRecordQuickly(Buffer.from('<job><id>1</id></job>'), names, terms)).toBeNull();
});

test('a record left by the quick reader is read or rejected by the strict one', () => {
  const commented = documentOf('<job><!-- a --><id>1</id></job>');
  expect(readRecord(commented, names)).toEqual(readOne(commented, names));
  expect(() => readRecord(documentOf('<jobs><job><id>1</id></job></jobs>'), names)).toThrow(
    RetryableError,
  );
  expect(() => readRecord(documentOf('<job><id type="integer">x</id></job>'), names)).toThrow(
    RecordError,
  );
});
