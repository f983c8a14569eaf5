import {expect, test} from 'vitest';
import {readExpression} from './promql.ts';

test('an expression is parsed into its metrics, matchers, functions and groups', () => {
  const expression =
    'max by (account) (increase(a_total{kind=~"x|y", account="z"}[1d])) > 0 ' +
    'and on (stream) max by (account) (b == 1)';
  expect(readExpression(expression)).toEqual({
    uses: [
      {
        metric: 'a_total',
        matchers: [
          {label: 'kind', operator: '=~', value: 'x|y'},
          {label: 'account', operator: '=', value: 'z'},
        ],
        functions: ['increase', 'max'],
      },
      {metric: 'b', matchers: [], functions: ['max']},
    ],
    groups: ['account', 'stream', 'account'],
  });
});

test('numbers, offsets, Grafana ranges and comparisons are not parsed as metrics', () => {
  const expression = '1000 * max(a) > 1.5 * max(a offset 7d) and rate(b[$__rate_interval]) > 1e9';
  expect(readExpression(expression).uses.map(({metric}) => metric)).toEqual(['a', 'a', 'b']);
});

test('an expression that cannot be parsed is rejected', () => {
  expect(() => readExpression('max(a) ; drop')).toThrow(/expected a token/);
});
