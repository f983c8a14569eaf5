import {describe, expect, test} from 'vitest';
import {encodeCopyRow} from '../../src/postgres/sql.ts';

describe('encodeCopyRow', () => {
  test('separates fields by tabs and ends the row with a line feed', () => {
    expect(encodeCopyRow(['a', 'b', 'c'])).toBe('a\tb\tc\n');
  });

  test('distinguishes null, empty text and the text \\N', () => {
    expect(encodeCopyRow([null, '', '\\N'])).toBe('\\N\t\t\\\\N\n');
  });

  test('escapes every character that would end a field or a row, at any position', () => {
    expect(encodeCopyRow(['\ta\t', '\nb\n', '\r\nc\\d\\'])).toBe(
      '\\ta\\t\t\\nb\\n\t\\r\\nc\\\\d\\\\\n',
    );
  });

  test('leaves every other character as it is', () => {
    expect(encodeCopyRow(['äö € 𝄞 "quoted", \u0001'])).toBe('äö € 𝄞 "quoted", \u0001\n');
  });
});
