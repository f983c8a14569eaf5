// What a terminal gets is as wide as it is, and says the same.

import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {formatTable} from '../../src/core/format.ts';
import {canDraw, countColumns, fold, widthOf} from '../../src/core/text.ts';

const words = fc.array(fc.stringMatching(/^[a-zé漢#]{1,14}$/), {minLength: 1, maxLength: 40});
const widths = fc.integer({min: 40, max: 130});

describe('an output stream', () => {
  test('that is not a terminal has no width and cannot be drawn on', () => {
    expect(widthOf({columns: 60})).toBeNull();
    expect(canDraw({}, {TERM: 'xterm'})).toBe(false);
  });
  test('that is a terminal has its width, at least 40, or 80 if it is unknown', () => {
    expect(widthOf({isTTY: true, columns: 61})).toBe(61);
    expect(widthOf({isTTY: true, columns: 0})).toBe(80);
    expect(widthOf({isTTY: true, columns: 3})).toBe(40);
  });
  test('cannot be drawn on if it is a dumb terminal', () => {
    expect(canDraw({isTTY: true}, {TERM: 'dumb'})).toBe(false);
    expect(canDraw({isTTY: true}, {TERM: 'xterm'})).toBe(true);
  });
});

describe('a folded line', () => {
  test('fits the width, and has the same words in the same order', () => {
    fc.assert(
      fc.property(words, widths, fc.integer({min: 0, max: 6}), (text, width, indent) => {
        const line = ' '.repeat(indent) + text.join(' ');
        const folded = fold(line, width);
        for (const each of folded.split('\n'))
          expect(countColumns(each)).toBeLessThanOrEqual(width);
        expect(folded.split(/\s+/).filter(Boolean)).toEqual(text);
      }),
    );
  });
  test('that fits is unchanged, including its blanks', () => {
    expect(fold('  a   b\n\n c', 40)).toBe('  a   b\n\n c');
  });
  test('with a word wider than the width keeps the word whole', () => {
    const address = `https://example.com/${'a'.repeat(60)}`;
    expect(fold(`see ${address} for more`, 40)).toBe(`see\n    ${address}\n    for more`);
  });
  test('that is a command can still be copied, with its remark on a separate line', () => {
    expect(
      fold('  fieldmirror accounts add NAME --url URL --time-zone ZONE  # a second account', 44),
    ).toBe(
      [
        '  fieldmirror accounts add NAME --url URL \\',
        '      --time-zone ZONE',
        '    # a second account',
      ].join('\n'),
    );
  });
  test('of East Asian text counts two columns per character', () => {
    expect(countColumns('漢字e\u0301')).toBe(5);
  });
});

describe('a table', () => {
  const cell = fc.oneof(
    words.map((text) => text.join(' ')),
    fc.integer(),
  );
  const tables = fc.integer({min: 1, max: 6}).chain((columns) =>
    fc.record({
      head: fc.array(fc.stringMatching(/^[a-z]{1,10}$/), {minLength: columns, maxLength: columns}),
      rows: fc.array(fc.array(cell, {minLength: columns, maxLength: columns}), {maxLength: 5}),
    }),
  );
  const signs = (text: string) => text.replaceAll(/[^a-zé漢#\d-]/g, '');

  test('fits the width, and loses no cell', () => {
    fc.assert(
      fc.property(tables, widths, ({head, rows}, width) => {
        const drawn = formatTable(head, rows, {width});
        for (const line of drawn.split('\n')) expect(countColumns(line)).toBeLessThanOrEqual(width);
        expect(signs(drawn).length).toBeGreaterThanOrEqual(signs(rows.flat().join('')).length);
      }),
    );
  });
  test('without a width is as wide as its cells', () => {
    const drawn = formatTable(['name'], [['a b '.repeat(60)]]);
    expect(drawn.split('\n')[0]?.length).toBe(4 * 60 + 4);
  });
  test('folds its widest text, never a number', () => {
    expect(formatTable(['name', 'count'], [['Ada Lovelace and sons', 1234567]], {width: 30})).toBe(
      [
        '┌──────────────┬───────────┐',
        '│ name         │     count │',
        '├──────────────┼───────────┤',
        '│ Ada Lovelace │ 1,234,567 │',
        '│ and sons     │           │',
        '└──────────────┴───────────┘',
      ].join('\n'),
    );
  });
  test('breaks only words longer than 20 characters', () => {
    const address = 'https://example.com/a/b/c/d/e/f';
    const drawn = formatTable(['stream', 'state'], [['customers', `certified ${address}`]], {
      width: 40,
    });
    expect(drawn).toContain('│ customers │ certified                │');
    expect(drawn).toContain(`│           │ ${address.slice(0, 24)} │`);
  });
  test('that does not fit becomes a list of its cells, without the empty ones', () => {
    const head = ['account', 'stream', 'last', 'next', 'state'];
    expect(
      formatTable(head, [['north', 'customers', '', 'in 5 minutes', 'good']], {width: 40}),
    ).toBe(
      ['account  north', 'stream   customers', 'next     in 5 minutes', 'state    good'].join('\n'),
    );
  });
});
