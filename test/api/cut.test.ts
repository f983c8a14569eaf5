import {createHash} from 'node:crypto';
import {describe, expect, test} from 'vitest';
import {cutList, hashSlice} from '../../src/api/xml-read.ts';
import {readList} from '../../src/api/xml-strict.ts';
import {makeJobPage} from './job-page.ts';

const JOBS = {list: 'jobs', item: 'job'};
const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';

function cut(xml: string, names = JOBS): string[] | null {
  return cutList(Buffer.from(xml), names)?.map(String) ?? null;
}

describe('a page of the service', () => {
  test.each(['observed', 'documented'] as const)(
    'is cut into exactly the records that the strict reader finds (%s)',
    (dialect) => {
      const page = makeJobPage({jobs: 30, dialect});
      const {records, bad} = readList(page, JOBS);
      const slices = cutList(page, JOBS);
      expect(bad).toEqual([]);
      expect(slices).toHaveLength(records.length);
      for (const [at, slice] of (slices ?? []).entries()) {
        const alone = readList(
          Buffer.concat([Buffer.from('<jobs>'), slice, Buffer.from('</jobs>')]),
          JOBS,
        );
        expect(alone.records).toEqual([records[at]]);
        expect(String(slice)).toMatch(/^<job>[\s\S]*<\/job>$/);
      }
    },
  );

  test('is cut without copying its bytes', () => {
    const page = makeJobPage({jobs: 2});
    for (const slice of cutList(page, JOBS) ?? []) expect(slice.buffer).toBe(page.buffer);
  });

  test('is cut even with nested children, or dashes or underscores in tag names', () => {
    const child = '<children type="array"><child type="Customer"><id>2</id></child></children>';
    const customers =
      `${DECLARATION}<customers type="array"><customer><customer-number>1</customer-number>` +
      `${child}</customer>\r\n\t<customer><id>2</id></customer></customers>\n`;
    expect(cut(customers, {list: 'customers', item: 'customer'})).toHaveLength(2);
    for (const dash of ['-', '_']) {
      const tag = `time${dash}entry`;
      const list = `time${dash}entries`;
      const xml = `${DECLARATION}<${list} type="array"><${tag}><id>1</id></${tag}></${list}>`;
      expect(cut(xml, {list: 'time_entries', item: 'time_entry'})).toEqual([
        `<${tag}><id>1</id></${tag}>`,
      ]);
    }
  });

  test('is not cut at tags or text that only contain "job", such as job-type', () => {
    const record =
      '<job><job-type>a job> b</job-type><job_charges/><x-job>job</x-job><jobs>1</jobs></job>';
    expect(cut(`${DECLARATION}<jobs>${record}</jobs>`)).toEqual([record]);
  });

  test('without records is cut into an empty list', () => {
    expect(cut(`${DECLARATION}<jobs type="array"></jobs>\n`)).toEqual([]);
  });
});

describe('the cutter returns null for', () => {
  const body = '<jobs type="array"><job><id>1</id></job></jobs>';
  test.each<[string, string]>([
    ['no declaration', body],
    ['another encoding', `<?xml version="1.0" encoding="ISO-8859-1"?>${body}`],
    ['a declaration without encoding', `<?xml version="1.0"?>${body}`],
    ['a byte order mark', `\ufeff${DECLARATION}${body}`],
    ['a self-closed list', `${DECLARATION}<jobs type="array"/>`],
    ['another list', `${DECLARATION}<tasks type="array"><job><id>1</id></job></tasks>`],
    ['another attribute of the list', `${DECLARATION}<jobs class="x"><job><id>1</id></job></jobs>`],
    ['a comment', `${DECLARATION}${body.replace('1', '<!-- 1 -->')}`],
    ['CDATA', `${DECLARATION}${body.replace('1', '<![CDATA[</job>]]>')}`],
    ['a DOCTYPE', `${DECLARATION}<!DOCTYPE jobs>${body}`],
    ['an attribute on a record', `${DECLARATION}${body.replace('<job>', '<job type="Job">')}`],
    ['a blank in a record tag', `${DECLARATION}${body.replace('<job>', '<job >')}`],
    ['a blank in a closing tag', `${DECLARATION}${body.replace('</job>', '</job >')}`],
    ['a record in a record', `${DECLARATION}${body.replace('1', '<job>2</job>')}`],
    [
      'a record with an attribute in a record',
      `${DECLARATION}${body.replace('1', '<job id="2">2</job>')}`,
    ],
    ['a self-closed record in a record', `${DECLARATION}${body.replace('1', '<job/>')}`],
    ['a self-closed record', `${DECLARATION}${body.replace('</jobs>', '<job/></jobs>')}`],
    ['something between records', `${DECLARATION}${body.replace('</jobs>', '<task/></jobs>')}`],
    ['a text between records', `${DECLARATION}${body.replace('</jobs>', 'x</jobs>')}`],
    ['a reference between records', `${DECLARATION}${body.replace('</jobs>', '&#32;</jobs>')}`],
    ['something after the list', `${DECLARATION}${body}<x/>`],
    ['a second list', `${DECLARATION}${body}${body}`],
    [
      'a mixed dialect',
      `${DECLARATION}<time-entries><time_entry>1</time_entry>` +
        '<time-entry>1</time-entry></time-entries>',
    ],
    ['nothing', ''],
    ['a page of HTML', '<!DOCTYPE html><html></html>'],
  ])('%s', (_, xml) => {
    expect(cut(xml)).toBeNull();
    expect(cut(xml, {list: 'time_entries', item: 'time_entry'})).toBeNull();
  });

  test('every truncation of a page', () => {
    const page = makeJobPage({jobs: 2});
    const whole = page.lastIndexOf('>') + 1;
    for (let length = 0; length < whole; length++)
      expect(cutList(page.subarray(0, length), JOBS)).toBeNull();
  });
});

test('cutter and reader count the same records in any shuffled page that both accept', () => {
  const pieces = [
    '<job>',
    '</job>',
    '<job a="1">',
    '<job/>',
    '<job >',
    '</job >',
    '<a>',
    '</a>',
    'x',
    '<jobs>',
    '</jobs>',
    ' ',
  ];
  let cuts = 0;
  for (let seed = 0; seed < 30_000; seed++) {
    const picked = Array.from(
      {length: 3 + (seed % 5)},
      (_, n) => pieces[Math.floor(seed / 7 ** n + n * seed) % pieces.length],
    );
    const page = Buffer.from(`${DECLARATION}<jobs><job><id>1</id>${picked.join('')}</job></jobs>`);
    const slices = cutList(page, JOBS);
    if (slices === null) continue;
    cuts++;
    try {
      const {records, bad} = readList(page, JOBS);
      expect(slices, String(page)).toHaveLength(records.length + bad.length);
    } catch {
      // Malformed inside: then no such slice was accepted, and the page goes to the reader.
    }
  }
  expect(cuts).toBeGreaterThan(100);
});

test('the hash of a slice is the first half of its SHA-256', () => {
  const slice = Buffer.from('<job><id>1</id></job>');
  expect(hashSlice(slice)).toEqual(createHash('sha256').update(slice).digest().subarray(0, 16));
});
