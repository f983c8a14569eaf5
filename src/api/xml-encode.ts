import {XMLBuilder} from 'fast-xml-parser';
import {RecordError} from '../core/errors.ts';
import {findForbidden} from './xml-document.ts';

/** The subject of a request: the root element of its document. */
export type Resource =
  | 'customer'
  | 'job'
  | 'job_charge'
  | 'employee'
  | 'time_entry'
  | 'task'
  | 'note';

/** How a field's text is checked before it is written. */
export type FieldKind = 'text' | 'decimal' | 'integer' | 'boolean' | 'ids';

/** The fields that a document may hold; any other is never sent. */
export type WritableFields = ReadonlyMap<string, FieldKind>;

/**
 * A field to write: its text, null to clear it, or ids for an array. Numbers and booleans come as
 * text.
 */
type FieldValue = string | null | readonly string[];

export type FieldsToSend = Readonly<Record<string, FieldValue>>;

/**
 * Writes the document of a create or update. Everything that reaches fast-xml-parser's builder was
 * checked first: the builder itself writes any tag name and any character it is given.
 * @param root - the resource; a note's text is `note` inside `note`
 * @param writable - the fields that may be written of it
 * @param fields - underscored names; in the order given. The service leaves an absent field as it
 *   is, null clears it
 * @returns the document, UTF-8 when written to the wire. Line ends are sent as LF: every XML reader
 *   converts them
 * @throws {RecordError} a field that may not be written, a text that is not of its field's kind, or
 *   a character that XML 1.0 does not have. It names the field and the character, never the text
 * @see docs/service.md "Endpoints"; docs/traps.md "The XML parser"
 */
export function encodeDocument(
  root: Resource,
  writable: WritableFields,
  fields: FieldsToSend,
): string {
  const children: Record<string, unknown> = Object.create(null);
  for (const [name, value] of Object.entries(fields)) {
    const kind = writable.get(name);
    if (kind === undefined)
      throw new RecordError(
        `${root}.${quoteName(name)}: expected a field that can be written, got another`,
      );
    children[name] = encodeValue(value, {kind, name, field: `${root}.${name}`});
  }
  return `<?xml version="1.0" encoding="UTF-8"?>\n${buildXml({[root]: children})}\n`;
}

interface TargetField {
  readonly kind: FieldKind;
  readonly name: string;
  /** `job.name`, for errors. */
  readonly field: string;
}

function encodeValue(value: FieldValue, target: TargetField): unknown {
  if (value === null) return {'@nil': 'true'};
  if (typeof value !== 'string') return encodeIds(value, target);
  if (!isOfKind(value, target.kind))
    throw new RecordError(`${target.field}: expected ${target.kind}, got something else`);
  checkCharacters(value, target.field);
  return value.replaceAll(/\r\n?/g, '\n');
}

function encodeIds(ids: readonly string[], {kind, name, field}: TargetField): unknown {
  if (kind !== 'ids') throw new RecordError(`${field}: expected ${kind}, got a list`);
  if (!ids.every((id) => isOfKind(id, 'integer')))
    throw new RecordError(`${field}: expected ids, got something else`);
  return {'@type': 'array', ...(ids.length === 0 ? {} : {[name.replace(/s$/, '')]: ids})};
}

function isOfKind(text: string, kind: FieldKind): boolean {
  switch (kind) {
    case 'text':
      return true;
    case 'decimal':
      return /^-?\d{1,30}(?:\.\d{1,30})?$/.test(text);
    case 'integer':
      return /^[1-9]\d{0,18}$/.test(text);
    case 'boolean':
      return text === 'true' || text === 'false';
    case 'ids':
      return false;
  }
}

function checkCharacters(text: string, field: string): void {
  const forbidden = findForbidden(text);
  if (forbidden === null) return;
  throw new RecordError(
    `${field}: expected characters of XML 1.0, got ${forbidden.name} at ${forbidden.at}; remove it`,
  );
}

function buildXml(document: unknown): string {
  const builder = new XMLBuilder({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    suppressBooleanAttributes: false,
    suppressEmptyNode: false,
    processEntities: true,
  });
  return builder.build(document);
}

function quoteName(name: string): string {
  return JSON.stringify(name.slice(0, 60));
}
