// The schemas of the answers, built from the table definitions: a new column appears here
// automatically.

import {z} from 'zod';
import {attemptOutcomes, changeStates} from '../changes/states.ts';
import {type Column, changeOperations, type MirrorTable, ownColumns} from '../streams/table.ts';

/** Numbers are text: no digit is lost. */
const numberSchema = z.string();
const instantSchema = z.string().meta({format: 'date-time'});
/** The value of a field. */
export const valueSchema = z.union([z.string(), z.null(), z.array(z.string())]);
const valuesSchema = z.record(z.string(), valueSchema);

const changeShape = {
  change_id: numberSchema,
  table: z.string(),
  row_id: numberSchema.describe(
    'row_id of the row in its table; it has one before the service gives a number.',
  ),
  operation: z.enum(changeOperations),
  number: numberSchema
    .nullable()
    .describe('Number of the record at the service; null until it has given one.'),
  parent_row_id: numberSchema.nullable(),
  external_key: z.string().nullable().describe('Key of the row in the system of the API key.'),
  fields: valuesSchema.describe(
    'The values wanted: text, null, or a list of texts; instants in UTC.',
  ),
  base: valuesSchema.describe('What the same fields held before.'),
  state: z
    .enum(changeStates)
    .describe('done, rejected and cancelled are final; held and conflict wait for a person.'),
  reason: z.string().nullable().describe('Why it is in this state.'),
  waits_for: numberSchema.nullable().describe('The change that must be settled first.'),
  requested_at: instantSchema,
  requested_by: z.string(),
  application: z.string().nullable(),
  batch: z.string().nullable().describe('The name of the transaction that made it.'),
  transaction_id: numberSchema
    .nullable()
    .describe('The transaction that made it, or edited it last.'),
  undoes: z.array(numberSchema).nullable().describe('The changes that it takes back.'),
  due_at: instantSchema,
  sends: z.int(),
  sent_at: instantSchema.nullable(),
  settled_at: instantSchema.nullable(),
  result: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('What the service made of it, where that is not what was requested.'),
};

export const changeSchema = z
  .object(changeShape)
  .describe('A change on its way to the service, or settled.');

export const unchangedSchema = z
  .object({
    state: z.literal('unchanged'),
    table: z.string(),
    row_id: numberSchema,
    operation: z.enum(changeOperations),
    number: numberSchema.nullable(),
    external_key: z.string().nullable(),
  })
  .describe('Nothing is sent: the row says so already, or its key alone was set.');

const resultSchema = z.union([changeSchema, unchangedSchema]);
export const resultsSchema = z
  .union([
    resultSchema,
    z.object({changes: z.array(resultSchema)}).describe('The answer to an array, in its order.'),
  ])
  .describe('202 where a change is on its way now; 200 where nothing is new.');

/** A change with its attempts and its conflicts. */
export const storySchema = z.object({
  ...changeShape,
  docs: z
    .string()
    .nullable()
    .describe(
      'The code of what is stuck, with cause and fix: A13 is in docs/alerts.md; null where ' +
        'nothing has to be fixed.',
    ),
  attempts: z.array(
    z.object({
      method: z.string(),
      path: z.string(),
      started_at: instantSchema,
      ended_at: instantSchema.nullable(),
      outcome: z.enum(attemptOutcomes).nullable(),
      status: z.int().nullable(),
      answer: z.string().nullable().describe('What the service said, in short.'),
    }),
  ),
  conflicts: z.array(
    z.object({
      field: z.string(),
      base_value: z.unknown(),
      warehouse_value: z.unknown(),
      service_value: z.unknown(),
      rule: z.string(),
      winner: z.enum(['service', 'warehouse']).nullable(),
      found_at: instantSchema,
      decided_at: instantSchema.nullable(),
      decided_by: z.string().nullable(),
    }),
  ),
});

export type ChangeAnswer = z.infer<typeof changeSchema>;
export type Result = z.infer<typeof resultSchema>;
export type Story = z.infer<typeof storySchema>;

const columnSchemas: Readonly<Record<Column['type'], z.ZodType>> = {
  text: z.string().nullable(),
  integer: numberSchema.nullable(),
  decimal: numberSchema.nullable(),
  float: z.number().nullable(),
  boolean: z.boolean().nullable(),
  instant: instantSchema.nullable(),
  nested: z.unknown(),
};

const ownColumnSchemas = {
  row_id: numberSchema,
  external_key: z.string().nullable(),
  parent_row_id: numberSchema.nullable(),
  extra: z.record(z.string(), z.unknown()),
  _first_seen_at: instantSchema,
  _changed_at: instantSchema,
  _deleted_at: instantSchema.nullable(),
  _pending: z.boolean().nullable(),
} as const satisfies Record<string, z.ZodType>;

/** The columns of a table that the API returns, in order: all but those of our own bookkeeping. */
export function listApiColumns(table: MirrorTable): string[] {
  return Object.keys(buildRowShape(table));
}

/** A row of a table. */
export function buildRowSchema(table: MirrorTable) {
  return z.object(buildRowShape(table)).describe(table.comment);
}

/** A page of rows. */
export function buildRowsSchema(rowSchema: z.ZodType) {
  return z
    .object({
      rows: z.array(rowSchema),
      next_page: z.string().nullable().describe('Give it as page to continue; null at the end.'),
    })
    .describe('A page of rows, in order of row_id.');
}

function buildRowShape({columns}: MirrorTable): Record<string, z.ZodType> {
  const {row_id, external_key, parent_row_id, ...rest} = ownColumnSchemas;
  return {
    ...addDescriptions({row_id, external_key, parent_row_id}),
    ...Object.fromEntries(
      columns.map(({name, type, comment}) => [name, columnSchemas[type].describe(comment)]),
    ),
    ...addDescriptions(rest),
  };
}

function addDescriptions(shape: Readonly<Record<string, z.ZodType>>): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => [
      name,
      schema.describe(ownColumns[name] ?? name),
    ]),
  );
}
