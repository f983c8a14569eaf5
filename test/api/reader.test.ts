import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import type {Element, Value} from '../../src/api/xml-document.ts';
import {findForbidden} from '../../src/api/xml-document.ts';
import {readList, readOne} from '../../src/api/xml-strict.ts';
import {RecordError, RetryableError} from '../../src/core/errors.ts';
import {makeJobPage} from './job-page.ts';
import {fieldsOf, JOBS, readJobs} from './read-jobs.ts';

const CUSTOMERS = {list: 'customers', item: 'customer'};

describe('a list', () => {
  test('keeps the order of its records, with text values and underscores in names', () => {
    const {records, bad} = readJobs(
      [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<jobs type="array">',
        '  <job>',
        '    <id type="integer">7</id>',
        '    <job-number type="integer">12</job-number>',
        '    <sub-total type="decimal">275.10</sub-total>',
        '    <name>A &amp; B</name>',
        '    <fax nil="true"/>',
        '    <on type="dateTime" nil="true"/>',
        '    <phone></phone>',
        '  </job>',
        '  <job><id type="integer">8</id></job>',
        '</jobs>\n',
      ].join('\n'),
    );
    expect(bad).toEqual([]);
    expect(records.map(fieldsOf)).toEqual([
      {
        id: '7',
        job_number: '12',
        sub_total: '275.10',
        name: 'A & B',
        fax: null,
        on: null,
        phone: '',
      },
      {id: '8'},
    ]);
  });

  test('is read the same in both dialects, except for information in attributes', () => {
    const observed = readList(makeJobPage({jobs: 5}), JOBS).records;
    const documented = readList(makeJobPage({jobs: 5, dialect: 'documented'}), JOBS).records;
    expect(documented).toEqual(observed.map(withoutTypes));
  });

  test.each([
    '<jobs type="array"/>',
    '<jobs type="array"></jobs>',
    '<jobs/>',
    '<jobs></jobs>',
    '<jobs>\n</jobs>\n',
  ])('%s is empty', (xml) => {
    expect(readJobs(xml)).toEqual({records: [], bad: []});
  });

  test('of one record is a list of one', () => {
    expect(readJobs('<jobs type="array"><job><id>1</id></job></jobs>').records).toHaveLength(1);
  });

  test('may have dashes or underscores in its name', () => {
    const names = {list: 'time_entries', item: 'time_entry'};
    for (const dash of ['-', '_']) {
      const [list, tag] = [`time${dash}entries`, `time${dash}entry`];
      const xml = `<${list} type="array"><${tag}><id>1</id></${tag}></${list}>`;
      expect(readList(Buffer.from(xml), names).records.map(fieldsOf)).toEqual([{id: '1'}]);
    }
  });

  test('shares one list of names between records of the same shape', () => {
    const {records} = readList(makeJobPage({jobs: 3}), JOBS);
    expect(records[1]?.names).toBe(records[0]?.names);
    expect(records[2]?.names).toBe(records[0]?.names);
  });

  test('keeps a repeated name, and thousands of children under one element', () => {
    const items = Array.from({length: 3000}, (_, n) => `<x-y>${n}</x-y>`).join('');
    const {records} = readJobs(
      `<jobs><job><a>1</a><a>2</a><l type="array">${items}</l></job></jobs>`,
    );
    const [record] = records;
    expect(record?.names).toEqual(['a', 'a', 'l']);
    const inner = record?.values[2];
    if (inner === null || typeof inner !== 'object') throw new Error('expected an element');
    expect(inner.names).toHaveLength(3000);
    expect(new Set(inner.names)).toEqual(new Set(['x_y']));
    expect(inner.values[2999]).toBe('2999');
  });

  test('is read correctly after ten thousand one-time shapes, and old shapes are forgotten', () => {
    const xml = '<jobs><job><a-b>1</a-b><c>2</c></job></jobs>';
    const before = readJobs(xml).records[0];
    for (let n = 0; n < 10_000; n++) readJobs(`<jobs><job><f${n}>x</f${n}></job></jobs>`);
    const after = readJobs(xml).records[0];
    expect(after).toEqual(before);
    expect(after?.names).not.toBe(before?.names);
  });

  test('does not cache the shape of an element with 600 children', () => {
    const xml = `<jobs><job><l>${'<x/>'.repeat(600)}</l></job></jobs>`;
    const [once, again] = [xml, xml].map((text) => readJobs(text).records[0]?.values[0]);
    if (typeof once !== 'object' || typeof again !== 'object') throw new Error('expected elements');
    expect(once).toEqual(again);
    expect(once?.names).not.toBe(again?.names);
  });

  test('keeps arrays, empty arrays and embedded records with a class name', () => {
    const {records, bad} = readJobs(
      '<jobs type="array"><job><notes type="array"/><days type="array">\n</days>' +
        '<tax-entity type="Tax"><id type="integer">4</id></tax-entity>' +
        '<children type="array"><child type="Customer"><id>1</id></child></children></job></jobs>',
    );
    expect(bad).toEqual([]);
    expect(fieldsOf(records[0])).toEqual({
      notes: {isArray: true, items: []},
      days: {isArray: true, items: []},
      tax_entity: {isArray: false, items: [['id', '4']]},
      children: {isArray: true, items: [['child', {isArray: false, items: [['id', '1']]}]]},
    });
  });
});

