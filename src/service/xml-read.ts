// Request bodies are read by fast-xml-parser and decoded by our own decoder. The client uses other
// ones, on purpose: a fault of one side is then not hidden by the other. Entities are decoded here,
// because the parser leaves or guesses those it does not know.

import {XMLParser, XMLValidator} from 'fast-xml-parser';
import {z} from 'zod';
import type {ServiceResource} from './resource.ts';
import {ServiceRefusal} from './xml-write.ts';

/** A field of a request: a text, nil, or the texts of an array's items. */
export type RequestValue = string | null | readonly string[];

/** The fields of a request under their names with underscores. */
export type RequestFields = ReadonlyMap<string, RequestValue>;

const textSchema = z.object({'#text': z.string()});
const cdataSchema = z.object({'#cdata': z.array(textSchema)});
const attributesSchema = z.record(z.string(), z.string());
const nodesSchema = z.array(z.record(z.string(), z.unknown()));

interface ElementNode {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly nodes: z.infer<typeof nodesSchema>;
}

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  processEntities: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  cdataPropName: '#cdata',
});

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};
const forbiddenCharacter = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;
const MAX_DEPTH_PROBE = 64;

/**
 * Reads the payload of a create or update: one root element named after the resource, a child
 * element per field. The plural is accepted as root, too, because it is the root of a shown
 * customer, which a client may send back. Dashed and underscored names mean the same; `nil="true"`
 * is nil; an element with elements inside is an array. Values that are nested deeper belong to no
 * field that can be set: they are skipped, as in Rails.
 * @param charset - of the request's `Content-Type`; null if it names none
 * @throws {ServiceRefusal} 400 for a body that is no such document
 */
export function readRequest(
  body: Buffer,
  {element, table}: Pick<ServiceResource, 'element' | 'table'>,
  charset: string | null = null,
): RequestFields {
  const root = parseDocument(decode(body, charset));
  const isShown = underscore(root.name) === table && root.attributes['@_type'] !== 'array';
  if (underscore(root.name) !== element && !isShown)
    throw makeRefusal(`expected the root element ${element}, got ${root.name}`);
  const fields = new Map<string, RequestValue>();
  for (const child of listChildren(root)) {
    const name = underscore(child.name);
    if (isShown && name === element) throw makeRefusal(`expected one ${element}, got a list`);
    if (fields.has(name)) throw makeRefusal(`the element ${name} is given twice`);
    fields.set(name, readValue(child));
  }
  return fields;
}

function decode(body: Buffer, charset: string | null): string {
  const decoded = decodeBody(body, charset);
  if ('problem' in decoded) throw makeRefusal(decoded.problem);
  return decoded.text;
}

function parseDocument(text: string): ElementNode {
  refuseUnsafeText(text);
  const verdict = XMLValidator.validate(text);
  if (verdict !== true) throw makeRefusal(`${verdict.err.msg} (line ${verdict.err.line})`);
  const roots = listElements(parseNodes(text));
  const [root] = roots;
  if (root === undefined || roots.length > 1)
    throw makeRefusal('expected exactly one root element');
  return root;
}

function parseNodes(text: string): z.infer<typeof nodesSchema> {
  try {
    return nodesSchema.parse(parser.parse(text));
  } catch (cause) {
    if (cause instanceof Error) throw makeRefusal('the parser refuses it');
    throw cause;
  }
}

/**
 * Refuses text that must not reach the parser. CDATA and comments may hold anything, so they do not
 * count.
 */
function refuseUnsafeText(text: string): void {
  if (text.trim() === '') throw makeRefusal('the body is empty');
  if (forbiddenCharacter.test(text)) throw makeRefusal('it holds a character that XML 1.0 forbids');
  const markup = text.replaceAll(/<!\[CDATA\[.*?\]\]>|<!--.*?-->/gs, '');
  if (/<!DOCTYPE|<!ENTITY/i.test(markup)) throw makeRefusal('a document type is not allowed');
  if (isTooDeep(markup)) throw makeRefusal('it is nested too deeply');
}

/** The validator accepts any depth, and the parser's own limit is not guaranteed. */
function isTooDeep(markup: string): boolean {
  let depth = 0;
  for (const [tag] of markup.matchAll(/<[A-Za-z_/][^>]*>/g)) {
    if (tag.startsWith('</')) depth--;
    else if (!tag.endsWith('/>')) depth++;
    if (depth > MAX_DEPTH_PROBE) return true;
  }
  return false;
}

