import {describe, expect, test} from 'vitest';
import {readListApart, readRecord} from '../../src/api/xml-read.ts';
import {readList} from '../../src/api/xml-strict.ts';
import {FatalError, RetryableError} from '../../src/core/errors.ts';
import {failureOf, JOBS} from './read-jobs.ts';

describe('the bytes of a document', () => {
  const xml = (encoding: string) =>
    `<?xml version="1.0" encoding="${encoding}"?><jobs><job><name>caf\u00e9</name></job></jobs>`;

  test.each<[string, Buffer, string | null]>([
    ['UTF-8, declared', Buffer.from(xml('UTF-8')), null],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${xml('UTF-8')}`), null],
    ['ISO-8859-1, declared', Buffer.from(xml('ISO-8859-1'), 'latin1'), 'application/xml'],
    // RFC 7303, 3.2: a mark goes before the header, and the header before the declaration.
    [
      'a mark against header and declaration',
      Buffer.from(`\ufeff${xml('ISO-8859-1')}`),
      'text/xml; charset=iso-8859-1',
    ],
    [
      'the header against the declaration',
      Buffer.from(xml('ISO-8859-1')),
      'application/xml; charset=utf-8',
    ],
    [
      'the header against a declaration of UTF-8',
      Buffer.from(xml('UTF-8'), 'latin1'),
      'application/xml; charset=ISO-8859-1',
    ],
    ['windows-1252, declared', Buffer.from(xml('windows-1252'), 'latin1'), null],
    [
      'charset of the answer, undeclared',
      Buffer.from(xml('x').replace(/<\?.*?\?>/, ''), 'latin1'),
      'application/xml; charset="ISO-8859-1"',
    ],
    ['UTF-16 little endian with a mark', Buffer.from(`\ufeff${xml('UTF-16')}`, 'utf16le'), null],
    ['UTF-16 little endian without', Buffer.from(xml('UTF-16'), 'utf16le'), null],
    [
      'UTF-16 big endian with a mark',
      Buffer.from(`\ufeff${xml('UTF-16')}`, 'utf16le').swap16(),
      null,
    ],
    ['nothing said', Buffer.from('<jobs><job><name>caf\u00e9</name></job></jobs>'), null],
  ])('are decoded correctly: %s', (_, body, contentType) => {
    expect(readList(body, JOBS, {contentType}).records[0]?.values).toEqual(['caf\u00e9']);
    expect(readListApart(body, JOBS, {contentType}).records[0]?.values).toEqual(['caf\u00e9']);
    const single = Buffer.from(
      body.toString('latin1').replace(/<(\/?)(?:\0?)jobs>/g, ''),
      'latin1',
    );
    if (!body.includes(0))
      expect(readRecord(single, JOBS, {contentType}).values).toEqual(['caf\u00e9']);
  });

  test.each<[string, Buffer, RegExp]>([
    ['bytes that are not UTF-8', Buffer.from(xml('UTF-8'), 'latin1'), /not UTF-8/],
    [
      'an overlong form',
      Buffer.from([
        ...Buffer.from('<jobs><job><a>'),
        0xc0,
        0xaf,
        ...Buffer.from('</a></job></jobs>'),
      ]),
      /not UTF-8/,
    ],
    [
      'an encoded surrogate',
      Buffer.from([
        ...Buffer.from('<jobs><job><a>'),
        0xed,
        0xa0,
        0x80,
        ...Buffer.from('</a></job></jobs>'),
      ]),
      /not UTF-8/,
    ],
    ['bytes beyond declared ASCII', Buffer.from(xml('US-ASCII')), /not US-ASCII/],
    ['an unknown encoding', Buffer.from(xml('EBCDIC-US')), /ebcdic-us/],
    [
      'UTF-16 with a lone surrogate',
      Buffer.from('\ufeff<jobs><job><a>\ud800</a></job></jobs>', 'utf16le'),
      /not UTF-16LE/,
    ],
  ])('are rejected: %s', (_, body, words) => {
    const kind = /ebcdic/.test(words.source) ? FatalError : RetryableError;
    expect(failureOf(body, null, kind).message).toMatch(words);
  });
});
