// The address that makes changes: one, several together, or many line by line. If the request has
// lines, each line is made or refused separately, and the answer has a line for each. The lines are
// made in batches, each in one transaction. Two batches run at a time if they have no record in
// common. A refused line does not affect the other lines of its batch. Consecutive lines of one
// kind are made in few statements. If one of them is refused, each half is tried separately, down
// to the refused line alone. The whole request is read before its first line is made. So a request
// that was cut off in transit does nothing, and a client that sends everything before it reads is
// not blocked.

import type {FastifyInstance} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import type pg from 'pg';
import {z} from 'zod';
import {type ApiResult, isKeyInUse} from '../accounts/access.ts';
import {changeStates} from '../changes/states.ts';
import {inTransaction} from '../postgres/database.ts';
import {type Result, resultsSchema} from './answers.ts';
import {
  batchNameSchema,
  type ChangeRequest,
  changeRequestSchema,
  changesRequestSchema,
  setsKey,
} from './change-request.ts';
import type {PoolsWithTurns} from './decide-changes.ts';
import {cursorSchema} from './feed-routes.ts';
import {type AccountKey, getApiKey, WaitingPlaces} from './keys.ts';
import {
  type BatchDeps,
  describeJsonOrLines,
  runInBatches,
  sendLines,
  splitIntoIndependentParts,
  writeTogether,
} from './lines.ts';
import {
  checkWith,
  type Explain,
  HttpProblem,
  linesType,
  maxLinesBytes,
  problemResponse,
  problemSchema,
} from './problem.ts';
import {readResults, setAuthor, writeChange, writeChanges} from './write-changes.ts';

/** Lines of one request. */
const maxLines = 10_000;

/**
 * Each line has a savepoint: beyond 64 of them Postgres keeps their state elsewhere, which is
 * slower.
 */
const batchSize = 50;

const lineResultSchema = z
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

type LineResult = z.infer<typeof lineResultSchema>;

const lastLineSchema = z
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
const answerLineSchema = z.union([lineResultSchema, lastLineSchema]);
type AnswerLine = z.infer<typeof answerLineSchema>;

/**
 * A change that is requested in a line. A line may be sent again and must not take effect twice, so
 * a create needs a key. Its parent cannot be named by index, because there is no array.
 */
const lineSchema = changeRequestSchema.superRefine((request: ChangeRequest, context) => {
  const {operation, external_key: key, parent} = request;
  if (operation === 'create' && key === undefined)
    context.addIssue({
      code: 'custom',
      path: ['external_key'],
      message: 'expected a key: by it the line can be sent again without a second row',
    });
  if (parent?.index !== undefined)
    context.addIssue({
      code: 'custom',
      path: ['parent', 'index'],
      message: 'expected nothing: name the parent by number, row_id or external_key',
    });
});

const checkLine = checkWith(lineSchema, 'body');

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
 * Makes the change of each line, and yields one line for each and one at the end.
 * @throws {HttpProblem} nothing was done: there is no line, or there are too many; any other error
 *   of the first batch
 */
async function* writeLines(
  {pool, ...deps}: BatchDeps & {readonly pool: pg.Pool},
  key: AccountKey,
  {body, batch}: LinesRequest,
): AsyncGenerator<AnswerLine[], void, void> {
  const sentLines = splitLines(body);
  const totals = {changed: 0, unchanged: 0, refused: 0, left: sentLines.length};
  const work = async (lines: readonly LineRequest[]) => {
    const lineResults = await writeBatch(pool, key, {lines, batch});
    for (const {state} of lineResults)
      totals[state === null ? 'refused' : state === 'unchanged' ? 'unchanged' : 'changed']++;
    totals.left -= lineResults.length;
    return lineResults;
  };
  const answeredBatches = runInBatches(deps, key.apiKeyId, {steps: listSteps(sentLines), work});
  let next = await answeredBatches.next();
  for (; next.done !== true; next = await answeredBatches.next())
    yield next.value.toSorted((left, right) => left.line - right.line);
  yield [{totals, problem: next.value}];
}

