// Problems as RFC 9457 defines them: what is wrong and where, the expected value, the value that
// came, the next step, and the number of the page that explains it. Every error that stops a
// request becomes a problem, with its status and with words that quote nothing of the request.

import {STATUS_CODES} from 'node:http';
import type {FastifyRequest} from 'fastify';
import pg from 'pg';
import {z} from 'zod';
import {type ErrorKind, errorNumbers, FatalError, RetryableError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {nearest} from '../core/names.ts';
import {shorten} from '../core/text.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';

/** Answers of one JSON document a line. */
export const linesType = 'application/x-ndjson';

const wrongInputSchema = z.object({
  in: z.enum(['body', 'query', 'path', 'header']),
  at: z.string().describe('JSON pointer into the body, or the name of the parameter or header.'),
  expected: z.string(),
  got: z.string().optional(),
});

/** One thing that is wrong with a request. */
export type WrongInput = z.infer<typeof wrongInputSchema>;

export const problemSchema = z
  .object({
    type: z.string().describe('urn:fieldmirror:problem: and a word that stays the same.'),
    title: z.string().describe('The status in words.'),
    status: z.int(),
    detail: z.string().optional().describe('What went wrong, this time.'),
    hint: z.string().optional().describe('What to do next.'),
    errors: z.array(wrongInputSchema).optional().describe('Where it is wrong.'),
    docs: z
      .string()
      .describe('The code of the error, with cause and fix: E24 is in docs/errors.md.'),
  })
  .describe('What went wrong: RFC 9457.');

/** What every address may answer beside its own answers. */
export const problemResponse = {
  default: {
    description: 'What went wrong.',
    content: {'application/problem+json': {schema: problemSchema}},
  },
} as const;

type ProblemBody = z.infer<typeof problemSchema>;

interface ProblemFacts {
  readonly detail?: string;
  readonly hint?: string | undefined;
  readonly errors?: readonly WrongInput[];
  readonly cause?: unknown;
}

/** A request that is answered with a problem. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly body: ProblemBody;

  /** @param kind - the end of its type: `refused` */
  constructor(status: number, kind: ProblemKind, {detail, hint, errors, cause}: ProblemFacts = {}) {
    super(detail ?? kind, {cause});
    this.body = {
      type: `urn:fieldmirror:problem:${kind}`,
      title: STATUS_CODES[status] ?? 'Problem',
      status,
      ...(detail === undefined ? {} : {detail}),
      ...(hint === undefined ? {} : {hint}),
      ...(errors === undefined ? {} : {errors: [...errors]}),
      docs: findErrorCode(kind),
    };
  }
}

/** The column that a trigger's message refuses: `warehouse.jobs.scheduled_on: expected …`. */
const columnPattern = /^warehouse\.\w+\.(\w+): (?:expected )?(.*)$/s;

/**
 * Turns Postgres' refusal of one change into a problem with Postgres' words: a refusal by a
 * trigger, or a value that a column does not accept. Any other error is returned as it is.
 * @param at - JSON pointer to the change in the body
 */
export function explainRefusal(error: unknown, at: string): unknown {
  if (!(error instanceof pg.DatabaseError) || !/^(?:22|23|55000|P0)/.test(error.code ?? ''))
    return error;
  if (error.code === '23505' && isKeyConflict(error)) {
    const detail = 'external_key: another row of the table has it';
    const errors = [
      {in: 'body' as const, at: `${at}/external_key`, expected: 'a key that no other row has'},
    ];
    return new HttpProblem(422, 'refused', {
      detail,
      hint: 'Update that row instead, or if it is deleted, set its external_key to null first.',
      errors,
      cause: error,
    });
  }
  const [, name, expected] = columnPattern.exec(error.message) ?? [];
  const pointer =
    name === undefined ? at : `${at}/${name.endsWith('_number') ? 'parent' : `fields/${name}`}`;
  return new HttpProblem(422, 'refused', {
    detail: error.message,
    hint: error.hint,
    errors: [{in: 'body', at: pointer, expected: expected ?? 'a change that the service can take'}],
    cause: error,
  });
}

/**
 * Whether another row has the key: sync.set_link refuses it, or an index does if two rows get it at
 * once.
 */
function isKeyConflict({column: columnName, constraint = ''}: pg.DatabaseError): boolean {
  return columnName === 'external_key' || /_external_key$|^links_key$/.test(constraint);
}

/**
 * Turns the refusal of a cursor into a problem; with a cursor, an author states what it has read.
 * Any other error is returned as it is.
 * @param at - JSON pointer to the cursor in the body, or the name of a parameter
 */
