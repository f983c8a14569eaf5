import swagger from '@fastify/swagger';
import type {FastifyInstance} from 'fastify';
import {
  createJsonSchemaTransform,
  createJsonSchemaTransformObject,
} from 'fastify-type-provider-zod';
import {z} from 'zod';
import {changeSchema, storySchema, unchangedSchema} from './answers.ts';
import {changeRequestSchema} from './change-request.ts';
import {entrySchema} from './feed-route.ts';
import {problemSchema} from './problem.ts';
import {rowSchemas} from './row-routes.ts';

const componentsSchema = z.looseObject({schemas: z.record(z.string(), z.unknown())});

// Zod keeps comments in its one global registry, so the names of referenced schemas must be there,
// too.
const named = {
  Problem: problemSchema,
  Change: changeSchema,
  ChangeStory: storySchema,
  Unchanged: unchangedSchema,
  ChangeRequest: changeRequestSchema,
  FeedEntry: entrySchema,
  ...Object.fromEntries([...rowSchemas].map(([table, schema]) => [`row_${table.name}`, schema])),
};
for (const [id, schema] of Object.entries(named))
  z.globalRegistry.add(schema, {...z.globalRegistry.get(schema), id});

/** Answers may have more fields tomorrow: readers must not be told that there are none. */
const options = {
  zodToJsonConfig: {
    override: ({
      zodSchema,
      jsonSchema,
    }: {
      zodSchema: z.core.$ZodTypes;
      jsonSchema: z.core.JSONSchema.BaseSchema;
    }) => {
      const {def} = zodSchema._zod;
      if (def.type === 'object' && def.catchall === undefined)
        delete jsonSchema.additionalProperties;
    },
  },
};

/** Describes every address that is added later, from the very schemas that check it. */
export async function addDocument(app: FastifyInstance): Promise<void> {
  const fill = createJsonSchemaTransformObject(options);
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
      components: {securitySchemes: {key: {type: 'http', scheme: 'bearer'}}},
      security: [{key: []}],
    },
    transform: createJsonSchemaTransform(options),
    transformObject: (given) => dropUnused(fill(given)),
  });
}

/**
 * Each schema is made in two forms, as it is sent and as it is read; only one of the two is ever
 * meant.
 */
function dropUnused<Document extends object>(document: Document): Document {
  if (!('paths' in document) || !('components' in document)) return document;
  const components = componentsSchema.parse(document.components);
  const used = new Set<string>();
  const mark = (value: unknown): void => {
    for (const [, id = ''] of JSON.stringify(value ?? null).matchAll(
      /"#\/components\/schemas\/([^"]+)"/g,
    )) {
      if (used.has(id)) continue;
      used.add(id);
      mark(components.schemas[id]);
    }
  };
  mark(document.paths);
  const schemas = Object.fromEntries(
    Object.entries(components.schemas).filter(([id]) => used.has(id)),
  );
  return {...document, components: {...components, schemas}};
}
