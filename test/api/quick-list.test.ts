import {expect, test} from 'vitest';
import {DEFAULT_LIMITS, type Limits} from '../../src/api/xml-document.ts';
import {readQuickly} from '../../src/api/xml-read.ts';
import {readList} from '../../src/api/xml-strict.ts';
import {compareReaders, names} from './compare-readers.ts';
import {makeJobPage} from './job-page.ts';

const read = (xml: string, limits: Partial<Limits> = {}) =>
  readQuickly(Buffer.from(xml), names, {limits: {...DEFAULT_LIMITS, ...limits}, seen: undefined});
const page = (inside: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<jobs type="array">${inside}</jobs>\n`;
const job = (fields: string) => page(`<job>${fields}</job>`);

test('the quick reader never contradicts the strict one in 10,000 mutated pages', () => {
  const {taken, leftSound} = compareReaders(
    'list',
    Array.from({length: 5_000}, (_, seed) => seed),
  );
  expect(taken).toBeGreaterThan(500);
  expect(leftSound).toBeLessThan(taken);
});

test.each(['observed', 'documented'] as const)(
  'the quick reader reads a sound page of the %s dialect like the strict one',
  (dialect) => {
    const body = makeJobPage({jobs: 20, dialect});
    const records = readQuickly(body, names, {limits: DEFAULT_LIMITS, seen: undefined});
    expect(records).toEqual(readList(body, names).records);
    expect(records).toHaveLength(20);
  },
);

test.each([
  ['a text beyond Latin-1', '<name>Zoë ☂ 😀</name>'],
  ['references', '<name>&lt;a&gt; &amp;amp; &quot;&apos; &#65;&#x1F600; &#13;</name>'],
  ['line breaks of all three kinds', '<name>a\r\nb\rc\nd</name>'],
  ['white space alone', '<name> \n </name>'],
  ['nil, typed and not', '<id type="integer" nil="true"/><name nil="true"></name>'],
  ['an empty text and an empty list', '<name/><notes type="array"/><tags type="array"> </tags>'],
  [
    'a list inside',
    '<notes type="array"><note><id type="integer">7</id></note><note><id>8</id></note></notes>',
  ],
  ['one bracket too few', '<name>]] ></name>'],
])('the quick reader reads %s like the strict one', (_, fields) => {
  const records = read(job(fields));
  expect(records).toEqual(readList(Buffer.from(job(fields)), names).records);
  expect(records).toHaveLength(1);
});

test.each([
  ['an unknown entity', job('<name>&nbsp;</name>')],
  ['a bare ampersand', job('<name>a & b</name>')],
  ['the end of a CDATA section', job('<name>]]></name>')],
  ['a CDATA section', job('<name><![CDATA[a]]></name>')],
  ['a comment', job('<!-- a --><name>a</name>')],
  ['a processing instruction', job('<?a b?><name>a</name>')],
  ['a control character', job('<name>\u0001</name>')],
  ['a reference to one', job('<name>&#1;</name>')],
  ['a reference to half of a pair', job('<name>&#xD800;</name>')],
  ['a character that XML forbids', job('<name>\uffff</name>')],
  ['a value that is no number', job('<id type="integer">x</id>')],
  ['a number that is empty', job('<id type="integer"></id>')],
  ['content in a nil element', job('<name nil="true">a</name>')],
  ['elements in a nil element', job('<name nil="true"><a>1</a></name>')],
  ['elements in a number', job('<id type="integer"><a>1</a></id>')],
  ['text beside elements', job('<name>a<b>1</b></name>')],
  ['text behind elements', job('<name>a</name> b')],
  ['another attribute', job('<name lang="de">a</name>')],
  ['an attribute twice', job('<name type="a" type="b">a</name>')],
  ['a closing tag of another name', job('<name>a</nane>')],
  ['a record without elements', job('a')],
  ['a record of another name', page('<task><id>1</id></task>')],
  ['a page that is cut off', job('<name>a</name>').slice(0, -20)],
  ['something behind the list', `${job('<name>a</name>')}x`],
  ['a DOCTYPE', job('<name>a</name>').replace('<jobs', '<!DOCTYPE jobs><jobs')],
  ['another encoding', job('<name>a</name>').replace('UTF-8', 'ISO-8859-1')],
])('%s is left to the strict reader', (_, xml) => {
  expect(read(xml)).toBeNull();
});

test.each([
  ['bytes', {bytes: 50}],
  ['records', {records: 1}],
  ['elements', {elements: 4}],
  ['depth', {depth: 2}],
  ['references', {references: 1}],
  ['valueLength', {valueLength: 3}],
] as const)('a page above the limit of %s is left to the strict reader', (_, limits) => {
  const xml = page('<job><name>a &amp; b &amp; c</name></job><job><name>d</name></job>');
  expect(read(xml)).toHaveLength(2);
  expect(read(xml, limits)).toBeNull();
});

test('bytes that are not UTF-8 are left to the strict reader', () => {
  const body = Buffer.concat([
    Buffer.from(job('').slice(0, -20)),
    Buffer.from([0xff]),
    Buffer.from('</job></jobs>'),
  ]);
  expect(readQuickly(body, names, {limits: DEFAULT_LIMITS, seen: undefined})).toBeNull();
});

test('the quick reader still works after 24,000 different tag names', () => {
  for (let n = 0; n < 60; n++) {
    const fields = Array.from({length: 400}, (_, at) => `<f${n}-${at}>x</f${n}-${at}>`).join('');
    expect(read(job(fields))).toEqual(readList(Buffer.from(job(fields)), names).records);
  }
});
