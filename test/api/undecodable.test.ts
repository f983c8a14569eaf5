// A page with bytes that are not UTF-8 is read as far as its records can be told apart.

import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {readListApart, readOneApart} from '../../src/api/xml-read.ts';
import {readList} from '../../src/api/xml-strict.ts';
import {RecordError, RetryableError} from '../../src/core/errors.ts';
import {list} from '../support/scripted-service.ts';
import {fieldsOf, JOBS} from './read-jobs.ts';

const marker = 'BROKEN';
const sequences = [
  '\xff',
  '\xc3',
  '\xe2\x82',
  '\xf0\x9f\x92',
  '\xc0\xaf',
  '\xed\xa0\x80',
  '\xf5\x80\x80\x80',
  '\x80',
];

/** The text in UTF-8, with other bytes where the marker stands. */
function withBytes(text: string, bytes: string): Buffer {
  const [before = '', ...rest] = text.split(marker);
  return Buffer.concat(
    [before, ...rest].flatMap((part, at) => [
      Buffer.from(at === 0 ? '' : bytes, 'latin1'),
      Buffer.from(part),
    ]),
  );
}

const page = (...names: string[]) =>
  list(
    'jobs',
    names.map(
      (name, at) =>
        `<job><job-number type="integer">${at + 1}</job-number><name>${name}</name></job>`,
    ),
  );

describe('a list with bytes that are not UTF-8', () => {
  test.each(sequences.map((bytes) => [Buffer.from(bytes, 'latin1').toString('hex'), bytes]))(
    'loses only the records with the bytes %s',
    (_, bytes) => {
      const body = withBytes(page('Söhne', `a ${marker}`, 'b', marker, 'c'), bytes);
      expect(() => readList(body, JOBS)).toThrow(RetryableError);
      const {records, bad} = readListApart(body, JOBS);
      expect(records.map((record) => fieldsOf(record).name)).toEqual(['Söhne', 'b', 'c']);
      expect(bad.map(({index}) => index)).toEqual([1, 3]);
      expect(bad[0]?.reason).toBe('bytes that are not UTF-8');
      expect(bad[0]?.xml).toMatch(/^<job><job-number type="integer">2<.*a \ufffd+<.*<\/job>$/);
    },
  );

  test('reports another reason for records that are bad for another reason', () => {
    const {records, bad} = readListApart(withBytes(page('a', marker, '\u0000', 'd'), '\xff'), JOBS);
    expect(records).toHaveLength(2);
    expect(bad.map(({index, reason}) => [index, reason])).toEqual([
      [1, 'bytes that are not UTF-8'],
      [2, 'name: a character that XML forbids'],
    ]);
  });

  test('and no other record is empty, and not an error', () => {
    expect(readListApart(withBytes(page(marker), '\xff'), JOBS)).toMatchObject({
      records: [],
      bad: [{index: 0}],
    });
  });

  test.each<[string, string]>([
    ['between records', page('a').replace('</job>\n', `</job>${marker}\n`)],
    ['in its own tag', page('a').replace('<jobs type', `<jobs${marker} type`)],
    ['in the tag of a record', page('a', 'b').replace('</job>', `</j${marker}ob>`)],
    ['and another whose tags are broken', page('a', marker, '</b>')],
    ['and cut short', page('a', marker, 'c').slice(0, -20)],
    ['with a comment', page('a', marker, '<!-- c -->')],
    ['in another encoding', page('a', marker).replace('UTF-8', 'US-ASCII')],
  ])('%s is still an error', (_, text) => {
    expect(() => readListApart(withBytes(text, '\xff'), JOBS)).toThrow(RetryableError);
  });

  test('returns records only as they were sent, and reports bad ones, or is an error', () => {
    const names = ['Söhne', 'b &amp; c', 'ç'.repeat(10), 'd'];
    const whole = Buffer.from(page(...names));
    const sent = readList(whole, JOBS).records.map((record) => JSON.stringify(fieldsOf(record)));
    const edit = fc.record({
      at: fc.nat(whole.length - 1),
      byte: fc.constantFrom(0xc0, 0xc1, 0xf5, 0xfe, 0xff),
    });
    fc.assert(
      fc.property(fc.array(edit, {minLength: 1, maxLength: 4}), (edits) => {
        const body = Buffer.from(whole);
        for (const {at, byte} of edits) body[at] = byte;
        let read: ReturnType<typeof readListApart>;
        try {
          read = readListApart(body, JOBS);
        } catch (error) {
          expect(error).toBeInstanceOf(RetryableError);
          return;
        }
        // Where the tags between two records are hit, both are in one bad piece.
        expect(read.bad.length).toBeGreaterThan(0);
        expect(read.records.length + read.bad.length).toBeLessThanOrEqual(names.length);
        for (const record of read.records) expect(sent).toContain(JSON.stringify(fieldsOf(record)));
      }),
      {numRuns: 2_000},
    );
  });
});

describe('one record with bytes that are not UTF-8', () => {
  const shown =
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `<job><job-number>1</job-number><name>${marker}</name></job>`;

  test('is a record error', () => {
    expect(() => readOneApart(withBytes(shown, '\xff'), JOBS)).toThrow(RecordError);
    expect(fieldsOf(readOneApart(withBytes(shown, 'x'), JOBS)).name).toBe('x');
  });

  test.each([shown.slice(0, -3), `${shown}<a/>`, marker, `<html>${marker}</html>`])(
    'is a retryable error if it is not one whole record: %j',
    (text) => {
      expect(() => readOneApart(withBytes(text, '\xff'), JOBS)).toThrow(RetryableError);
    },
  );
});
