// The schemas of requests. Those of changes are built from the table definitions, so that a field
// that becomes writable is accepted automatically. The filters of changes are those of the console
// and the terminal, limited to the account of the key. The triggers, not this file, decide whether
// a change can be made at all, as for every author of SQL.

import {z} from 'zod';
import {parseTime} from '../api/times.ts';
import {type ChangeFilter, matchEveryChange} from '../changes/change.ts';
import {maxDecidedAtOnce, verbs} from '../changes/decisions.ts';
import {changeStates, longestBatch} from '../changes/states.ts';
import {RecordError} from '../core/errors.ts';
import {idPattern} from '../core/text.ts';
import {allWrites} from '../streams/all.ts';
import type {Writes} from '../streams/stream.ts';
import type {WriteRule} from '../streams/table.ts';
import {isStorableInstant} from '../streams/values.ts';

/**
 * Local text of the account's zone, or ISO with an offset. `readTime` checks whether the moment
 * exists.
 */
export const timePattern = new RegExp(
  [
    /^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(?::[0-5]\d(?:\.\d{1,9})?)?$/,
    /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/,
  ]
    .map(({source}) => source)
    .join('|'),
);

const localTimePattern =
  /^(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2})(?::([0-5]\d(?:\.\d{1,9})?))?$/;

/**
 * Reads a moment: `2027-03-14 09:30` by the clock of the account's zone, or ISO with an offset,
 * kept as it is. If the clock shows a local time twice, the first of the two is taken.
 * @returns ISO with an offset
 * @throws {RecordError} no such day or hour, or a local time that the clock skips
 */
export function readTime(text: string, timeZone: string): string {
  const [, year, month, day, hourText, minute, second = '00'] = localTimePattern.exec(text) ?? [];
  if (hourText === undefined) return parseTime(text, timeZone).instant;
  const hour = Number(hourText);
  if (hour > 23) throw new RecordError(`time: expected an hour from 00 to 23, got ${hourText}`);
  const clock = `${hour % 12 === 0 ? 12 : hour % 12}:${minute}${hour < 12 ? 'am' : 'pm'}`;
  const {instant} = parseTime(`${month}/${day}/${year} ${clock}`, timeZone);
  return instant.replace(/(?<=T\d\d:\d\d:)00/, second);
}

/** A value wanted: text for numbers too, so that no digit is lost. */
export type WantedValue = string | boolean | null | readonly string[];

/** A row, named in one of several ways. */
export interface Reference {
  readonly number?: string | undefined;
  readonly row_id?: string | undefined;
  readonly external_key?: string | undefined;
}

export interface ChangeRequest extends Omit<Reference, 'external_key'> {
  readonly table: string;
  /** In an update beside number or row_id, or in a create: the key to set; null removes it. */
  readonly external_key?: string | null | undefined;
  readonly operation: 'create' | 'update' | 'delete' | 'upsert';
  readonly fields?: Readonly<Record<string, WantedValue | undefined>> | undefined;
  readonly parent?: (Reference & {readonly index?: number | undefined}) | undefined;
  readonly hold?: boolean | undefined;
  /** A cursor of the feed: the changes are compared with what the author had read by then. */
  readonly seen?: string | undefined;
  /** The values that the author had read, of some fields. */
  readonly was?: Readonly<Record<string, WantedValue | undefined>> | undefined;
}

const maxChanges = 500;
const maxEmployees = 100;
/** A JSON number with more digits may be inexact, because parsers convert it to binary. */
const exactDigits = 15;
/**
 * If rounding a number to `exactDigits` digits removes at least this many decimals, the rounded
 * number was meant; the triggers drop the rest.
 */
const roundedDecimals = 4;

const isText = (text: string) => text.isWellFormed() && !text.includes('\0');

/** Any text that Postgres can hold. */
export const textSchema = z
  .string()
  .refine(isText, {error: 'expected text without U+0000 and without half a character'});

const expectedNumber = 'expected a number from 1 on; one of more than 15 digits as text';
const numberSchema = z
  .union([z.string().regex(idPattern, {error: expectedNumber}), z.int().min(1)], {
    error: expectedNumber,
  })
  .transform(String);

