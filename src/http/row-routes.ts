// The addresses of records. The list of each table has the rows of the account of the API key, with
// the external keys of the outside system of that API key. A list can be filtered by any column of
// texts, numbers or booleans. If the column has an index, the answer is immediate. Otherwise each
// page costs at most one reading of the account's rows. PUT /v1/employees/{number}/login gives an
// employee a login. The password is sent on to the service and stored nowhere. A problem never
// quotes the body.

import type {FastifyInstance} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import pg from 'pg';
import {z} from 'zod';
import {Secret} from '../core/secret.ts';
import {idPattern, shorten} from '../core/text.ts';
import {
  describeLogin,
  isLoginText,
  type LoginResult,
  loginText,
  type SetLogin,
} from '../push/set-login.ts';
import {buildSystemKeys} from '../rows/links.ts';
import {allTables} from '../streams/all.ts';
import type {ColumnType, MirrorTable} from '../streams/table.ts';
import {isStorableInstant} from '../streams/values.ts';
import {buildRowSchema, buildRowsSchema, listApiColumns} from './answers.ts';
import {buildLineSchema, textSchema} from './change-request.ts';
import {type AccountKey, getApiKey, type Turns} from './keys.ts';
import {checkWith, HttpProblem, problemResponse, type WrongInput} from './problem.ts';

/** For each column, the value that a row must have; '' means no value. */
type RowFilters = Readonly<Record<string, string>>;

/** How many columns one list may be filtered by. */
const maxFilters = 8;

const filterSchemas: Partial<Readonly<Record<ColumnType, z.ZodType<string>>>> = {
  text: textSchema.max(200),
  integer: z.string().regex(/^(?:-?\d{1,18})?$/, {error: 'expected a number, or nothing'}),
  boolean: z.enum(['true', 'false', '']),
};

type FilterShape = Readonly<Record<string, z.ZodOptional<z.ZodType<string>>>>;

/** @param reservedParameters - parameters of the list that have another meaning */
function buildFilterShape({columns}: MirrorTable, reservedParameters: object): FilterShape {
  return Object.fromEntries(
    columns.flatMap(({name, type, comment}) => {
      const filterSchema = filterSchemas[type];
      if (filterSchema === undefined || name in reservedParameters) return [];
      const description = `Only rows with this value; nothing for those without one. ${comment}`;
      return [[name, filterSchema.optional().describe(description)]];
    }),
  );
}

/** The filters among the parameters of a list. */
function pickFilters(shape: FilterShape, query: object): RowFilters {
  return Object.fromEntries(
    Object.entries(query).filter(
      (entry): entry is [string, string] => entry[0] in shape && typeof entry[1] === 'string',
    ),
  );
}

/**
 * The SQL condition of some filters on the rows of the alias `held`.
 * @param firstParameter - the number of its first parameter
 */
function buildCondition(
  {columns}: MirrorTable,
  filters: RowFilters,
  firstParameter: number,
): {readonly sql: string; readonly values: readonly string[]} {
  const values: string[] = [];
  const conditions = Object.entries(filters).map(([name, value]) => {
    const columnSql = `held.${pg.escapeIdentifier(name)}`;
    const isText = columns.find((column) => column.name === name)?.type === 'text';
    if (value === '') return `(${columnSql} IS NULL${isText ? ` OR ${columnSql} = ''` : ''})`;
    values.push(value);
    return `${columnSql} = $${firstParameter + values.length - 1}`;
  });
  return {sql: conditions.map((condition) => ` AND ${condition}`).join(''), values};
}

/** The dependencies of a read. */
interface RowReadDeps {
  readonly reads: pg.Pool;
  readonly turns: Turns;
}

type App = ReturnType<typeof withTypes>;

const pageSizes = {most: 500, usual: 100} as const;

/** The schema of each table's row, made once: the document names it by the table. */
export const rowSchemas: ReadonlyMap<MirrorTable, z.ZodType> = new Map(
  allTables.map((table) => [table, buildRowSchema(table)]),
);

const listQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(pageSizes.most).default(pageSizes.usual),
  page: z.string().optional().describe('next_page of the page before.'),
  changed_since: z
    .string()
    .refine(isStorableInstant, {
      error:
        'expected ISO 8601 with an offset, from the year 1 on, such as 2027-03-14T09:30:00Z; ' +
        'in an address a + is written %2B',
    })
    .meta({format: 'date-time'})
    .optional()
    .describe(
      'Only rows that changed in the warehouse since: by _changed_at, the beginning of the ' +
        'transaction that wrote the row. Ask with some minutes to spare; a row read twice does ' +
        'no harm.',
    ),
  deleted: z.enum(['true', 'false']).optional().describe('Whether deleted rows are listed, too.'),
  key: textSchema
    .min(1)
    .max(200)
    .optional()
    .describe('Only the row that the system of the API key knows by this external_key.'),
  system: buildLineSchema(50)
    .optional()
    .describe('The outside system that key is of: that of the API key, and no other.'),
});