export function explainCursor(error: unknown, at: string): unknown {
  if (!(error instanceof pg.DatabaseError) || !/^(?:22023|FM410)$/.test(error.code ?? ''))
    return error;
  const isExpired = error.code === 'FM410';
  if (error.message.startsWith('state:'))
    return new HttpProblem(422, 'refused', {
      detail: error.message,
      hint: error.hint,
      errors: [{in: 'body', at: '/state', expected: 'a smaller one'}],
      cause: error,
    });
  return new HttpProblem(isExpired ? 410 : 422, isExpired ? 'cursor-gone' : 'refused', {
    detail: error.message.replace('fieldmirror.seen', 'seen'),
    hint: isExpired
      ? 'Begin again: keep the cursor of GET /v1/feed?after=end, read the tables, write with it.'
      : 'Give the cursor up to which you have read the feed, or leave it out.',
    errors: [
      {in: at.startsWith('/') ? 'body' : 'query', at, expected: 'a cursor that the feed gave'},
    ],
    cause: error,
  });
}

/**
 * The ends of the types of problems, and the kind of error of each. A type stays the same: programs
 * distinguish problems by it.
 */
const problemKinds = {
  invalid: 'request',
  'too-large': 'request',
  unsupported: 'request',
  method: 'request',
  unauthorized: 'sign-in',
  'read-only': 'role',
  'no-account': 'role',
  masked: 'role',
  'other-system': 'role',
  misdirected: 'host-name',
  'not-found': 'not-found',
  refused: 'refused',
  'key-reused': 'key-reused',
  'cursor-gone': 'cursor',
  'too-many': 'too-many',
  locked: 'locked',
  unavailable: 'unavailable',
  'in-doubt': 'unavailable',
  stopping: 'unavailable',
  bug: 'bug',
} as const satisfies Readonly<Record<string, ErrorKind>>;

type ProblemKind = keyof typeof problemKinds;

/** The kind of error for each status of the console's pages. */
const statusKinds: Readonly<Record<number, ErrorKind>> = {
  401: 'sign-in',
  403: 'role',
  404: 'not-found',
  409: 'outdated',
  421: 'host-name',
  429: 'too-many',
  500: 'bug',
  503: 'unavailable',
};

/** `E24` */
function findErrorCode(kind: ProblemKind): string {
  return errorNumbers[problemKinds[kind]];
}

/** `E23`; a status that is not listed gets the page for requests that cannot be read. */
export function pageOfStatus(status: number): string {
  return errorNumbers[statusKinds[status] ?? 'request'];
}

/** The longest body, but for lines. */
export const maxBodyBytes = 1_000_000;
/** The longest body of lines. */
export const maxLinesBytes = 10_000_000;

/** Turns an error into the problem that the caller gets. */
export type Explain = (error: unknown, request: FastifyRequest) => HttpProblem;

interface ProblemContext {
  readonly databaseUrl: string;
  readonly request: FastifyRequest;
  readonly log: Logger;
}

/** Words for the refusals of the framework. */
const frameworkProblems: Readonly<Record<number, readonly [kind: ProblemKind, detail: string]>> = {
  400: ['invalid', 'the body is no JSON'],
  413: [
    'too-large',
    `expected a body of at most ${maxBodyBytes} bytes, or ${maxLinesBytes} of lines`,
  ],
  415: ['unsupported', `expected Content-Type: application/json; for lines ${linesType}`],
};

/**
 * Turns an error of a request into a problem in the words of the HTTP API.
 * @param context.databaseUrl - of the warehouse, for the words of a failed connection
 */
export function toProblem(
  thrown: unknown,
  {databaseUrl, request, log}: ProblemContext,
): HttpProblem {
  if (thrown instanceof HttpProblem) return thrown;
  const error = explainDatabaseError(thrown, databaseUrl);
  const status =
    'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  if (status < 500) {
    const [kind, detail] = frameworkProblems[status] ?? ['invalid', 'the request cannot be read'];
    return new HttpProblem(status, kind, {detail});
  }
  // A message may quote the request, so an error that is not ours is logged by its name and stack
  // alone.
  const isOwnError = error instanceof RetryableError || error instanceof FatalError;
  const reason = isOwnError
    ? error.message
    : `${error.name} ${error.stack?.replace(/^.*?(?=\n\s+at )/s, '') ?? ''}`;
  const {
    method,
    routeOptions: {url: route},
  } = request;
  if (isLocked(error)) {
    log.warn({method, route, reason, docs: findErrorCode('locked')}, 'http: a row was locked');
    return new HttpProblem(503, 'locked', {
      detail: 'another transaction is changing a row that this change needs, and has not ended',
      hint: 'Nothing was done: send the same again later.',
    });
  }
  const docs = findErrorCode(isOwnError ? 'unavailable' : 'bug');
  log.error({method, route, reason, docs}, 'http: a request failed');
  if (!isOwnError) return new HttpProblem(500, 'bug', {hint: 'The log of the HTTP API has more.'});
  return new HttpProblem(503, 'unavailable', {
    detail: 'the warehouse cannot be reached, or is too busy',
    hint: 'Send the same again later; with an Idempotency-Key nothing happens twice.',
  });
}

