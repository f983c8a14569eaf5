// The HTTP API: HTTP and JSON for systems that do not speak SQL. It can do nothing that SQL cannot.
// While one caller's writes wait for a lock, it still serves all other callers: reads have separate
// connections, and a write returns its connection soon.

import type {IncomingHttpHeaders} from 'node:http';
import type {SwaggerTransform} from '@fastify/swagger';
import swagger from '@fastify/swagger';
import type {FastifyInstance, FastifyPluginCallback, FastifyReply} from 'fastify';
import {
  createJsonSchemaTransform,
  createJsonSchemaTransformObject,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import type pg from 'pg';
import {z} from 'zod';
import {errorNumbers} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {FeedWatch} from '../feed/feed.ts';
import {openPool, type PoolOptions} from '../postgres/database.ts';
import {NoticeWatch} from '../postgres/listen.ts';
import {
  addChangeStoryRoute,
  changeSchema,
  resultsSchema,
  storySchema,
  unchangedSchema,
  valueSchema,
} from './answers.ts';
import {changeRequestSchema, changesRequestSchema} from './change-request.ts';
import {addChangesRoute} from './changes-route.ts';
import {addBulkRoutes} from './decide-changes.ts';
import {addFeedPlaceRoutes, addFeedRoute, entrySchema} from './feed-routes.ts';
import {type KnownNames, namingHint, requireKey, Turns} from './keys.ts';
import {
  checkWith,
  type Explain,
  HttpProblem,
  linesType,
  problemSchema,
  toProblem,
} from './problem.ts';
import {addLogin, addRowRoutes, type LoginRouteDeps, rowSchemas} from './row-routes.ts';

export interface ApiPools {
  /** For keys, rows, changes and health. */
  readonly reads: pg.Pool;
  readonly writes: pg.Pool;
  close(): Promise<void>;
}

const maxConnections = {reads: 8, writes: 8} as const;
const statementTimeoutMs = 30_000;
const lockTimeoutMs = 3_000;

/**
 * @param poolOptions - for how long a write waits for a row that another transaction is changing;
 * whether sessions are shared
 */
export function openPools(
  databaseUrl: string,
  poolOptions: Pick<PoolOptions, 'lockTimeoutMs' | 'sharesSessions'> = {},
): ApiPools {
  const sharedOptions = {statementTimeoutMs, lockTimeoutMs, ...poolOptions};
  const reads = openPool(databaseUrl, {
    ...sharedOptions,
    max: maxConnections.reads,
    applicationName: 'http reads',
  });
  const writes = openPool(databaseUrl, {
    ...sharedOptions,
    max: maxConnections.writes,
    applicationName: 'http writes',
  });
  const close = async () => {
    await Promise.all([reads.end(), writes.end()]);
  };
  return {reads, writes, close};
}

const retryAfterSeconds = 5;

export interface ApiOptions extends Pick<LoginRouteDeps, 'setLogin'> {
  readonly pools: Pick<ApiPools, 'reads' | 'writes'>;
  readonly log: Logger;
  readonly known: KnownNames;
  /** The warehouse's address for LISTEN: no pooler in between. */
  readonly directUrl: string;
}

/**
 * Adds every address under /v1. Without a key, a request learns nothing there, not even whether an
 * address exists.
 */
export async function addApi(
  app: FastifyInstance,
  {pools, log, known, directUrl, setLogin}: ApiOptions,
): Promise<void> {
  const onProblem = (reason: string) =>
    log.warn({reason, docs: errorNumbers.feed}, 'the feed is late');
  const watches = {
    feed: new FeedWatch({directUrl, pool: pools.writes, onProblem}),
    changes: new NoticeWatch({
      directUrl,
      channel: 'fieldmirror_changes',
      onFailure: (error) =>
        log.warn(
          {reason: String(error), docs: errorNumbers.feed},
          'requests that wait are not notified of settled changes',
        ),
    }),
  };
  const databaseUrl = pools.reads.options.connectionString ?? '';
  const explain: Explain = (error, request) => toProblem(error, {databaseUrl, request, log});
  await app.register(
    async (api) => {
      api.removeContentTypeParser('text/plain');
      acceptJson(api);
      // Lines are checked one by one, by the address that accepts them.
      api.setValidatorCompiler<z.ZodType>(({schema, httpPart, contentType}) =>
        contentType === linesType ? (value) => ({value}) : checkWith(schema, httpPart),
      );
      // Answers are made by our own statements, and the tests compare them with the document.
      api.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
      api.setErrorHandler((error, request, reply) => sendProblem(reply, explain(error, request)));
      api.setNotFoundHandler(() => {
        throw new HttpProblem(404, 'not-found', {
          hint: 'GET /v1/openapi.json lists every address.',
        });
      });
      api.addHook('onRequest', async ({hostname}) => {
        if (known.has(hostname)) return;
        const detail = 'this server does not go by that name';
        throw new HttpProblem(421, 'misdirected', {detail, hint: namingHint});
      });
      requireKey(api, pools.reads);
      refuseOtherMethods(api);
      await addDocument(api);
      await api.register(addRoutes(pools, {watches, explain, setLogin}));
      api.get('/openapi.json', {schema: {hide: true}}, async () => api.swagger());
    },
    {prefix: '/v1'},
  );
}

/**
 * Accepts bodies of JSON in UTF-8 alone, and none that is compressed. The parser of fastify reads
 * bytes of another encoding as signs of replacement, and they would be sent on to the service.
 */
function acceptJson(api: FastifyInstance): void {
  api.addHook('onRequest', async ({headers: {'content-encoding': encoding = 'identity'}}) => {
    if (encoding.toLowerCase() === 'identity') return;
    throw new HttpProblem(415, 'unsupported', {
      detail: `expected a body that is not compressed, got Content-Encoding: ${encoding}`,
      errors: [{in: 'header', at: 'content-encoding', expected: 'no such header', got: encoding}],
    });
  });
  const parse = api.getDefaultJsonParser('error', 'error');
  const utf8 = new TextDecoder('utf-8', {fatal: true});
  const expectJson = (charset: string) =>
    new HttpProblem(415, 'unsupported', {
      detail: `expected a body in UTF-8, got charset=${charset}`,
      errors: [{in: 'header', at: 'content-type', expected: 'charset=utf-8', got: charset}],
    });
  api.removeContentTypeParser('application/json');
  api.addContentTypeParser<Buffer>(
    'application/json',
    {parseAs: 'buffer'},
    (request, bytes, done) => {
      const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(
        request.headers['content-type'] ?? '',
      )?.[1];
      if (charset !== undefined && !/^utf-?8$/i.test(charset)) return done(expectJson(charset));
      let text: string;
      try {
        text = utf8.decode(bytes);
      } catch {
        return done(new HttpProblem(400, 'invalid', {detail: 'the body is no JSON in UTF-8'}));
      }
      parse(request, text, done);
    },
  );
}

/** Answers with a problem, and with a Retry-After header if its status is 503 or 429. */
export function sendProblem(reply: FastifyReply, {body}: HttpProblem): void {
  if (body.status === 401) reply.header('www-authenticate', 'Bearer');
  if (body.status === 503 || body.status === 429)
    reply.header('retry-after', String(retryAfterSeconds));
  void reply
    .code(body.status)
    .type('application/problem+json')
    .serializer((problem: unknown) => JSON.stringify(problem))
    .send(body);
}

const componentsSchema = z.looseObject({schemas: z.record(z.string(), z.unknown())});

/** The changes of each table by their operation, as `update_customers`. */
const changeSchemas: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  changeRequestSchema.options.flatMap(({options}) =>
    options.map((schema) => {
      const {operation, table} = schema.shape;
      return [`${operation.value}_${table.value}`, schema] as const;
    }),
  ),
);