/** The filters of each table's list, made once. */
const filterShapes = new Map(
  allTables.map((table) => [table.name, buildFilterShape(table, listQuery.shape)]),
);
const findFilterShape = ({name}: MirrorTable) => filterShapes.get(name) ?? {};

/** The parameters of a table's list: those of every list, and its columns. */
function buildListQuery(table: MirrorTable) {
  const shape = findFilterShape(table);
  return z
    .strictObject({...shape, ...listQuery.shape})
    .refine((query) => Object.keys(pickFilters(shape, query)).length <= maxFilters, {
      error: `expected at most ${maxFilters} columns`,
    });
}

/** Adds the addresses of the rows of every table. */
export function addRowRoutes(instance: FastifyInstance, deps: RowReadDeps): void {
  const app = withTypes(instance);
  for (const table of allTables) {
    addTableRoute(app, deps, table);
    addRecordRoute(app, deps, table);
  }
}

function withTypes(app: FastifyInstance) {
  return app.withTypeProvider<ZodTypeProvider>();
}

function addTableRoute(app: App, {reads, turns}: RowReadDeps, table: MirrorTable): void {
  const rowSchema = rowSchemas.get(table) ?? buildRowSchema(table);
  app.route({
    method: 'GET',
    url: `/${table.name}`,
    schema: {
      operationId: `list_${table.name}`,
      summary: table.comment,
      tags: ['rows'],
      querystring: buildListQuery(table),
      response: {200: buildRowsSchema(rowSchema), ...problemResponse},
    },
    handler: async (request) => {
      const {limit, key = null, system: requestedSystem} = request.query;
      const position = findPosition(table, request.query);
      const apiKey = getApiKey(request);
      checkSystem(apiKey, requestedSystem);
      const {apiKeyId, accountId, system} = apiKey;
      const rowsQuery = {...position, accountId, system, key, limit: limit + 1};
      const rows = await turns.take(apiKeyId, () => readRows(reads, table, rowsQuery));
      const lastRow = rows.length > limit ? rows[limit - 1] : undefined;
      return {
        rows: rows.slice(0, limit),
        next_page:
          lastRow === undefined ? null : packPosition({...position, afterRowId: lastRow.row_id}),
      };
    },
  });
}

/** Adds the address of one record by its number, if the number alone is the key of the table. */
function addRecordRoute(app: App, {reads, turns}: RowReadDeps, table: MirrorTable): void {
  const [numberColumn, ...otherColumns] = table.key;
  if (numberColumn === undefined || otherColumns.length > 0) return;
  app.route({
    method: 'GET',
    url: `/${table.name}/:number`,
    schema: {
      operationId: `get_${table.name}`,
      summary: `One record by its ${numberColumn}.`,
      tags: ['rows'],
      params: z.strictObject({
        number: z.string().regex(idPattern, {error: 'expected a number from 1 on'}),
      }),
      querystring: z.strictObject({
        deleted: listQuery.shape.deleted.describe('Whether a deleted record is given, too.'),
      }),
      response: {200: rowSchemas.get(table) ?? buildRowSchema(table), ...problemResponse},
    },
    handler: async (request) => {
      const {number} = request.params;
      const showsDeleted = request.query.deleted === 'true';
      const {apiKeyId, accountId, system} = getApiKey(request);
      const query = {accountId, system, numberColumn, number};
      const row = await turns.take(apiKeyId, () => readRow(reads, table, query));
      if (row !== null && (showsDeleted || row._deleted_at === null)) return row;
      const isDeleted = row !== null;
      const reason = isDeleted ? `number ${number} is deleted` : `there is no number ${number}`;
      throw new HttpProblem(404, 'not-found', {
        detail: `${table.name}: ${reason}`,
        hint: isDeleted
          ? `GET /v1/${table.name}/${number}?deleted=true gives it all the same.`
          : `GET /v1/${table.name} lists them.`,
        errors: [
          {in: 'path', at: 'number', expected: 'a live record of this account', got: number},
        ],
      });
    },
  });
}

interface RowQuery {
  readonly accountId: string;
  /** The outside system whose keys are returned. */
  readonly system: string;
  readonly numberColumn: string;
  readonly number: string;
}

