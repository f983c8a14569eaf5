// Changes that come one a line, and are answered one a line: each line is made or refused by
// itself. They are made in batches, each in a transaction, and a line that is refused takes nothing
// else of its batch with it. The whole request is read before its first line is made: one that was
// cut off on its way does nothing, and a client that sends all before it reads is not kept waiting.

import type pg from 'pg';
import {z} from 'zod';
import {type ApiResult, isKeyInUse} from '../accounts/access.ts';
import {changeStates} from '../changes/states.ts';
import {inTransaction} from '../postgres/database.ts';
import type {Result} from './answers.ts';
import {type BatchDeps, inBatches} from './batches.ts';
import {type ChangeRequest, changeRequestSchema} from './change-request.ts';
import type {AccountKey} from './keys.ts';
import {checkWith, HttpProblem, problemSchema} from './problem.ts';
import {readResults, writeAs, writeChange} from './write-changes.ts';

/** Lines of one request. */
const mostLines = 10_000;

/** Each of them has a savepoint: of more than 64 Postgres keeps the state elsewhere, and slower. */
const batchSize = 50;

const writtenSchema = z
  .object({
    line: z.int().describe('Its place in the request, from 1; blank lines count, too.'),
    change_id: z.string().nullable().describe('Null where nothing had to change, or is refused.'),
    row_id: z.string().nullable(),
    state: z
      .enum([...changeStates, 'unchanged'])
      .nullable()
      .describe('Null where it is refused.'),
    problem: problemSchema.nullable().describe('Why it is refused.'),
  })
  .describe('What became of a line.');

type Written = z.infer<typeof writtenSchema>;

const writtenEndSchema = z
  .object({
    totals: z.object({
      changed: z.int(),
      unchanged: z.int(),
      refused: z.int(),
      left: z.int().describe('Were not come to, because of the problem.'),
    }),
    problem: problemSchema
      .nullable()
      .describe('Why it ended early; what was done before stays done.'),
  })
  .describe('The last line. An answer without it was cut off.');

/** A line of the answer. */
export const writtenLineSchema = z.union([writtenSchema, writtenEndSchema]);
type WrittenLine = z.infer<typeof writtenLineSchema>;

/**
 * A change that is asked for in a line. What may be sent again must not have its effect twice: a
 * create therefore has a key. And its parent has a name of its own, for there is no array.
 */
const lineSchema = changeRequestSchema.superRefine((request: ChangeRequest, found) => {
  const {operation, external_key: key, parent} = request;
  if (operation === 'create' && key === undefined)
    found.addIssue({
      code: 'custom',
      path: ['external_key'],
      message: 'expected a key: by it the line can be sent again without a second row',
    });
  if (parent?.index !== undefined)
    found.addIssue({
      code: 'custom',
      path: ['parent', 'index'],
      message: 'expected nothing: name the parent by number, row_id or external_key',
    });
});

const check = checkWith(lineSchema, 'body');

interface SentLine {
  readonly line: number;
  readonly bytes: Buffer;
}

interface LinesRequest {
  readonly body: Buffer;
  /** The name of each of its transactions; null for none. */
  readonly batch: string | null;
}

/**
 * Makes what each line asks for, and gives a line for each and one for the end.
 * @throws {HttpProblem} nothing was done: there is no line, or there are too many; any other error
 *   of the first batch
 */
export async function* writeInLines(
  {pool, ...deps}: BatchDeps & {readonly pool: pg.Pool},
  key: AccountKey,
  {body, batch}: LinesRequest,
): AsyncGenerator<WrittenLine[], void, void> {
  const items = splitLines(body);
  const totals = {changed: 0, unchanged: 0, refused: 0, left: items.length};
  const work = async (lines: readonly SentLine[]) => {
    const written = await writeBatch(pool, key, {lines, batch});
    for (const {state} of written)
      totals[state === null ? 'refused' : state === 'unchanged' ? 'unchanged' : 'changed']++;
    totals.left -= written.length;
    return written;
  };
  const problem = yield* inBatches(deps, key.apiKeyId, {items, size: batchSize, work});
  yield [{totals, problem: problem?.body ?? null}];
}

