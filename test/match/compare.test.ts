// Values of two systems written in one way, and compared.

import {expect, test} from 'vitest';
import {
  comparePartyNames,
  isSameHouse,
  isSlip,
  readName,
  readPhone,
  readPlainAddress,
} from '../../src/match/party.ts';

test.each([
  ['(503) 555-0142', '+15035550142'],
  ['503.555.0142 ext. 7', '+15035550142'],
  ['+49 30 901820', '+4930901820'],
  ['555-0142', '5550142'],
  ['000-000-0000', ''],
  ['none', ''],
])('the telephone number %s is normalized to %s', (text, plain) => {
  expect(readPhone(text, 'US')).toBe(plain);
});

test('a telephone number without a country code belongs to the given country', () => {
  expect(readPhone('030 901820', 'DE')).toBe('+4930901820');
});

test.each([
  ['Jon', 'Ron', false],
  ['Jhon', 'John', true],
  ['Thornholt', 'Thornhlt', true],
  ['Thornholt', 'Thornhollt', true],
  ['Thornholt', 'Thronholt', true],
  ['Thornholt', 'Thronhlot', false],
  ['same', 'same', false],
])('%s and %s differ by one typing error: %s', (one, other, isOne) => {
  expect(isSlip(one.toLowerCase(), other.toLowerCase())).toBe(isOne);
});

test.each([
  ['Ada Quux', 'QUUX, ADA', 'same'],
  ['Mc Donald Roofing', 'McDonald Roofing Inc', 'same'],
  ['7-11', '7 11', 'same'],
  ['Ada Quux', 'Ada B. Quux', 'near'],
  ['Ada Thornholt', 'Ada Thronholt', 'near'],
  ['Ada Quux', 'A Quux', 'part'],
  ['Ada Quux', 'Ada & Tom Quux', 'part'],
  ['Ada Quux', 'Ada Quux Jr', 'part'],
  ['Ada Quux Sr', 'Ada Quux Junior', 'different'],
  ['Lube #2', 'Lube #3', 'different'],
  ['Ada Quux', 'Tom Quux', 'different'],
])('the names %s and %s are %s', (one, other, level) => {
  expect(comparePartyNames(readName(one), readName(other), () => 1).level).toBe(level);
});

test('two names that several customers have are not typing errors of each other', () => {
  const [anna, anne] = [readName('Anna Quux'), readName('Anne Quux')];
  expect(comparePartyNames(anna, anne, () => 1).level).toBe('near');
  expect(comparePartyNames(anna, anne, () => 9).level).toBe('different');
});

test.each([
  ['12 Oak Street', '12 oak st.', true],
  ['12 North Oak Street Apt 4', '12 N Oak St #4', true],
  ['12 Oka Street', '12 Oak Street', false],
  ['12 Walnut Street', '12 Wlanut Street', true],
  ['12 Oak Street', '14 Oak Street', false],
  ['12 Oak Street', '12 Elm Street', false],
])('%s and %s are the same house: %s', (one, other, isOne) => {
  const read = (street: string) => readPlainAddress({street, city: 'Salem', zip: '97301'});
  const [left, right] = [read(one), read(other)];
  expect(left !== null && right !== null && isSameHouse(left, right)).toBe(isOne);
});

test('an address without a street, or without a city and a zip, is read as null', () => {
  expect(readPlainAddress({street: '', city: 'Salem', zip: '97301'})).toBeNull();
  expect(readPlainAddress({street: '12 Oak Street', city: '', zip: ''})).toBeNull();
});