/** lock_not_available: another transaction holds the row for longer than a write waits. */
function isLocked({cause}: Error): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === '55P03';
}

const inputParts: Readonly<Record<string, WrongInput['in']>> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'header',
};

/**
 * Makes the check of a part of a request by its schema, in the form that the framework requires.
 * @param options.hidesValues - for a part that holds a secret: the problem names the fields of the
 *   schema that are wrong, and shows nothing of the input, not even a name. Every message of the
 *   schema has to be our own, because a message of zod may quote the request
 */
export function checkWith<T>(
  schema: z.ZodType<T>,
  httpPart: string | undefined,
  {hidesValues = false} = {},
): (value: unknown) => {readonly value: T} | {readonly error: HttpProblem} {
  const inputPart = inputParts[httpPart ?? ''] ?? 'body';
  return (value) => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return {value: parsed.data};
    const errors = hidesValues
      ? findWrongSecrets(parsed.error.issues, inputPart)
      : findWrongInputs(parsed.error.issues, {
          place: inputPart,
          value,
          names: listPropertyNames(schema),
        });
    return {
      error: new HttpProblem(400, 'invalid', {errors, ...describeFirstInput(errors, inputPart)}),
    };
  };
}

function listPropertyNames(schema: z.ZodType): readonly string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function describeFirstInput([input]: readonly WrongInput[], inputPart: string): ProblemFacts {
  if (input === undefined) return {};
  const got = input.got === undefined ? '' : `, got ${input.got}`;
  return {
    detail: `${input.at === '' ? inputPart : input.at}: expected ${input.expected}${got}`,
  };
}

type Issue = z.core.$ZodIssue;
type PathPart = string | number;

const maxShownCharacters = 40;

/**
 * The wrong inputs that a schema found, in the terms of the request. The value that came is shown
 * shortened: it goes back to its sender, and nowhere else.
 * @param options.names - the names that the schema knows, for the words about an unknown one
 */
function findWrongInputs(
  issues: readonly Issue[],
  {
    place,
    value,
    names = [],
  }: {
    readonly place: WrongInput['in'];
    readonly value: unknown;
    readonly names?: readonly string[];
  },
): WrongInput[] {
  return issues.flatMap(openUnion).flatMap((issue): WrongInput[] => {
    const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : null;
    const paths: PathPart[][] = keys === null ? [path] : keys.map((key) => [...path, key]);
    return paths.map((inputPath) => ({
      in: place,
      at: place === 'body' ? toPointer(inputPath) : inputPath.join('.'),
      expected:
        keys === null || names.length === 0 || path.length > 0
          ? extractExpectation(issue.message)
          : describeNames(names, String(inputPath.at(-1))),
      got: describeValue(findValue(value, inputPath)),
    }));
  });
}

/** A message lists at most this many names; if there are more, it names only the nearest. */
const maxListedNames = 16;

function describeNames(names: readonly string[], typedName: string): string {
  return names.length <= maxListedNames
    ? `one of ${names.join(', ')}`
    : `a name that /v1/openapi.json lists${nearest(typedName, names)}`;
}

/** The wrong inputs of a secret part: the path of an issue has only names of a schema. */
function findWrongSecrets(issues: readonly Issue[], place: WrongInput['in']): WrongInput[] {
  return issues.map(({path, message}) => ({
    in: place,
    at: toPointer(path.map(String)),
    expected: extractExpectation(message),
  }));
}

/** JSON pointer, RFC 6901. */
function toPointer(path: readonly PathPart[]): string {
  return path
    .map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}

/** The issues of the form that was meant: one change, or an array of them. */
function openUnion(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.path.length > 0 || issue.errors.length === 0)
    return [issue];
  const isMeant = (branch: readonly Issue[]) =>
    !branch.some(({code, path}) => code === 'invalid_type' && path.length === 0);
  return [...(issue.errors.find(isMeant) ?? [{...issue, message: 'expected an object'}])];
}

function extractExpectation(message: string): string {
  return /expected (.*?)(?:, received .*)?$/s.exec(message)?.[1] ?? message;
}

function findValue(value: unknown, path: readonly PathPart[]): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part))
      return undefined;
    current = (current as Record<PathPart, unknown>)[part];
  }
  return current;
}

function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return shorten(JSON.stringify(value), maxShownCharacters);
}