/** A line, parsed only when its turn comes: all parsed lines together would take much memory. */
interface LineRequest {
  readonly line: number;
  readonly request: ChangeRequest | HttpProblem;
}

/** The batches of each step: first one alone, then two side by side if they share no record. */
function* listSteps(sentLines: readonly SentLine[]): Generator<LineRequest[][], void, void> {
  let pendingLines: LineRequest[] = [];
  for (let offset = 0; offset < sentLines.length; ) {
    const stepSize = offset === 0 ? batchSize : 2 * batchSize;
    for (const {line, bytes} of sentLines.slice(offset + pendingLines.length, offset + stepSize))
      pendingLines.push({line, request: readLine(bytes)});
    const batches = splitIntoIndependentParts(pendingLines, batchSize);
    yield batches;
    const {length} = batches.flat();
    pendingLines = pendingLines.slice(length);
    offset += length;
  }
}

/** Makes the changes of some lines in one transaction: each line is made whole, or not at all. */
async function writeBatch(
  pool: pg.Pool,
  key: AccountKey,
  {lines, batch}: {readonly lines: readonly LineRequest[]; readonly batch: string | null},
): Promise<LineResult[]> {
  return await inTransaction(pool, async (client) => {
    if (!(await isKeyInUse(client, key.apiKeyId))) throw new HttpProblem(401, 'unauthorized');
    await setAuthor(client, key, batch);
    await client.query('SAVEPOINT line');
    const acceptedResults: ApiResult[] = [];
    const refusedLines = new Map<number, LineResult>();
    for (const run of groupIntoRuns(lines)) {
      const runResults = await writeRun(client, key, run);
      for (const [index, {line}] of run.entries()) {
        const result = runResults[index];
        if (result instanceof HttpProblem) refusedLines.set(line, toRefusedLine(line, result));
        else if (result !== undefined) acceptedResults.push(result);
      }
    }
    const storedResults = (await readResults(client, key, acceptedResults)).values();
    return lines.map(
      ({line}) => refusedLines.get(line) ?? toLineResult(line, storedResults.next().value),
    );
  });
}

/** The lines in their order, grouped in runs that may be made together in few statements. */
function groupIntoRuns(lineRequests: readonly LineRequest[]): (readonly LineRequest[])[] {
  const runs: {readonly kind: string | null; readonly lines: LineRequest[]}[] = [];
  for (const lineRequest of lineRequests) {
    const kind = describeRunKind(lineRequest);
    const lastRun = runs.at(-1);
    if (lastRun !== undefined && kind !== null && lastRun.kind === kind)
      lastRun.lines.push(lineRequest);
    else runs.push({kind, lines: [lineRequest]});
  }
  return runs.map(({lines}) => lines);
}

/** The properties that changes made together have in common; null for one that is made alone. */
function describeRunKind({request}: LineRequest): string | null {
  if (request instanceof HttpProblem || setsKey(request)) return null;
  const {table, hold = false, seen = null, fields = {}, was} = request;
  if (Object.values(fields).some(Array.isArray)) return null;
  return JSON.stringify([table, hold, seen, was !== undefined]);
}

/**
 * Makes some lines after the savepoint `line`, in few statements. Lines that cannot be made so are
 * made alone. If one is refused, each half is tried separately, so that few lines are made alone.
 */