// Zod keeps comments in its one global registry, so the names of referenced schemas must be there,
// too. A generator of clients makes a type of each name.
const namedSchemas = {
  Problem: problemSchema,
  Change: changeSchema,
  ChangeStory: storySchema,
  Unchanged: unchangedSchema,
  ChangeRequest: changeRequestSchema,
  ...changeSchemas,
  FeedEntry: entrySchema,
  ...Object.fromEntries([...rowSchemas].map(([table, schema]) => [`row_${table.name}`, schema])),
};
for (const [id, schema] of Object.entries(namedSchemas))
  z.globalRegistry.add(schema, {...z.globalRegistry.get(schema), id});

interface Described {
  readonly zodSchema: z.core.$ZodTypes;
  readonly jsonSchema: z.core.JSONSchema.BaseSchema;
}

/** Answers may get more fields later, so the document must not say that there are no others. */
const jsonSchemaOptions = {
  zodToJsonConfig: {
    override: ({zodSchema, jsonSchema}: Described) => {
      const {def} = zodSchema._zod;
      if (def.type === 'object' && def.catchall === undefined)
        delete jsonSchema.additionalProperties;
      simplifyChoices({zodSchema, jsonSchema});
    },
  },
};

/**
 * Generators of clients cannot choose between an object and a list, and make a class of each choice
 * within a choice.
 */