/** Makes what some lines ask for in one transaction: each of them, or nothing of it. */
async function writeBatch(
  pool: pg.Pool,
  key: AccountKey,
  {lines, batch}: {readonly lines: readonly SentLine[]; readonly batch: string | null},
): Promise<Written[]> {
  const asked = lines.map(({line, bytes}) => ({line, request: readLine(bytes)}));
  return await inTransaction(pool, async (client) => {
    if (!(await isKeyInUse(client, key.apiKeyId))) throw new HttpProblem(401, 'unauthorized');
    await writeAs(client, key, batch);
    await client.query('SAVEPOINT line');
    const made: ApiResult[] = [];
    const refused = new Map<number, Written>();
    for (const {line, request} of asked) {
      const one = request instanceof HttpProblem ? request : await writeAlone(client, key, request);
      if (one instanceof HttpProblem) refused.set(line, refuse(line, one));
      else made.push(one);
    }
    const results = (await readResults(client, key, made)).values();
    return lines.map(({line}) => refused.get(line) ?? tell(line, results.next().value));
  });
}

/**
 * Makes a change behind the savepoint `line`.
 * @returns the problem for which nothing of it was done, in place of a result
 */
async function writeAlone(
  client: pg.ClientBase,
  key: AccountKey,
  request: ChangeRequest,
): Promise<ApiResult | HttpProblem> {
  try {
    const {result} = await writeChange(client, request, {key, at: '', earlier: []});
    await client.query('RELEASE SAVEPOINT line; SAVEPOINT line');
    return result;
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT line');
    return error;
  }
}

function refuse(line: number, {body}: HttpProblem): Written {
  return {line, change_id: null, row_id: null, state: null, problem: body};
}

function tell(line: number, result: Result | undefined): Written {
  if (result === undefined) throw new TypeError('a line has no result');
  const changeId = result.state === 'unchanged' ? null : result.change_id;
  return {line, change_id: changeId, row_id: result.row_id, state: result.state, problem: null};
}

const newline = 0x0a;
/** Tab, carriage return, space. */
const blanks: ReadonlySet<number> = new Set([0x09, 0x0d, 0x20]);

/** The lines that are not blank. @throws {HttpProblem} there is none, or there are too many */
function splitLines(body: Buffer): SentLine[] {
  const lines: SentLine[] = [];
  for (let at = 0, line = 1; at < body.length; line++) {
    const found = body.indexOf(newline, at);
    const end = found === -1 ? body.length : found;
    const bytes = body.subarray(at, end);
    at = end + 1;
    if (bytes.every((byte) => blanks.has(byte))) continue;
    if (lines.length === mostLines) throw refuseCount(`more`);
    lines.push({line, bytes});
  }
  if (lines.length === 0) throw refuseCount('none');
  return lines;
}

function refuseCount(got: 'more' | 'none'): HttpProblem {
  const expected = `1 to ${mostLines} lines of JSON`;
  return new HttpProblem(got === 'none' ? 400 : 413, got === 'none' ? 'invalid' : 'too-large', {
    detail: `body: expected ${expected}, got ${got}`,
    hint: got === 'none' ? 'Send one change a line.' : 'Nothing was done: send several requests.',
    errors: [{in: 'body', at: '', expected, got}],
  });
}

const utf8 = new TextDecoder('utf-8', {fatal: true});

function readLine(bytes: Buffer): ChangeRequest | HttpProblem {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch {
    return new HttpProblem(400, 'invalid', {
      detail: 'the line is no JSON in UTF-8',
      hint: 'Write one whole change in one line.',
    });
  }
  const read = check(value);
  return 'error' in read ? read.error : (read.value as ChangeRequest);
}
