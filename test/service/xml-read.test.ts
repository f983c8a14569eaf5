import {describe, expect, test} from 'vitest';
import {jobResource} from '../../src/service/resource.ts';
import {readRequest} from '../../src/service/xml-read.ts';
import {escapeText, ServiceRefusal} from '../../src/service/xml-write.ts';
import {cpuMsOf} from '../support/cpu.ts';

const read = (text: string) => Object.fromEntries(readRequest(Buffer.from(text), jobResource));

describe('a payload', () => {
  test('keeps every text as it is: blanks, zeros, signs, entities, character data', () => {
    const given = read(
      '<job><a> 1 </a><b>0012</b><c>+15</c><d>&lt;&amp;&#39;&#x1F415;&quot;</d>' +
        '<e><![CDATA[<&amp;>]]>!</e></job>',
    );
    expect(given).toEqual({a: ' 1 ', b: '0012', c: '+15', d: '<&\'🐕"', e: '<&amp;>!'});
  });

  test('may have dashed or underscored names, with or without a declaration', () => {
    const text =
      '<?xml version="1.0" encoding="utf-8"?>\n' +
      '<job><job-type-id>1</job-type-id><po_number>2</po_number></job>\n';
    expect(read(text)).toEqual({job_type_id: '1', po_number: '2'});
  });

  test('distinguishes nil, empty and array', () => {
    const text =
      '<job><a nil="true"/><b/><c></c><d type="array"/>' +
      '<e type="array"><x>1</x><x> 2 </x></e><f nil="false">x</f>' +
      '<g type="array" nil="true"/></job>';
    expect(read(text)).toEqual({a: null, b: '', c: '', d: [], e: ['1', '2'], f: 'x', g: []});
  });

  test('is read with CRLF as LF, as XML requires, but keeps a reference to a CR', () => {
    expect(read('<job><a>x\r\ny&#13;</a></job>')).toEqual({a: 'x\ny\r'});
  });

  test('may contain comments', () => {
    expect(read('<job><!-- <!DOCTYPE x> --><a>b<!-- c -->d</a></job>')).toEqual({a: 'bd'});
  });

  test('may contain nested elements, as in a job that a client has read', () => {
    const text =
      '<jobs><name>x</name><job-allocations><allocations type="array">' +
      '<allocation><id>1</id></allocation></allocations></job-allocations></jobs>';
    expect(read(text).name).toBe('x');
    expect(() => read('<jobs type="array"><job><name>x</name></job></jobs>')).toThrow(
      ServiceRefusal,
    );
  });

  const utf16 = (text: string) => Buffer.from(text, 'utf16le');
  const declared = (encoding: string) =>
    `<?xml version="1.0" encoding="${encoding}"?><job><a>é</a></job>`;
  test.each([
    ['ISO-8859-1 by declaration', Buffer.from(declared('ISO-8859-1'), 'latin1'), null],
    ['ISO-8859-1 by charset', Buffer.from(declared('UTF-8'), 'latin1'), 'iso-8859-1'],
    ['UTF-8 by charset against a declaration', Buffer.from(declared('ISO-8859-1')), 'utf-8'],
    ['windows-1252', Buffer.from(declared('windows-1252'), 'latin1'), null],
    ['UTF-16 with a mark', utf16(`\uFEFF${declared('UTF-16')}`), null],
    ['UTF-16 with the other mark', utf16(`\uFEFF${declared('UTF-16')}`).swap16(), null],
    ['UTF-16LE without a mark', utf16(declared('UTF-16LE')), null],
    ['UTF-16 by charset without a mark', utf16(declared('UTF-16')).swap16(), 'utf-16'],
  ])('in %s is read', (_what, body, charset) => {
    expect(Object.fromEntries(readRequest(body, jobResource, charset))).toEqual({a: 'é'});
  });

  test('in an unknown encoding, or not in the declared one, is refused', () => {
    expect(() => readRequest(Buffer.from(declared('klingon')), jobResource)).toThrow(
      'unknown encoding klingon',
    );
    expect(() => readRequest(Buffer.from(declared('UTF-8'), 'latin1'), jobResource)).toThrow(
      'is not UTF-8',
    );
  });

  test('with a byte order mark is read', () => {
    expect(read('\uFEFF<job><a>1</a></job>')).toEqual({a: '1'});
  });

  test('that is cut anywhere is refused', () => {
    const text =
      '<job><name>a &amp; b</name><employee_ids type="array">' +
      '<employee_id>1</employee_id></employee_ids></job>';
    for (let end = 0; end < text.length; end++)
      expect(() => read(text.slice(0, end))).toThrow(ServiceRefusal);
    expect(() => read(text)).not.toThrow();
  });

  test('that is an XML bomb is refused at once', () => {
    const many = '&a;'.repeat(50);
    const bomb = `<!DOCTYPE job [<!ENTITY a "aaaa"><!ENTITY b "${many}">]><job><a>&b;</a></job>`;
    expect(() => read(bomb)).toThrow('document type');
    const refuse = () => expect(() => read('<a>'.repeat(300_000))).toThrow(ServiceRefusal);
    expect(cpuMsOf(refuse)).toBeLessThan(2_000);
  });
});

describe('a text in an answer', () => {
  test('has only & < > escaped', () => {
    expect(escapeText(`a & b < c > d " e ' f \r\n\t é 日本 🐕`)).toBe(
      `a &amp; b &lt; c &gt; d " e ' f \r\n\t é 日本 🐕`,
    );
  });

  test('loses the characters that XML 1.0 does not allow', () => {
    expect(escapeText('a\u0000b\u0008c\uFFFEd\uD800e\uDC00f🐕')).toBe('abcdef🐕');
  });
});
