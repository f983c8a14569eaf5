// Each kind of error has a section in docs/errors.md, each section has its kind, and the program
// prints the code last.

import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test, vi} from 'vitest';
import {findChangeDocs} from '../src/changes/story.ts';
import {reportError} from '../src/cli/process.ts';
import {explainCode} from '../src/cli/terminal.ts';
import {
  AccessError,
  causeNumbers,
  errorNumbers,
  FatalError,
  NoRoomError,
  seePage,
  UsageError,
} from '../src/core/errors.ts';
import {createLogger, eventPages} from '../src/core/log.ts';
import {listCodeSections, readDocument} from '../src/core/package.ts';
import {HttpProblem, pageOfStatus, problemSchema} from '../src/http/problem.ts';
import {findSweepDocs} from '../src/sweeps/story.ts';
import {runCommand} from './support/command.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const kinds = Object.entries(errorNumbers);
const sections = listCodeSections().filter(({document}) => document === 'errors');

test('error kinds and sections of docs/errors.md match, in the order of the codes', () => {
  const known = kinds.map(([kind, code]) => `${code}-${kind}`.toLowerCase());
  expect(sections.map(({anchor}) => anchor)).toEqual(known.toSorted());
  expect(new Set(Object.values(errorNumbers)).size).toBe(kinds.length);
});

test('each error kind is used in the code', () => {
  const files = execFileSync('git', ['ls-files', 'src', 'jobs'], {
    cwd: root,
    encoding: 'utf8',
  }).split('\n');
  const code = files.filter((path) => path.endsWith('.ts')).map(read);
  const unused = kinds.filter(([kind]) => {
    const thrown = `\\bkind(?:: ErrorKind)?(?: =|:) [^\\n]*'${kind}'`;
    const told = `\\b(?:seeKind\\('${kind}'\\)|errorNumbers(?:\\.${kind}\\b|\\['${kind}'\\]))`;
    const answered = `^  (?:'?[\\w-]+'?|\\d{3}): '${kind}',$`;
    const word = new RegExp([thrown, told, answered].join('|'), 'm');
    return !code.some((text) => word.test(text));
  });
  expect(unused).toEqual([]);
});

describe.each(sections)('$code', ({text}) => {
  test('explains its meaning, its causes, and what to do', () => {
    const parts = text.split(/^\*\*(?:Causes|What to do)\*\*$/m).map((part) => part.trim());
    expect(text.match(/^\*\*[^*.]+\*\*$/gm)).toEqual(['**Causes**', '**What to do**']);
    expect(parts.filter((part) => part.length < 80)).toEqual([]);
  });
});

test('an error refers to the page of its kind, else of its cause, else to none', () => {
  expect(seePage(new FatalError('no', {kind: 'port'}))).toBe('see: fieldmirror explain E12');
  expect(seePage(new FatalError('no', {cause: new NoRoomError('full')}))).toBe(
    'see: fieldmirror explain E13',
  );
  expect(seePage(new AccessError('no'))).toBe('see: fieldmirror explain E05');
  expect(seePage(new UsageError('no'))).toBe('see: fieldmirror explain E17');
  expect(seePage(new UsageError('no', {cause: new AccessError('no')}))).toBe(
    'see: fieldmirror explain E05',
  );
  expect(seePage(new FatalError('no'))).toBeNull();
  expect(seePage('no')).toBeNull();
});

test('explain prints the page of each code without a warehouse', async () => {
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  for (const number of [...Object.values(errorNumbers), ...Object.values(causeNumbers)])
    expect(explainCode(number.toLowerCase(), {json: false})).toBe(0);
  const texts = printed.mock.calls.map(([text]) => String(text));
  printed.mockRestore();
  expect(texts.map((text) => text.slice(3, 6)).toSorted()).toEqual(
    [...Object.values(errorNumbers), ...Object.values(causeNumbers)].toSorted(),
  );
  const told = await runCommand(['explain', 'e07'], {DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c'});
  expect(told).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^## E07 service\n/),
  });
  expect(told.stdout).not.toContain('](');
  expect(await runCommand(['explain', 'E99'], {})).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^explain: no code E99; there are E01 to E\d\d, A01 to A\d\d\n/),
  });
  expect(await runCommand(['explain', 'jobs'], {})).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('explain jobs 4711'),
  });
});