async function writeRun(
  client: pg.ClientBase,
  key: AccountKey,
  lines: readonly LineRequest[],
): Promise<(ApiResult | HttpProblem)[]> {
  const requests = lines.flatMap(({request}) => (request instanceof HttpProblem ? [] : [request]));
  const [{request = null} = {}] = lines;
  if (lines.length < 2 || requests.length < lines.length)
    return request === null
      ? []
      : [request instanceof HttpProblem ? request : await writeAlone(client, key, request)];
  const results = await tryTogether(client, key, requests);
  if (results === null) {
    const middle = Math.ceil(lines.length / 2);
    return [
      ...(await writeRun(client, key, lines.slice(0, middle))),
      ...(await writeRun(client, key, lines.slice(middle))),
    ];
  }
  const allResults: (ApiResult | HttpProblem)[] = [];
  for (const [index, changeRequest] of requests.slice(0, results.length).entries())
    allResults.push(results[index] ?? (await writeAlone(client, key, changeRequest)));
  return [...allResults, ...(await writeRun(client, key, lines.slice(results.length)))];
}

/** @returns null if one of them is refused: then none of them was done */
async function tryTogether(
  client: pg.ClientBase,
  key: AccountKey,
  requests: readonly ChangeRequest[],
): Promise<(ApiResult | null)[] | null> {
  try {
    const results = await writeTogether(client, requests, key);
    await client.query('RELEASE SAVEPOINT line; SAVEPOINT line');
    return results;
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT line');
    return null;
  }
}

/**
 * Makes a change after the savepoint `line`.
 * @returns its result; if it was refused and rolled back, the problem
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

function toRefusedLine(line: number, {body}: HttpProblem): LineResult {
  return {line, change_id: null, row_id: null, state: null, problem: body};
}

function toLineResult(line: number, result: Result | undefined): LineResult {
  if (result === undefined) throw new TypeError('a line has no result');
  const changeId = result.state === 'unchanged' ? null : result.change_id;
  return {line, change_id: changeId, row_id: result.row_id, state: result.state, problem: null};
}

const newlineByte = 0x0a;
/** Tab, carriage return, space. */
const blankBytes: ReadonlySet<number> = new Set([0x09, 0x0d, 0x20]);

/** The lines that are not blank. @throws {HttpProblem} there is none, or there are too many */
function splitLines(body: Buffer): SentLine[] {
  const lines: SentLine[] = [];
  for (let offset = 0, line = 1; offset < body.length; line++) {
    const newlineAt = body.indexOf(newlineByte, offset);
    const end = newlineAt === -1 ? body.length : newlineAt;
    const bytes = body.subarray(offset, end);
    offset = end + 1;
    if (bytes.every((byte) => blankBytes.has(byte))) continue;
    if (lines.length === maxLines) throw createCountProblem(`more`);
    lines.push({line, bytes});
  }
  if (lines.length === 0) throw createCountProblem('none');
  return lines;
}

function createCountProblem(got: 'more' | 'none'): HttpProblem {
  const expected = `1 to ${maxLines} lines of JSON`;
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
  const checked = checkLine(value);
  return 'error' in checked ? checked.error : checked.value;
}

const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, {error: 'expected 1 to 200 characters of ASCII, no blanks'})
  .optional()
  .describe(
    'Your own name for the request, kept for 30 days: sent again with the same body it has no ' +
      'second effect, and is answered with what became of the first. What was refused leaves no ' +
      'trace, and may be corrected under the same key.',
  );

const querySchema = z.strictObject({
  batch: batchNameSchema
    .optional()
    .describe('A name for the transaction, by which its changes are found.'),
  ack: cursorSchema
    .optional()
    .describe('Stored as the place of this key in the feed, in the same transaction.'),
});

/** The options of a request: its names, and the cursor that it stores beside its changes. */
interface RequestOptions {
  readonly batch: string | null;
  readonly ack: string | null;
  readonly idempotencyKey: string | null;
}

/** A body that its schema has checked, or the bytes of lines, which are checked one by one. */
type Body = z.infer<typeof changesRequestSchema> | Buffer;

const routeSchema = {
  operationId: 'makeChanges',
  summary:
    'Changes a row; or, given an array, several rows together or not at all; or, given lines, ' +
    'up to 10,000 rows, each separately.',
  tags: ['changes'],
  headers: z.object({'idempotency-key': idempotencyKey}),
  querystring: querySchema,
  body: {
    content: {
      'application/json': {schema: changesRequestSchema},
      [linesType]: {schema: changeRequestSchema},
    },
  },
  response: {
    200: describeJsonOrLines(resultsSchema, answerLineSchema),
    202: resultsSchema,
    ...problemResponse,
  },
} as const;