function simplifyChoices({zodSchema, jsonSchema}: Described): void {
  if (zodSchema === changesRequestSchema || zodSchema === resultsSchema) {
    const [, list] = jsonSchema.anyOf ?? [];
    delete jsonSchema.anyOf;
    Object.assign(jsonSchema, list);
  }
  if (zodSchema === valueSchema) delete jsonSchema.anyOf;
  if (zodSchema === changeRequestSchema)
    jsonSchema.oneOf = jsonSchema.oneOf?.flatMap(({oneOf = []}) => oneOf) ?? [];
}

/** Describes every address that is added later, from the very schemas that check it. */
async function addDocument(app: FastifyInstance): Promise<void> {
  const transformDocument = createJsonSchemaTransformObject(jsonSchemaOptions);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Fieldmirror',
        version: '1',
        description:
          'The warehouse for systems that do not speak SQL. Identifiers and amounts are text, ' +
          'instants are UTC.',
      },
      servers: [{url: '/'}],
      components: {securitySchemes: {key: {type: 'http', scheme: 'bearer'}}},
      security: [{key: []}],
    },
    transform: transformBodies(createJsonSchemaTransform(jsonSchemaOptions)),
    transformObject: (input) => dropUnused(transformDocument(input)),
  });
}

const mediaSchema = z.object({
  content: z.record(z.string(), z.object({schema: z.instanceof(z.ZodType)})),
});

/** Describes a body of several media types, each by its own schema. */
function transformBodies(transform: SwaggerTransform): SwaggerTransform {
  return (document) => {
    const media = mediaSchema.safeParse(document.schema?.body);
    if (!media.success) return transform(document);
    const {body: _, ...rest} = document.schema;
    const content = Object.entries(media.data.content).map(([type, {schema: body}]) => {
      return [type, {schema: transform({...document, schema: {body}}).schema?.body}];
    });
    const described = transform({...document, schema: rest});
    return {
      ...described,
      schema: {...described.schema, body: {content: Object.fromEntries(content)}},
    };
  };
}

/**
 * Removes the schemas that no address refers to. Each schema is made in two forms, as it is sent
 * and as it is read, and only one of the two is ever used.
 */