test('a failed command prints the code of its page in the last line', async () => {
  const wrong = await runCommand(['status'], {DATABASE_URL: 'localhost'});
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^config: DATABASE_URL: .+\nsee: fieldmirror explain E03\n$/),
  });
  const away = await runCommand(['status'], {DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c'});
  expect(away).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^Postgres at .+\nsee: fieldmirror explain E01\n$/),
  });
  const mistyped = await runCommand(['status', '--acount', 'x'], {});
  expect(mistyped).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /unknown option '--acount'(?:.|\n)*\nsee: fieldmirror explain E17\n$/,
    ),
  });
});

test('a bug and a missing package refer to a page as well', async () => {
  const said: string[] = [];
  const write = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => said.push(String(text)) > 0);
  expect(reportError(new TypeError('no'))).toBe(70);
  expect(
    reportError(
      Object.assign(new Error("Cannot find package 'pg'"), {code: 'ERR_MODULE_NOT_FOUND'}),
    ),
  ).toBe(2);
  write.mockRestore();
  expect(said.map((text) => text.trimEnd().split('\n').at(-1))).toEqual([
    'see: fieldmirror explain E19',
    'see: fieldmirror explain E18',
  ]);
});

test('an API problem has the code of its type, and a refusal that of its status', () => {
  expect(new HttpProblem(422, 'refused').body).toMatchObject({docs: 'E24'});
  expect(new HttpProblem(422, 'key-reused').body).toMatchObject({docs: 'E25'});
  expect(new HttpProblem(503, 'locked').body).toMatchObject({docs: 'E28'});
  expect(
    problemSchema.safeParse({...new HttpProblem(401, 'unauthorized').body, docs: undefined})
      .success,
  ).toBe(false);
  const statuses = [400, 401, 403, 404, 409, 413, 415, 421, 422, 429, 500, 503];
  expect(statuses.map(pageOfStatus).join(' ')).toBe(
    'E20 E21 E22 E23 E31 E20 E20 E30 E20 E27 E19 E29',
  );
});

test('each event at warn or error in docs/watching.md has a page, and no other has', () => {
  const rows = [...read('docs/watching.md').matchAll(/^\| `([a-z_]+\.[a-z_]+)` +\| ([^|]+) \|/gm)];
  const loud = rows.flatMap(([, event = '', level = '']) =>
    /warn|error/.test(level) ? [event] : [],
  );
  expect(Object.keys(eventPages).toSorted()).toEqual(loud.toSorted());
  const there = listCodeSections().map(({code}) => code);
  expect(Object.entries(eventPages).filter(([, page]) => !there.includes(page))).toEqual([]);
});

test('a log line at warn or error has the code of its event, and one at info has none', () => {
  const lines: {docs?: string}[] = [];
  const destination = {write: (line: string) => void lines.push(JSON.parse(line))};
  const log = createLogger({level: 'debug', secrets: [], destination});
  log.warn({event: 'queue.unsafe'}, 'no');
  log.child({worker: '1'}).error({event: 'sweep.ended'}, 'no');
  log.warn({event: 'sweep.ended', docs: 'A08'}, 'no');
  log.info({event: 'sweep.ended'}, 'no');
  log.error({route: '/'}, 'no');
  expect(lines.map(({docs = null}) => docs)).toEqual(['E38', 'A07', 'A08', null, null]);
});

test('a blocked change or sweep refers to the page of its alert', () => {
  const altered = {altered: {fax: {sent: '1', got: '2'}}};
  const numbers = [
    findChangeDocs({state: 'conflict', result: null}),
    findChangeDocs({state: 'rejected', result: null}),
    findChangeDocs({state: 'in_doubt', result: null}),
    findChangeDocs({state: 'done', result: altered}),
    findChangeDocs({state: 'held', result: null, heldFor: 'dates'}),
    findChangeDocs({state: 'pending', result: null, failures: 2}),
  ];
  expect(numbers.join(' ')).toBe('A11 A13 A14 A12 A12 A15');
  for (const state of ['done', 'held', 'pending', 'sending', 'cancelled'] as const)
    expect(findChangeDocs({state, result: null}), state).toBeNull();
  const sweeps = ['uncertified', 'stopped', 'failed', 'certified', 'refreshed', 'running'] as const;
  expect(sweeps.map(findSweepDocs)).toEqual(['A06', 'A08', 'A07', null, null, null]);
});

test('the table links to each section', () => {
  const row = /^\| \[(E\d\d)\]\(#(\S+)\) +\| `([\w-]+)` +\|/gm;
  const rows = readDocument('errors').matchAll(row);
  expect([...rows].map(([, code, anchor, kind]) => `${code} ${anchor} ${kind}`)).toEqual(
    sections.map(({code, anchor}) => `${code} ${anchor} ${anchor.slice(4)}`),
  );
});