/** Adds the address in a separate scope, so that no other address accepts lines. */
export function addChangesRoute(
  instance: FastifyInstance,
  {pool, turns}: PoolsWithTurns['writes'],
  explain: Explain,
): void {
  void instance.register((child, _options, done) => {
    const app = child.withTypeProvider<ZodTypeProvider>();
    const places = new WaitingPlaces('changes line by line', 'Send one after the other.');
    const stopping = new AbortController();
    app.addHook('preClose', async () => stopping.abort());
    app.addContentTypeParser(
      linesType,
      {parseAs: 'buffer', bodyLimit: maxLinesBytes},
      (_request, body, finish) => finish(null, body),
    );
    app.route({
      method: 'POST',
      url: '/changes',
      schema: routeSchema,
      // If a key may not write, its request is refused before the body is read.
      onRequest: async (request) => void getApiKey(request, {mustWrite: true}),
      handler: async (request, reply) => {
        const key = getApiKey(request, {mustWrite: true});
        const {batch = null, ack = null} = request.query;
        const idempotencyKey = request.headers['idempotency-key'] ?? null;
        const options = {batch, ack, idempotencyKey};
        const body = requireBody(request.body);
        if (!Buffer.isBuffer(body)) {
          const {status, location, answer} = await turns.take(key.apiKeyId, () =>
            makeChanges(pool, key, {...options, body}),
          );
          if (location !== null) reply.header('location', location);
          return await reply.code(status).send(answer);
        }
        refuseForLines(options);
        return await places.take(key.apiKeyId, reply, async (disconnected) => {
          const stop = stopping.signal;
          const deps = {pool, turns, stop, explain: (error: unknown) => explain(error, request)};
          await sendLines(reply, writeLines(deps, key, {body, batch}), {gone: disconnected});
          return reply;
        });
      },
    });
    done();
  });
}

const checkBody = checkWith(changesRequestSchema, 'body');

/** A request without a body has no media type, so no schema of a media type has checked it yet. */
function requireBody(body: unknown): Body {
  const checked = body === undefined ? checkBody(body) : {value: body};
  if ('error' in checked) throw checked.error;
  return checked.value as Body;
}

/** Makes one change, or an array of them. */
async function makeChanges(
  pool: pg.Pool,
  key: AccountKey,
  request: RequestOptions & {readonly body: Exclude<Body, Buffer>},
) {
  const {results, isReplay} = await writeChanges(pool, {key, ...request});
  const isNew = !isReplay && results.some(({state}) => state !== 'unchanged');
  const status = isNew ? (202 as const) : (200 as const);
  const [firstResult] = results;
  if (Array.isArray(request.body) || firstResult === undefined)
    return {status, location: null, answer: {changes: [...results]}};
  const location =
    firstResult.state === 'unchanged' ? null : `/v1/changes/${firstResult.change_id}`;
  return {status, location, answer: firstResult};
}

/**
 * Lines are not one transaction, so options that apply to the whole request have no meaning there.
 */
function refuseForLines({ack, idempotencyKey}: RequestOptions): void {
  const expected = 'nothing beside lines';
  if (idempotencyKey !== null)
    throw new HttpProblem(400, 'invalid', {
      detail: `Idempotency-Key: expected ${expected}`,
      hint: 'Give each line an external_key: by it the same lines may be sent again.',
      errors: [{in: 'header', at: 'Idempotency-Key', expected}],
    });
  if (ack !== null)
    throw new HttpProblem(400, 'invalid', {
      detail: `ack: expected ${expected}`,
      hint: 'Send PUT /v1/feed/place after the last line of the answer.',
      errors: [{in: 'query', at: 'ack', expected}],
    });
}