function readValue(element: ElementNode): RequestValue {
  if (element.attributes['@_nil'] === 'true')
    return element.attributes['@_type'] === 'array' ? [] : null;
  const items = listChildren(element);
  if (items.length > 0) return items.map((item) => readText(item).trim());
  return element.attributes['@_type'] === 'array' ? [] : readText(element);
}

function listChildren(element: ElementNode): ElementNode[] {
  return listElements(element.nodes);
}

function listElements(nodes: z.infer<typeof nodesSchema>): ElementNode[] {
  return nodes.flatMap((node) => {
    const name = Object.keys(node).find((key) => !key.startsWith('#') && key !== ':@');
    if (name === undefined) return [];
    const attributes = attributesSchema.parse(node[':@'] ?? {});
    return [{name, attributes, nodes: nodesSchema.parse(node[name])}];
  });
}

function readText(element: ElementNode): string {
  return element.nodes
    .map((node) => {
      const text = textSchema.safeParse(node);
      if (text.success) return decodeEntities(text.data['#text']);
      const cdata = cdataSchema.safeParse(node);
      return cdata.success ? cdata.data['#cdata'].map((part) => part['#text']).join('') : '';
    })
    .join('');
}

function decodeEntities(text: string): string {
  return text.replaceAll(/&([^;&\s]*);/g, (reference, name: string) => {
    const namedEntity = Object.hasOwn(entities, name) ? entities[name] : undefined;
    if (namedEntity !== undefined) return namedEntity;
    const code = /^#(?:(\d{1,8})|x([0-9a-fA-F]{1,6}))$/.exec(name);
    const codePoint =
      code === null
        ? Number.NaN
        : code[1] === undefined
          ? Number.parseInt(code[2] ?? '', 16)
          : Number(code[1]);
    if (!(codePoint <= 0x10ffff)) throw makeRefusal(`no such entity: ${reference}`);
    const character = String.fromCodePoint(codePoint);
    if (forbiddenCharacter.test(character))
      throw makeRefusal(`XML 1.0 forbids the character ${reference}`);
    return character;
  });
}

function underscore(name: string): string {
  return name.replaceAll('-', '_');
}

function makeRefusal(reason: string): ServiceRefusal {
  return new ServiceRefusal(400, `The request body is not a valid XML document: ${reason}.`);
}

/**
 * Decodes by RFC 7303: by byte order mark, else by the charset of the `Content-Type`, else by the
 * XML declaration, else as UTF-8.
 */
function decodeBody(
  body: Buffer,
  charset: string | null,
): {readonly text: string} | {readonly problem: string} {
  const encoding = findEncoding(body, charset);
  // The web standard treats ISO-8859-1 as windows-1252; XML does not.
  if (/^(iso-8859-1|latin1)$/.test(encoding)) return {text: body.toString('latin1')};
  try {
    return {text: new TextDecoder(toDecoderLabel(encoding), {fatal: true}).decode(body)};
  } catch (cause) {
    if (cause instanceof RangeError) return {problem: `unknown encoding ${encoding}: send UTF-8`};
    return {problem: `the body is not ${encoding.toUpperCase()}`};
  }
}

function findEncoding(body: Buffer, charset: string | null): string {
  const head = body.subarray(0, 3).toString('hex');
  if (head === 'efbbbf') return 'utf-8';
  if (head.startsWith('fffe') || head.startsWith('3c00')) return 'utf-16le';
  if (head.startsWith('feff') || head.startsWith('003c')) return 'utf-16be';
  const declared = /^<\?xml[^>]*\sencoding\s*=\s*["']([^"']*)["']/.exec(
    body.toString('latin1', 0, 200),
  );
  return (charset ?? declared?.[1] ?? 'utf-8').toLowerCase();
}

/** US-ASCII bytes are UTF-8; UTF-16 without a mark of its order is big endian (RFC 2781). */
function toDecoderLabel(encoding: string): string {
  if (encoding === 'us-ascii') return 'utf-8';
  return encoding === 'utf-16' ? 'utf-16be' : encoding;
}