/** The row of a record, live or deleted; null if no record has the number. */
async function readRow(
  pool: pg.Pool,
  table: MirrorTable,
  {accountId, system, numberColumn, number}: RowQuery,
): Promise<(Row & {readonly _deleted_at: string | null}) | null> {
  const {key} = buildSystemKeys(system, pg.escapeLiteral(table.name));
  const {rows} = await pool.query<Row & {readonly _deleted_at: string | null}>(
    `SELECT ${listColumns(table, key)} FROM warehouse.${pg.escapeIdentifier(table.name)} AS held
      WHERE account_id = $1 AND ${pg.escapeIdentifier(numberColumn)} = $2`,
    [accountId, number],
  );
  return rows[0] ?? null;
}

function findPosition(table: MirrorTable, query: z.infer<typeof listQuery>): ListPosition {
  const {page, deleted, changed_since: changedSince} = query;
  const shape = findFilterShape(table);
  const filters = pickFilters(shape, query);
  const startPosition = page === undefined ? null : unpackPosition(page);
  if (page === undefined) {
    const options = {showsDeleted: deleted === 'true', changedSince: changedSince ?? null};
    return {table: table.name, afterRowId: '0', ...options, where: filters};
  }
  if (
    startPosition?.table !== table.name ||
    !z.strictObject(shape).safeParse(startPosition.where).success
  )
    throw createQueryProblem('page', `next_page of an earlier answer for ${table.name}`);
  if (deleted !== undefined && (deleted === 'true') !== startPosition.showsDeleted)
    throw createQueryProblem('deleted', 'the same as for the first page, or nothing: page has it');
  if (changedSince !== undefined && changedSince !== startPosition.changedSince)
    throw createQueryProblem(
      'changed_since',
      'the same as for the first page, or nothing: page has it',
    );
  const changedFilter = Object.keys(filters).find(
    (name) => filters[name] !== startPosition.where?.[name],
  );
  if (changedFilter !== undefined)
    throw createQueryProblem(
      changedFilter,
      'the same as for the first page, or nothing: page has it',
    );
  return startPosition;
}

function createQueryProblem(at: string, expected: string): HttpProblem {
  const errors: WrongInput[] = [{in: 'query', at, expected}];
  return new HttpProblem(400, 'invalid', {detail: `${at}: expected ${expected}`, errors});
}

interface RowsQuery {
  readonly accountId: string;
  /** The outside system whose keys are returned. */
  readonly system: string;
  /** The key of the one wanted row; null for all rows. */
  readonly key: string | null;
  readonly afterRowId: string;
  readonly limit: number;
  readonly showsDeleted: boolean;
  /** ISO with an offset. */
  readonly changedSince: string | null;
  readonly where?: RowFilters;
}

type Row = Readonly<Record<string, unknown>> & {readonly row_id: string};

/**
 * The next rows of a table, in order of row_id, which never changes. So a row that exists
 * throughout is read once, even if others are added or removed meanwhile.
 */
async function readRows(pool: pg.Pool, table: MirrorTable, query: RowsQuery): Promise<Row[]> {
  const {accountId, system, key, afterRowId, limit, showsDeleted, changedSince} = query;
  const filter = buildCondition(table, query.where ?? {}, 7);
  const externalKeys = buildSystemKeys(system, pg.escapeLiteral(table.name));
  const keyCondition = key === null ? '$6::text IS NULL' : externalKeys.isKnownBy('$1', '$6');
  const {rows} = await pool.query<Row>(
    `SELECT ${listColumns(table, externalKeys.key)}
     FROM warehouse.${pg.escapeIdentifier(table.name)} AS held
      WHERE account_id = $1 AND row_id > $2 AND ($4 OR _deleted_at IS NULL)
        AND ($5::timestamptz IS NULL OR _changed_at >= $5) AND ${keyCondition}${filter.sql}
      ORDER BY row_id LIMIT $3`,
    [accountId, afterRowId, limit, showsDeleted, changedSince, key, ...filter.values],
  );
  return rows;
}

/** @param key - the SQL expression that is returned as external_key */
function listColumns(table: MirrorTable, key: string): string {
  return listApiColumns(table)
    .map((name) =>
      name === 'external_key' ? `${key} AS external_key` : `held.${pg.escapeIdentifier(name)}`,
    )
    .join(', ');
}

/** @throws {HttpProblem} 403: the request names a system other than that of the key */
function checkSystem({system: ownSystem}: AccountKey, requestedSystem: string | undefined): void {
  if (requestedSystem === undefined || requestedSystem === ownSystem) return;
  const expected = `${ownSystem}, the system of this key`;
  const got = shorten(JSON.stringify(requestedSystem), 60);
  throw new HttpProblem(403, 'other-system', {
    detail: `system: expected ${expected}, got ${got}`,
    hint: 'Leave it out, or use a key of that system: fieldmirror keys add NAME --system SYSTEM.',
    errors: [{in: 'query', at: 'system', expected, got}],
  });
}

