import {expect, test} from 'vitest';
import {readExpression} from './promql.ts';

test('an expression gives its metrics with matchers, functions and groups', () => {
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

test('numbers, offsets, ranges of Grafana and comparisons are no metrics', () => {
  const expression = '1000 * max(a) > 1.5 * max(a offset 7d) and rate(b[$__rate_interval]) > 1e9';
  expect(readExpression(expression).uses.map(({metric}) => metric)).toEqual(['a', 'a', 'b']);
});

test('what cannot be read is refused', () => {
  expect(() => readExpression('max(a) ; drop')).toThrow(/expected a token/);
});
