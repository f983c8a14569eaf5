import {describe, expect, test} from 'vitest';
import {listTypes, namesTypes, SeenElements} from '../../src/api/value-types.ts';
import {readList, readOne} from '../../src/api/xml-strict.ts';
import {makeJobPage} from './job-page.ts';
import {JOBS} from './read-jobs.ts';

/** Types by field by path, for every element seen in one list. */
function seenIn(xml: string | Buffer): Record<string, Record<string, string[]>> {
  const seen = new SeenElements();
  readList(Buffer.from(xml), JOBS, {seen});
  return describeSeen(seen);
}

function describeSeen(seen: SeenElements): Record<string, Record<string, string[]>> {
  const found: Record<string, Record<string, string[]>> = {};
  for (const {path, names, types} of seen) {
    const fields = found[path.join('/')] ?? {};
    found[path.join('/')] = fields;
    for (const [at, name] of names.entries())
      fields[name] = [...new Set([...(fields[name] ?? []), ...listTypes(types[at] ?? 0)])];
  }
  return found;
}

describe('the fields seen by the reader', () => {
  test('have their declared type, or text without a known one', () => {
    const fields =
      '<a type="integer">1</a><b type="decimal">1.5</b><c type="float">2.5</c>' +
      '<d type="boolean">true</d><e type="dateTime">2031-01-04T09:00:00-05:00</e>' +
      '<f type="datetime">2031-01-04T09:00:00Z</f><g type="date">2031-01-04</g>' +
      '<h-i>x</h-i><j></j><k type="Tax">y</k>';
    expect(seenIn(`<jobs><job>${fields}</job></jobs>`)).toEqual({
      '': {
        a: ['integer'],
        b: ['decimal'],
        c: ['float'],
        d: ['boolean'],
        e: ['dateTime'],
        f: ['dateTime'],
        g: ['date'],
        h_i: ['text'],
        j: ['text'],
        k: ['text'],
      },
    });
  });

  test('have their declared type if nil, and no type if nil and undeclared', () => {
    expect(
      seenIn(
        '<jobs><job><a type="integer" nil="true"/><b nil="true"/><c nil="false">x</c></job></jobs>',
      ),
    ).toEqual({'': {a: ['integer'], b: [], c: ['text']}});
  });

  test('are nested if they hold elements or are lists, even without items', () => {
    const xml =
      '<jobs><job><a><x>1</x></a><b type="array"><x>1</x></b><c type="array"/>' +
      '<d type="array" nil="true"/></job></jobs>';
    expect(seenIn(xml)['']).toEqual({a: ['nested'], b: ['nested'], c: ['nested'], d: ['nested']});
  });

  test('have every type that they came with in any record', () => {
    const job = (type: string, value: string) => `<job><id>1</id><f${type}>${value}</f></job>`;
    const xml =
      `<jobs>${job(' nil="true"', '')}${job('', 'x')}` +
      `${job(' type="integer"', '5')}${job(' type="float"', '5.5')}</jobs>`;
    expect(seenIn(xml)).toEqual({'': {id: ['text'], f: ['text', 'integer', 'float']}});
  });

  test('are kept apart for different kinds of elements with the same field names', () => {
    const pair = (one: string, two: string) =>
      `<id type="${one}">1</id><name type="${two}">1</name>`;
    const xml =
      `<jobs type="array"><job>${pair('integer', 'integer')}` +
      `<job-type>${pair('decimal', 'float')}</job-type>` +
      `<notes type="array"><note>${pair('float', 'integer')}</note></notes>` +
      `<charges type="array"><note>${pair('integer', 'decimal')}</note></charges></job>` +
      `<job>${pair('integer', 'float')}</job></jobs>`;
    const seen = seenIn(xml);
    expect(seen['']).toMatchObject({
      id: ['integer'],
      name: expect.arrayContaining(['integer', 'float']),
    });
    expect(seen.job_type).toEqual({id: ['decimal'], name: ['float']});
    expect(seen['notes/note']).toEqual({id: ['float'], name: ['integer']});
    expect(seen['charges/note']).toEqual({id: ['integer'], name: ['decimal']});
  });

  test('are collected down to the list items of a record, and no deeper', () => {
    const paths = Object.keys(seenIn(makeJobPage({jobs: 2}))).toSorted();
    expect(paths).toEqual([
      '',
      'customer',
      'job_allocations',
      'job_charges/job_charge',
      'job_type',
      'notes/note',
      'tax_entity',
    ]);
  });

  test('belong to one document: nothing is left of the previous one', () => {
    seenIn('<jobs><job><a type="integer">1</a></job></jobs>');
    expect(seenIn('<jobs><job><a type="decimal">1</a></job></jobs>')).toEqual({
      '': {a: ['decimal']},
    });
  });

  test('include those of bad records', () => {
    expect(
      seenIn(
        '<jobs><job><a type="integer">x</a></job><job><b type="boolean">true</b>&#1;</job></jobs>',
      ),
    ).toEqual({'': {a: ['integer'], b: ['boolean']}});
  });

  test('are also collected from a single record', () => {
    const seen = new SeenElements();
    const xml =
      '<job><id type="integer">1</id><notes><note><id type="integer">2</id></note></notes></job>';
    readOne(Buffer.from(xml), JOBS, {seen});
    expect(describeSeen(seen)).toMatchObject({
      '': {id: ['integer'], notes: ['nested']},
      'notes/note': {id: ['integer']},
    });
  });
});

test('only a type that needs an attribute shows that a document declares types', () => {
  const seen = new SeenElements();
  readList(makeJobPage({jobs: 3, dialect: 'documented'}), JOBS, {seen});
  for (const {types} of seen) for (const type of types) expect(namesTypes(type)).toBe(false);
  const typed = new SeenElements();
  readList(makeJobPage({jobs: 1}), JOBS, {seen: typed});
  expect([...typed].some(({types}) => types.some(namesTypes))).toBe(true);
});