const tokenSchema = z.tuple([
  z.literal(1),
  z.string(),
  z.string().regex(idPattern),
  z.boolean(),
  z.string().refine(isStorableInstant).nullable(),
  z.record(z.string().max(60), z.string().max(200)),
]);

/** The place where a list continues: after a row, with the filters that the list began with. */
interface ListPosition {
  readonly table: string;
  readonly afterRowId: string;
  readonly showsDeleted: boolean;
  readonly changedSince: string | null;
  /** For each column, the value that a row must have. */
  readonly where?: Readonly<Record<string, string>>;
}

/**
 * Packs a place into a token. The token is no secret and grants no access: the account is always
 * that of the key.
 */
export function packPosition({
  table,
  afterRowId,
  showsDeleted,
  changedSince,
  where = {},
}: ListPosition): string {
  const fields = [1, table, afterRowId, showsDeleted, changedSince, where];
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/** @returns null for a token that `packPosition` never made */
function unpackPosition(token: string): ListPosition | null {
  if (!/^[A-Za-z0-9_-]{1,20000}$/.test(token)) return null;
  const parsed = tokenSchema.safeParse(parseJson(Buffer.from(token, 'base64url').toString()));
  if (!parsed.success) return null;
  const [, table, afterRowId, showsDeleted, changedSince, where] = parsed.data;
  const position = {table, afterRowId, showsDeleted, changedSince, where};
  return packPosition(position) === token ? position : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// Every message is our own: a message of zod may quote the input.
const loginTextSchema = z
  .string({error: `expected ${loginText}`})
  .refine(isLoginText, {error: `expected ${loginText}`});

const loginSchema = z.strictObject(
  {
    username: loginTextSchema.describe('Name to log in with.'),
    password: loginTextSchema.describe('Handed on to the service, and kept nowhere.'),
  },
  {error: 'expected an object of username and password, and nothing else'},
);

const loginAnswerSchema = z.object({
  employee_number: z.string(),
  username: z.string(),
  detail: z.string().describe('What is known: that the service has it, and what it shows.'),
});

export interface LoginRouteDeps {
  readonly turns: Turns;
  /** Null if this process opens no account, and so sends nothing. */
  readonly setLogin: SetLogin | null;
}

/** Adds the address in a separate part of the server, in which no problem quotes a body. */
export function addLogin(instance: FastifyInstance, deps: LoginRouteDeps): void {
  void instance.register(async (app) => {
    app.setValidatorCompiler<z.ZodType>(({schema, httpPart}) =>
      checkWith(schema, httpPart, {hidesValues: httpPart === 'body'}),
    );
    addLoginRoute(withTypes(app), deps);
  });
}

function addLoginRoute(app: App, {turns, setLogin}: LoginRouteDeps): void {
  app.route({
    method: 'PUT',
    url: '/employees/:employee_number/login',
    schema: {
      operationId: 'setLogin',
      summary: 'Gives an employee a login, at once: user name and password.',
      tags: ['employees'],
      params: z.object({
        employee_number: z.string().regex(idPattern, {error: 'expected the number of an employee'}),
      }),
      body: loginSchema,
      response: {200: loginAnswerSchema, ...problemResponse},
    },
    handler: async (request) => {
      const {params, body, ip: address} = request;
      const {employee_number: number} = params;
      const {apiKeyId, accountId, name, role} = getApiKey(request, {mustWrite: true});
      if (setLogin === null)
        throw new HttpProblem(503, 'unavailable', {
          detail: 'this process has no tokens of accounts, and sends nothing to the service',
          hint: 'Ask the server of fieldmirror start, which has them. Nothing was done.',
        });
      const {username} = body;
      const login = {accountId, number, username, password: new Secret(body.password)};
      const author = {name: `http: ${name}`, role, address};
      const result = await turns.take(apiKeyId, () => setLogin({...login, by: author}));
      const {outcome} = result;
      if (outcome !== 'set') throw toLoginProblem(outcome, result);
      return {employee_number: number, username, detail: describeLogin(result)};
    },
  });
}

const loginStatuses = {
  unknown: [504, 'in-doubt'],
  refused: [422, 'refused'],
  'not-found': [404, 'not-found'],
  'not-sent': [503, 'unavailable'],
} as const;

function toLoginProblem(
  outcome: keyof typeof loginStatuses,
  {message: detail, hint}: LoginResult,
): HttpProblem {
  const [status, kind] = loginStatuses[outcome];
  return new HttpProblem(status, kind, {detail, hint});
}
