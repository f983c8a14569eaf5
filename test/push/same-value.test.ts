import {describe, expect, test} from 'vitest';
import {isEchoOf, isSameMeaning, isSameValue} from '../../src/rows/change-values.ts';

describe('two values mean the same', () => {
  test.each([
    ['decimal', '275.10', '275.1', true],
    ['decimal', '275.1', '275.2', false],
    ['integer', '7', '7', true],
    ['integer', '7', '8', false],
    ['boolean', 'true', 'true', true],
    ['boolean', 'true', 'false', false],
    ['instant', '2027-03-01T15:00:00Z', '2027-03-01T10:00:00-05:00', true],
    ['instant', '2027-03-01T15:00:00Z', '2027-03-01T15:00:00-05:00', false],
    ['text', 'a\r\nb', 'a\nb', true],
    ['text', 'Ada', 'ada', false],
    ['text', 'Ada', 'Ada ', false],
    ['text', '', null, false],
    ['text', null, null, true],
    ['ids', ['2', '1'], ['1', '2'], true],
    ['ids', '47', ['47'], true],
    ['ids', ['1'], ['1', '2'], false],
    ['ids', [], null, false],
  ] as const)('%s %j and %j: %s', (kind, one, other, isSame) => {
    expect(isSameValue(kind, one, other)).toBe(isSame);
    expect(isSameValue(kind, other, one)).toBe(isSame);
  });
});

describe('the returned value can be the sent value', () => {
  test.each([
    ['text', ' Ada  B ', 'ada b', true],
    ['text', '', null, true],
    ['text', '  ', null, true],
    ['text', 'Ada', null, false],
    ['text', 'Ada', 'Adam', false],
    ['decimal', '1.0', '1', true],
    ['integer', '1', null, false],
  ] as const)('%s %j and %j: %s', (kind, sent, got, isEcho) => {
    expect(isEchoOf(kind, sent, got)).toBe(isEcho);
  });
});

describe('the returned value means the same to a person', () => {
  test.each([
    ['name', 'text', ' Ada  B ', 'Ada B', true],
    ['name', 'text', 'Ada', 'ADA', false],
    ['name', 'text', '', null, true],
    ['name', 'text', 'A\u030a', '\u00c5', true],
    ['billing_address', 'text', 'Elm 1\r\nRear', 'Elm 1 Rear', true],
    ['email_address', 'text', 'Ada@Example.com', 'ada@example.com', true],
    ['phone_number', 'text', '(555) 01-00', '5550100', true],
    ['fax', 'text', '555-0100', '555-0101', false],
    ['fax', 'text', 'none', 'no', false],
    ['name', 'text', '555-0100', '5550100', false],
    ['quantity', 'decimal', '1.50', '1.5', true],
    ['quantity', 'decimal', '1.50', '1.05', false],
  ] as const)('%s, a %s: %j and %j: %s', (field, kind, sent, got, isSame) => {
    expect(isSameMeaning({field, kind}, sent, got)).toBe(isSame);
  });
});
