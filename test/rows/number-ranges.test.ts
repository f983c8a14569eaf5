import {expect, test} from 'vitest';
import {readNumbers, writeNumbers} from '../../src/rows/number-set.ts';

test.each([
  [[], ''],
  [['7'], '7'],
  [['3', '4', '5', '9', '11', '12'], '3-5,9,11-12'],
  [['999999999999999998', '999999999999999999'], '999999999999999998-999999999999999999'],
])('numbers are written as ranges, and parsed back: %j', (numbers, text) => {
  expect(writeNumbers(numbers)).toBe(text);
  expect(readNumbers(text, 10)).toEqual(numbers);
});

test.each([
  'x',
  '0',
  '1,',
  '1--2',
  '5-3',
  ' 1',
  '1-2-3',
  '1;2',
  '-1',
  '1e3',
  '1-999999999999999999',
])('a text that is not a list of at most ten numbers is parsed as null: %s', (text) =>
  expect(readNumbers(text, 10)).toBeNull(),
);

test('more numbers than allowed are parsed as null, in one range or in several', () => {
  expect(readNumbers('1-10', 10)).toHaveLength(10);
  expect(readNumbers('1-11', 10)).toBeNull();
  expect(readNumbers('1-5,7-12', 10)).toBeNull();
});