const expectedDecimal = `expected a decimal number; one of more than ${exactDigits} digits as text`;
const decimalSchema = z
  .union(
    [
      z.string().regex(/^-?\d{1,30}(\.\d{1,30})?$/, {error: expectedDecimal}),
      z.number().refine(isExact, {error: expectedDecimal}),
    ],
    {error: expectedDecimal},
  )
  .transform(String);

const instantSchema = z
  .string()
  .regex(timePattern, {
    error: "expected 2027-03-14 09:30 in the account's time zone, or 2027-03-14T09:30:00-04:00",
  })
  .describe(
    "2027-03-14 09:30 in the account's time zone, or ISO 8601 with an offset. " +
      'Seconds are cut off.',
  );

const fieldSchemas = {
  text: textSchema.nullable(),
  integer: numberSchema.nullable(),
  decimal: decimalSchema.nullable(),
  boolean: z.boolean({error: 'expected true or false'}).nullable(),
  instant: instantSchema.nullable(),
  ids: z.array(numberSchema).max(maxEmployees).describe('All that are assigned: employees.id.'),
} as const;

const externalKeySchema = textSchema
  .min(1)
  .max(200)
  .describe('Key of the row in the system of the API key; unique among the rows of a table.');
const rowIdSchema = numberSchema.describe('row_id of the row.');
const holdSchema = z
  .boolean()
  .optional()
  .describe('True keeps the change here until a person releases it.');

const hasOneValue = (reference: object) =>
  Object.values(reference).filter((value) => value !== undefined).length === 1;

const seenSchema = z
  .string()
  .min(1)
  .max(60)
  .refine(isText, {error: 'expected a cursor that the feed gave'})
  .optional()
  .describe(
    'A cursor of the feed, up to which you have read: a field that somebody else changed since ' +
      'then becomes a conflict, and is not overwritten.',
  );

const referenceShape = {
  number: numberSchema.optional().describe('Number of the record at the service.'),
  row_id: rowIdSchema.optional(),
  external_key: externalKeySchema.optional(),
};

const exactlyOneReference = [
  ({number, row_id, external_key}: Reference) => hasOneValue({number, row_id, external_key}),
  {error: 'expected one of number, row_id, external_key'},
] as const;

const hasOneBaseline = ({seen: cursor, was}: Pick<ChangeRequest, 'seen' | 'was'>) =>
  cursor === undefined || was === undefined;
const oneBaselineError = {path: ['seen'], error: 'expected seen or was, not both'};

const tableNames = allWrites.map(({table}) => table.name).join(', ');

/** One change, as a request states it. */
export const changeRequestSchema = z
  .discriminatedUnion('table', requireNonEmpty(allWrites.map(buildTableSchema)), {
    error: (issue) =>
      issue.code === 'invalid_union' ? `expected one of ${tableNames}` : 'expected an object',
  })
  .describe('A change of one row.');

/**
 * One change, or several that are made together or not at all. The document names the second form
 * alone.
 */
export const changesRequestSchema = z.union([
  changeRequestSchema,
  z
    .array(changeRequestSchema)
    .min(1)
    .max(maxChanges)
    .describe('One change may be sent without a list; then its answer has no list, too.'),
]);

function buildTableSchema(writes: Writes) {
  return z.discriminatedUnion(
    'operation',
    [
      buildCreateSchema(writes),
      buildUpdateSchema(writes),
      buildUpsertSchema(writes),
      buildDeleteSchema(writes),
    ],
    {
      error: 'expected one of create, update, upsert, delete',
    },
  );
}

/** The fields that a create or an update accepts. */
function listAcceptedRules({table}: Writes): readonly WriteRule[] {
  return table.writable.filter(({onCreate, onUpdate}) => onCreate || onUpdate);
}

/** What a change of any operation has. */
function buildCommonShape({table}: Writes) {
  return {table: z.literal(table.name), hold: holdSchema, seen: seenSchema};
}

function buildWasSchema(writes: Writes) {
  return buildFieldsSchema(writes, listAcceptedRules(writes))
    .optional()
    .describe('The values of some fields as you had read them, in place of seen.');
}