function dropUnused<Document extends object>(document: Document): Document {
  if (!('paths' in document) || !('components' in document)) return document;
  const components = componentsSchema.parse(document.components);
  const usedIds = new Set<string>();
  const markUsed = (value: unknown): void => {
    for (const [, id = ''] of JSON.stringify(value ?? null).matchAll(
      /"#\/components\/schemas\/([^"]+)"/g,
    )) {
      if (usedIds.has(id)) continue;
      usedIds.add(id);
      markUsed(components.schemas[id]);
    }
  };
  markUsed(document.paths);
  const schemas = Object.fromEntries(
    Object.entries(components.schemas).filter(([id]) => usedIds.has(id)),
  );
  return {...document, components: {...components, schemas}};
}

/** The watches that wake waiting requests. */
interface Watches {
  readonly feed: FeedWatch;
  /** Watches `fieldmirror_changes`: changes that are settled, or need a person. */
  readonly changes: NoticeWatch;
}

/**
 * The limits of each key: half of the connections at once, and the requests that a burst may queue.
 */
const readLimits = {atOnce: 4, waiting: 100} as const;
const writeLimits = {atOnce: 4, waiting: 50} as const;

/** The addresses under /v1, all for the account of the key alone. */
function addRoutes(
  {reads, writes}: Pick<ApiPools, 'reads' | 'writes'>,
  {
    watches,
    explain,
    setLogin,
  }: Pick<LoginRouteDeps, 'setLogin'> & {readonly watches: Watches; readonly explain: Explain},
): FastifyPluginCallback {
  return (instance, _options, done) => {
    const app = withTypes(instance);
    instance.addHook('preHandler', async ({method, headers}) => {
      if (method !== 'GET') refuseConditions(headers);
    });
    const readTurns = new Turns('reads', readLimits);
    const writeAccess = {pool: writes, turns: new Turns('writes', writeLimits)};
    addChangesRoute(instance, writeAccess, explain);
    addBulkRoutes(instance, {reads: {pool: reads, turns: readTurns}, writes: writeAccess}, explain);
    addChangeStoryRoute(instance, {reads, turns: readTurns, watch: watches.changes});
    addLogin(instance, {turns: writeAccess.turns, setLogin});
    addFeedRoute(app, {reads, turns: readTurns, watch: watches.feed});
    addFeedPlaceRoutes(app, {reads: {pool: reads, turns: readTurns}, writes: writeAccess});
    addRowRoutes(instance, {reads, turns: readTurns});
    done();
  };
}

/**
 * Refuses conditional headers: rows have no version here, and a condition that is not checked must
 * not look as if it were.
 */
function refuseConditions(headers: IncomingHttpHeaders): void {
  const name = ['if-match', 'if-none-match', 'if-unmodified-since'].find(
    (header) => header in headers,
  );
  if (name === undefined) return;
  const expected = 'nothing: rows have no ETag';
  throw new HttpProblem(400, 'invalid', {
    detail: `${name}: expected ${expected}`,
    hint: 'Say it in the body of a change: seen, a cursor of the feed, or was, the values read.',
    errors: [{in: 'header', at: name, expected}],
  });
}

function withTypes(app: FastifyInstance) {
  return app.withTypeProvider<ZodTypeProvider>();
}

/**
 * Refuses a request whose method its address does not have, before its body is read; counts the
 * addresses that are added later. If it were answered as not found, a program that sends DELETE to
 * the address of a row would take the row for deleted.
 */
function refuseOtherMethods(app: FastifyInstance): void {
  const routes: {readonly path: RegExp; readonly methods: readonly string[]}[] = [];
  app.addHook('onRoute', ({method, url}) => {
    const path = new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`);
    routes.push({path, methods: [method].flat()});
  });
  app.addHook('onRequest', async ({is404, method, url}, reply) => {
    if (!is404) return;
    const [path = ''] = url.split('?');
    const methods = routes.filter((route) => route.path.test(path)).flatMap((r) => r.methods);
    if (methods.length === 0) return;
    reply.header('allow', methods.join(', '));
    throw new HttpProblem(405, 'method', {
      detail: `${method}: expected ${methods.join(' or ')} at this address`,
      hint: 'POST /v1/changes creates, updates and deletes records.',
    });
  });
}
