import fc from 'fast-check';
import {expect, test} from 'vitest';
import {PageNumbers} from '../../src/sweeps/pages.ts';

const pagesOf = (...pages: string[][]) => {
  const noted = new PageNumbers();
  for (const [at, numbers] of pages.entries()) noted.note(at + 1, numbers);
  return noted;
};

test('pages with the same numbers are equal, in any order', () => {
  const pages = pagesOf(['3', '1', '2'], ['1', '2', '3'], ['1', '2'], ['1', '2', '4']);
  expect([2, 3, 4].map((other) => pages.holdsSame(1, pages, other))).toEqual([true, false, false]);
});

test('a number that comes twice on a page is counted twice', () => {
  const pages = pagesOf(['1', '1', '2'], ['1', '2'], ['1', '2', '2'], ['1', '2', '3']);
  expect([2, 3, 4].map((other) => pages.holdsSame(1, pages, other))).toEqual([false, true, true]);
  expect(pages.holdsSame(4, pages, 1)).toBe(false);
});

test('an unread page equals an empty one, but does not count as empty', () => {
  const pages = pagesOf([], ['1']);
  expect([pages.holdsSame(1, pages, 9), pages.holdsSame(2, pages, 9)]).toEqual([true, false]);
  expect([1, 2, 9].map((page) => pages.isEmpty(page))).toEqual([true, false, false]);
});

test('any two pages are equal if and only if their numbers are equal as texts', () => {
  const anyPage = fc.array(fc.oneof(fc.bigInt(1n, 3n), fc.bigInt(1n, 2n ** 63n - 1n)).map(String), {
    maxLength: 5,
  });
  fc.assert(
    fc.property(anyPage, anyPage, (one, other) => {
      const isSame = one.length === other.length && one.every((number) => other.includes(number));
      expect(pagesOf(one).holdsSame(1, pagesOf(other), 1)).toBe(isSame);
    }),
  );
});