function buildCreateSchema(writes: Writes) {
  const {parent, table} = writes;
  const rules = table.writable.filter(({onCreate}) => onCreate);
  const shape = {
    ...buildCommonShape(writes),
    operation: z.literal('create'),
    external_key: externalKeySchema.optional(),
    fields: buildFieldsSchema(writes, rules).optional(),
  };
  return parent === null
    ? buildStrictObject(shape)
    : buildStrictObject({...shape, parent: buildParentSchema(parent.table)});
}

/**
 * A row that the service does not have yet accepts the fields of a create: the triggers check that.
 */
function buildUpdateSchema(writes: Writes) {
  return buildStrictObject({
    ...buildCommonShape(writes),
    operation: z.literal('update'),
    ...referenceShape,
    external_key: externalKeySchema
      .nullable()
      .optional()
      .describe(
        'Alone the key of the row; beside number or row_id the key to set, null for none, ' +
          'which a deleted row allows, too.',
      ),
    fields: buildFieldsSchema(writes, listAcceptedRules(writes)).optional(),
    was: buildWasSchema(writes),
  })
    .describe('Named by one of number, row_id, external_key.')
    .refine(
      ({number, row_id, external_key}) =>
        hasOneValue({number, row_id}) ||
        (number === undefined && row_id === undefined && typeof external_key === 'string'),
      exactlyOneReference[1],
    )
    .refine(hasOneBaseline, oneBaselineError)
    .refine(
      ({fields: fieldValues = {}, ...reference}) =>
        Object.keys(fieldValues).length > 0 || setsKey(reference),
      {
        path: ['fields'],
        error: 'expected at least one field',
        // Fields of other names are reported already.
        when: ({issues}) => issues.length === 0,
      },
    );
}

/**
 * An update if a row has the key, otherwise a create: the triggers check which fields each accepts.
 */
function buildUpsertSchema(writes: Writes) {
  const {parent} = writes;
  const shape = {
    ...buildCommonShape(writes),
    operation: z.literal('upsert'),
    external_key: externalKeySchema,
    fields: buildFieldsSchema(writes, listAcceptedRules(writes)),
  };
  const schema =
    parent === null
      ? buildStrictObject(shape)
      : buildStrictObject({...shape, parent: buildParentSchema(parent.table).optional()});
  return schema.describe('Updates the row that has the key, or creates one with it.');
}

function buildDeleteSchema(writes: Writes) {
  return buildStrictObject({
    ...buildCommonShape(writes),
    operation: z.literal('delete'),
    ...referenceShape,
    was: buildWasSchema(writes),
  })
    .refine(...exactlyOneReference)
    .refine(hasOneBaseline, oneBaselineError);
}

/** Whether an update sets the key of its row: then number or row_id names the row. */
export function setsKey({
  number,
  row_id,
  external_key,
}: Pick<ChangeRequest, 'number' | 'row_id' | 'external_key'>): boolean {
  return external_key !== undefined && (number !== undefined || row_id !== undefined);
}

/** Whether an update only removes the key of its row. Such a row may be deleted. */
export function onlyRemovesKey(request: ChangeRequest): boolean {
  const {operation, external_key, fields = {}} = request;
  const isUpdateWithoutFields = operation === 'update' && Object.keys(fields).length === 0;
  return isUpdateWithoutFields && setsKey(request) && external_key === null;
}

function buildFieldsSchema({table}: Writes, rules: readonly WriteRule[]) {
  const shape = Object.fromEntries(
    rules.flatMap(({name, kind}) => {
      const description = table.columns.find((column) => column.name === name)?.comment;
      const schema = fieldSchemas[kind].optional();
      return [[name, description === undefined ? schema : schema.describe(description)]];
    }),
  );
  return buildStrictObject(shape);
}

function buildParentSchema(table: string) {
  const index = z.int().min(0).optional().describe('Place of its create in this array, from 0.');
  return buildStrictObject({...referenceShape, index})
    .refine(hasOneValue, {error: 'expected one of number, row_id, external_key, index'})
    .describe(`The row of ${table} that the new one hangs on.`);
}