describe('values are read exactly', () => {
  test.each([
    ['&#39;&#233;&#x41;&lt;&gt;&amp;&quot;&apos;', `'éA<>&"'`],
    ['  padded  ', '  padded  '],
    ['01234', '01234'],
    ['1e5', '1e5'],
    ['275.10', '275.10'],
    ['NaN', 'NaN'],
    ['+15551234567', '+15551234567'],
    ['9007199254740993', '9007199254740993'],
    ['line\nline', 'line\nline'],
    ['line\r\nline\rline', 'line\nline\nline'],
    ['a&#13;b', 'a\rb'],
    ['\u{1F527} عربى \u00e9', '\u{1F527} عربى \u00e9'],
    ['<![CDATA[a <b> & c]]>', 'a <b> & c'],
    ['a<!-- not this -->b', 'ab'],
    ['a<![CDATA[b]]>c&amp;', 'abc&'],
    ['&lt;!DOCTYPE html&gt;', '<!DOCTYPE html>'],
    ['<![CDATA[<!DOCTYPE html>]]>', '<!DOCTYPE html>'],
    ['None', 'None'],
    ['   ', '   '],
    ['', ''],
  ])('%j', (sent, expected) => {
    const {records, bad} = readJobs(`<jobs type="array"><job><name>${sent}</name></job></jobs>`);
    expect(bad).toEqual([]);
    expect(records[0]?.values).toEqual([expected]);
  });

  test('names with a meaning in JavaScript are ordinary names', () => {
    const {records} = readJobs(
      '<jobs><job><__proto__>1</__proto__><constructor>2</constructor>' +
        '<hasOwnProperty __proto__="x" type="integer">3</hasOwnProperty></job></jobs>',
    );
    expect(records[0]?.names).toEqual(['__proto__', 'constructor', 'hasOwnProperty']);
    expect(records[0]?.values).toEqual(['1', '2', '3']);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test.each([
    ['integer', '12'],
    ['integer', '-0012'],
    ['decimal', '1234.5'],
    ['decimal', '275.10'],
    ['decimal', '1e5'],
    ['float', '33.3333333333333'],
    ['float', 'NaN'],
    ['boolean', 'true'],
    ['dateTime', '2031-01-04T09:00:00-05:00'],
    ['dateTime', '2028-02-29T23:59:59Z'],
    ['date', '2031-01-04'],
    ['string', 'whatever'],
    ['Tax', 'whatever'],
  ])('type %s accepts %s', (type, text) => {
    expect(
      readJobs(`<jobs><job><f type="${type}">${text}</f></job></jobs>`).records[0]?.values,
    ).toEqual([text]);
  });
});

describe('a single record', () => {
  const fields = '<id type="integer">5</id><customer-number type="integer">2</customer-number>';

  test.each([
    `<customer>${fields}</customer>`,
    `<customers>${fields}</customers>`,
    `<?xml version="1.0"?>\n<customer type="Customer">\n${fields}\n</customer>\n`,
  ])('is read from %s', (xml) => {
    expect(fieldsOf(readOne(Buffer.from(xml), CUSTOMERS))).toEqual({id: '5', customer_number: '2'});
  });

  test('may be a note with a field named note', () => {
    const names = {list: 'notes', item: 'note'};
    expect(fieldsOf(readOne(Buffer.from('<note><note>x</note></note>'), names))).toEqual({
      note: 'x',
    });
  });

  test.each([
    `<customers type="array"><customer>${fields}</customer></customers>`,
    `<customers><customer>${fields}</customer></customers>`,
    '<customers type="array"/>',
    '<customers/>',
    '<customer/>',
    '<job><id>1</id></job>',
    '<errors><error>x</error></errors>',
    '<customer><id>5</id>',
    'no XML',
    '',
  ])('is not read from %s', (xml) => {
    expect(() => readOne(Buffer.from(xml), CUSTOMERS)).toThrow(RetryableError);
  });

  test('with a flaw is a record error', () => {
    expect(() =>
      readOne(Buffer.from('<customer><id type="integer">x</id></customer>'), CUSTOMERS),
    ).toThrow(RecordError);
  });
});

test('any text in any tree of elements is read back as it was written', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
  const text = fc
    .string({unit: 'grapheme'})
    .filter((value) => findForbidden(value) === null && !value.includes('\r'));
  const leaf = fc.oneof(text, fc.constant(null));
  const {tree} = fc.letrec<{tree: Tree}>((tie) => ({
    tree: fc.oneof(
      {maxDepth: 3},
      leaf,
      fc.record({
        isArray: fc.boolean(),
        children: fc.array(fc.tuple(name, tie('tree')), {minLength: 1, maxLength: 4}),
      }),
    ),
  }));
  const records = fc.array(fc.array(fc.tuple(name, tree), {minLength: 1, maxLength: 6}), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(records, (wanted) => {
      const written = wanted.map((fields) => `<job>${fields.map(write).join('\n  ')}</job>`);
      const xml = `<jobs type="array">\n${written.join('')}</jobs>`;
      const read = readJobs(xml);
      expect(read.bad).toEqual([]);
      expect(read.records).toEqual(wanted.map((children) => toElement({isArray: false, children})));
    }),
    {numRuns: 300},
  );
});

type Tree = string | null | {isArray: boolean; children: [string, Tree][]};

function write([name, tree]: [string, Tree]): string {
  if (tree === null) return `<${name} nil="true"/>`;
  if (typeof tree === 'string') return `<${name}>${escapeXml(tree)}</${name}>`;
  const type = tree.isArray ? ' type="array"' : '';
  return `<${name}${type}>\n${tree.children.map(write).join('\n')}</${name}>`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function toElement({isArray, children}: {isArray: boolean; children: [string, Tree][]}): Element {
  return {
    isArray,
    names: children.map(([name]) => name.replaceAll('-', '_')),
    values: children.map(([, tree]) =>
      tree === null || typeof tree === 'string' ? tree : toElement(tree),
    ),
  };
}

// Without type="array" an empty list looks like an empty text, and a full one like a record.
function withoutTypes(value: Value): Value {
  if (value === null || typeof value === 'string') return value;
  if (value.names.length === 0) return '';
  return {names: value.names, values: value.values.map(withoutTypes), isArray: false};
}
