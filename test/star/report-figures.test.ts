import {expect, test} from 'vitest';
import {describeChange} from '../../src/star/report-figures.ts';

test.each([
  ['1125', '1000', '▲ 12.5 %'],
  ['0.5', '1', '▼ 50.0 %'],
  ['10', '10.00', '='],
  ['3', '0', '▲'],
  ['20000', '1', '▲ over 999 %'],
  ['-5', '-10', '▲ 50.0 %'],
  ['1', null, ''],
])('a figure of %s after %s shows the change %s', (now, before, shown) => {
  expect(describeChange(now, before)).toBe(shown);
});