/** A strict object: if the input has an unknown key, the error lists the known ones. */
function buildStrictObject<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: ({code}) => (code === 'unrecognized_keys' ? `expected one of ${names}` : undefined),
  });
}

function isExact(value: number): boolean {
  const digits = String(value);
  if (!/^-?\d+(\.\d+)?$/.test(digits)) return false;
  if (digits.replaceAll(/\D/g, '').length <= exactDigits) return true;
  const rounded = Number(value.toPrecision(exactDigits));
  return countDecimals(rounded) + roundedDecimals <= countDecimals(value);
}

function countDecimals(value: number): number {
  return String(value).split('.')[1]?.length ?? 0;
}

function requireNonEmpty<T>([head, ...rest]: readonly T[]): [T, ...T[]] {
  if (head === undefined) throw new TypeError('nothing can be written');
  return [head, ...rest];
}

const [firstTable = '', ...otherTables] = allWrites.map(({table}) => table.name);

export const changeNumberSchema = z
  .string()
  .regex(idPattern, {error: 'expected the number of a change, as text'});

/** A text of one line, which Postgres can hold. */
export const buildLineSchema = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a line may not have
    .regex(/^[^\u0000-\u001f\u007f]*$/, {error: 'expected a line without control characters'});

/** The name of a transaction. */
export const batchNameSchema = buildLineSchema(longestBatch).min(1);

/** The filters of changes; a filter that is left out matches every change. */
export const filterShape = {
  state: z.enum([...changeStates, 'altered', 'needy']).optional(),
  table: z.enum([firstTable, ...otherTables]).optional(),
  by: buildLineSchema(200)
    .optional()
    .describe('The database user, the person or the application that made it.'),
  since: z
    .string()
    .refine(isStorableInstant, {
      error: 'expected ISO 8601 with an offset, such as 2027-03-14T09:30:00Z',
    })
    .meta({format: 'date-time'})
    .optional()
    .describe('Made at this instant or later.'),
  batch: batchNameSchema.optional().describe('The name of the transaction.'),
  transaction: z
    .string()
    .regex(idPattern, {error: 'expected the number of a transaction'})
    .optional(),
};

type Filters = z.infer<z.ZodObject<typeof filterShape>>;

export function toChangeFilter(accountId: string, filters: Filters): ChangeFilter {
  const {
    state = null,
    table = null,
    by = null,
    since = null,
    batch = null,
    transaction = null,
  } = filters;
  return {...matchEveryChange([accountId]), state, table, by, since, batch, transaction};
}

export const changeSelectionShape = {
  change_ids: z.array(changeNumberSchema).min(1).max(maxDecidedAtOnce).optional(),
  filter: z
    .strictObject(filterShape)
    .optional()
    .describe('Every change that matches; {} means every one of the account.'),
};

export const oneSelectionError = {error: 'expected either change_ids or filter'};

export function hasOneSelection(body: {change_ids?: unknown; filter?: unknown}): boolean {
  return (body.change_ids === undefined) !== (body.filter === undefined);
}

/** A request, as it was sent. */
export interface SentQuery<Schema extends z.ZodType> {
  readonly body: z.infer<Schema>;
  /** The address it came from. */
  readonly address: string;
}

/** The requested numbers that the account of the key does not have. */
export function listUnknown(requestedIds: readonly string[], knownIds: readonly string[]) {
  const knownIdSet = new Set(knownIds);
  return [...new Set(requestedIds)]
    .filter((id) => !knownIdSet.has(id))
    .map((id) => ({
      change_id: id,
      state: null,
      refusal: `change ${id}: no change has that number`,
    }));
}

/** The body of a request for decisions. */
export const decideRequestSchema = z
  .strictObject({
    decision: z.enum(verbs),
    ...changeSelectionShape,
    reason: buildLineSchema(500).optional().describe('Of cancel: why.'),
    take: z.enum(['service', 'warehouse']).optional().describe('Of resolve: whose value counts.'),
  })
  .refine(hasOneSelection, oneSelectionError)
  .refine(({decision, take}) => (decision === 'resolve') === (take !== undefined), {
    error: 'expected take with resolve, and with nothing else',
  });

/** A request for decisions. */
export type DecideRequest = SentQuery<typeof decideRequestSchema>;
