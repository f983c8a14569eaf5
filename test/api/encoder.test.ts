import fc from 'fast-check';
import {XMLParser} from 'fast-xml-parser';
import {describe, expect, test} from 'vitest';
import {readOne} from '../../src/api/xml-strict.ts';
import {encodeDocument, type FieldsToSend} from '../../src/changes/request.ts';
import {RecordError} from '../../src/core/errors.ts';
import type {Resource} from '../../src/streams/stream.ts';
import {writableOf} from '../support/writing-client.ts';

function encode(root: Resource, fields: FieldsToSend): string {
  return encodeDocument(root, writableOf(root), fields);
}

function body(root: Resource, fields: FieldsToSend): string {
  const [declaration, rest = ''] = encode(root, fields).split(/\n(?=<)/);
  expect(declaration).toBe('<?xml version="1.0" encoding="UTF-8"?>');
  return rest.trimEnd();
}

describe('a document', () => {
  test.each<[Resource, FieldsToSend, string]>([
    ['customer', {name: 'A', fax: ''}, '<customer><name>A</name><fax></fax></customer>'],
    ['customer', {fax: null}, '<customer><fax nil="true"></fax></customer>'],
    ['customer', {}, '<customer></customer>'],
    [
      'job',
      {employee_ids: ['4', '5']},
      '<job><employee_ids type="array"><employee_id>4</employee_id>' +
        '<employee_id>5</employee_id></employee_ids></job>',
    ],
    [
      'job',
      {employee_ids: ['4']},
      '<job><employee_ids type="array"><employee_id>4</employee_id></employee_ids></job>',
    ],
    ['job', {employee_ids: []}, '<job><employee_ids type="array"></employee_ids></job>'],
    ['note', {note: 'Gate code 0042'}, '<note><note>Gate code 0042</note></note>'],
    [
      'job_charge',
      {quantity: '2', price_per_unit: '275.10'},
      '<job_charge><quantity>2</quantity><price_per_unit>275.10</price_per_unit></job_charge>',
    ],
    [
      'employee',
      {can_login: 'true', username: '007'},
      '<employee><can_login>true</can_login><username>007</username></employee>',
    ],
    [
      'customer',
      {name: ' <a>&"\']]> '},
      '<customer><name> &lt;a&gt;&amp;&quot;&apos;]]&gt; </name></customer>',
    ],
    ['customer', {name: 'a\r\nb\rc'}, '<customer><name>a\nb\nc</name></customer>'],
  ])('has the expected XML for %s %j', (root, fields, xml) => {
    expect(body(root, fields)).toBe(xml);
  });

  test('keeps any text: our reader and another parser read back the same', () => {
    const parser = new XMLParser({parseTagValue: false, trimValues: false});
    const text = fc.string({unit: 'binary'}).filter(isSafe);
    fc.assert(
      fc.property(text, text, (name, fax) => {
        const xml = encode('customer', {name, fax});
        const record = readOne(Buffer.from(xml), {list: 'customers', item: 'customer'});
        expect(record).toEqual({names: ['name', 'fax'], values: [name, fax], isArray: false});
        expect(parser.parse(xml).customer).toEqual({name, fax});
      }),
      {numRuns: 500},
    );
  });
});

// Characters that the documents can hold: none forbidden, no CR (sent as LF), no lone surrogates.
function isSafe(text: string): boolean {
  return /^[\t\n\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u.test(text);
}

describe('the encoder', () => {
  test.each([
    'a><evil/>',
    'name><x',
    '__proto__',
    'constructor',
    '@nil',
    '#text',
    '?xml',
    'customer_number',
    'phone-number',
    'Name',
    '',
    'name ',
  ])('rejects a field named %j', (name) => {
    const fields: Record<string, string> = Object.create(null);
    fields[name] = 'x';
    expect(() => encode('customer', fields)).toThrow(RecordError);
    expect(() => encode('customer', fields)).toThrow(/expected a field that can be written/);
  });

  test.each<[string, RegExp]>([
    ['a\u0000b', /customer\.name.*U\+0000 at 1/],
    ['\u001b', /U\+001B/],
    ['\ud800', /U\+D800/],
    ['\udc00x', /U\+DC00/],
    ['x\ud83d', /U\+D83D at 1/],
    ['\uffff', /U\+FFFF/],
    ['\ufffe', /U\+FFFE/],
  ])('rejects a character that XML forbids, and names its code point: %j', (text, words) => {
    expect(() => encode('customer', {name: text})).toThrow(words);
  });

  test.each<[Resource, FieldsToSend]>([
    ['job_charge', {quantity: '1e5'}],
    ['job_charge', {quantity: 'NaN'}],
    ['job_charge', {quantity: ''}],
    ['job_charge', {price_per_unit: '1,50'}],
    ['job_charge', {item_id: '0'}],
    ['job', {job_type_id: '7; DROP'}],
    ['job', {employee_ids: ['1', 'x']}],
    ['job', {employee_ids: '1'}],
    ['job', {name: ['1']}],
    ['employee', {can_login: 'yes'}],
  ])('rejects %s %j', (root, fields) => {
    expect(() => encode(root, fields)).toThrow(RecordError);
  });

  test('does not repeat the rejected text in its error', () => {
    expect(() => encode('employee', {password: 'hunter2\u0000'})).toThrow(/^(?!.*hunter2)/);
    expect(() => encode('job_charge', {quantity: 'hunter2'})).toThrow(/^(?!.*hunter2)/);
  });
});
