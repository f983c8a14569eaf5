import fc from 'fast-check';
import {expect, test} from 'vitest';
import {toOwnPath} from '../../src/console/access.ts';

const site = 'https://mirror.example.com';
const leads = (back: string) => new URL(toOwnPath(back), site).origin;

test.each([
  '//evil.example',
  '/.//evil.example',
  '/..//evil.example',
  '/a/..//evil.example',
  '/%2e//evil.example',
  '/.\\\\evil.example',
  '/\\evil.example',
  '/\t/evil.example',
  '/./\n/evil.example',
  'https://evil.example',
  'javascript:alert(1)',
])('the path %j is replaced by the overview', (back) => {
  expect(toOwnPath(back)).toBe('/');
  expect(leads(back)).toBe(site);
});

test.each(['/', '/health?x=1', '/changes/5?back=//evil.example', '/records/jobs/7'])(
  'the path %s is kept',
  (back) => {
    expect(toOwnPath(back)).toBe(back);
  },
);

test('no text leads to another site', () => {
  const part = fc.constantFrom(
    '/',
    '//',
    '.',
    '..',
    '\\',
    '%2e',
    '%2f',
    '%5c',
    'evil.example',
    '@',
    ':',
    '?',
    '#',
    '\t',
    ' ',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(part, {maxLength: 8}).map((parts) => `/${parts.join('')}`),
        fc.webUrl(),
        fc.string(),
      ),
      (back) => {
        expect(leads(back)).toBe(site);
      },
    ),
    {numRuns: 5_000},
  );
});
