// Files of other systems, read line by line.

import {expect, test} from 'vitest';
import {
  type FileLine,
  guardCell,
  readDecisions,
  readFileLines,
} from '../../src/match/party-file.ts';

async function* listed(text: string) {
  yield* text.split('\n');
}

async function read(text: string): Promise<FileLine[]> {
  return await Array.fromAsync(readFileLines(listed(text)));
}

test.each([[','], [';'], ['\t'], ['|']])('columns may be separated by %j', async (separator) => {
  const text = ['\uFEFFKey,Name', '1, Ada ', '', '2,"Quux, ""B"";| "'].join('\n');
  const other = text.replaceAll(',', separator);
  expect(await read(other)).toEqual([
    {line: 2, values: {key: '1', name: 'Ada'}},
    {line: 4, values: {key: '2', name: `Quux${separator} "B";|`}},
  ]);
});

test('a cell may span several lines; an unclosed quote invalidates only its line', async () => {
  expect(await read('key,name\n1,"a\nb"\n2,"open\n3,c\n4,"d"\n5,"open')).toEqual([
    {line: 2, values: {key: '1', name: 'a\nb'}},
    {line: 4, refusal: expect.stringContaining('quote')},
    {line: 5, values: {key: '3', name: 'c'}},
    {line: 6, values: {key: '4', name: 'd'}},
    {line: 7, refusal: expect.stringContaining('quote')},
  ]);
});

test('a cell of several lines may have quotes and separators at the end of a line', async () => {
  const cells = ['12 "B"\n2nd floor', '"A",\nx', 'a ""\n""', '"'];
  const text = cells.map((cell) => `k,${guardCell(cell)}\n`).join('');
  const lines = await read(`key,street\n${text}`);
  expect(lines.map((line) => ('values' in line ? line.values.street : line))).toEqual(cells);
});

test('an unclosed quote invalidates only one line of a long file', async () => {
  const rows = Array.from({length: 200}, (_, at) => `${at},x`);
  const found = await read(['key,name', '0,"open', ...rows].join('\n'));
  expect(found).toHaveLength(201);
  expect(found.filter((line) => 'refusal' in line)).toHaveLength(1);
});

test('a cell guarded against formulas is read back unchanged', async () => {
  const key = '=1+"2",x';
  const text = `link,key,row_id\nyes,${guardCell(key)},7\n,${guardCell('-2')},8`;
  const {links} = await readDecisions(readFileLines(listed(text)), 'file');
  expect(links).toEqual([{line: 2, key, rowId: '7'}]);
});

test('a file with no candidates contains no decisions', async () => {
  const lines = readFileLines(listed('link,key,row_id'));
  expect(await readDecisions(lines, 'file')).toEqual({links: [], refused: []});
});

test('an invalid decision is rejected, and the others are read', async () => {
  const text = 'key,row_id,link\na,1,yes\na,2,yes\nb,1,x\nc,one,yes\nd,4,perhaps\ne,5,no\nf,6,Y';
  const {links, refused} = await readDecisions(readFileLines(listed(text)), 'file');
  expect(links.map(({key}) => key)).toEqual(['a', 'f']);
  expect(refused).toEqual([
    {line: 3, refusal: 'key a: line 2 has it already'},
    {line: 4, refusal: 'row 1: line 2 links it already'},
    {line: 5, refusal: 'row_id: expected a number, got "one"'},
    {line: 6, refusal: 'link: expected yes or nothing, got "perhaps"'},
  ]);
});
