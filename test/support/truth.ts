// The records of the service, read without our own reader: fetched page by page from the service in
// the observed dialect, parsed by another parser. Tests compare the warehouse with them.

import {XMLParser} from 'fast-xml-parser';
import {request} from 'undici';

/**
 * One record: its plain fields (null is nil), and the records embedded in it by the name of their
 * element.
 */
export interface TrueRecord {
  readonly fields: ReadonlyMap<string, string | null>;
  readonly embedded: ReadonlyMap<string, readonly TrueRecord[]>;
}

type Node = Record<string, unknown> & {':@'?: Record<string, string>};

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  htmlEntities: true,
});

/** Every record of a list, in no particular order. */
export async function readTruth(
  service: {readonly url: string; readonly token: string},
  list: {readonly path: string; readonly include: readonly string[]; readonly isPaged: boolean},
): Promise<TrueRecord[]> {
  const records: TrueRecord[] = [];
  for (let page = 1; ; page++) {
    const include = list.include.length > 0 ? `&include=${list.include.join(',')}` : '';
    const credentials = Buffer.from(`${service.token}:${service.token}`).toString('base64');
    const authorization = `Basic ${credentials}`;
    const answer = await request(`${service.url}${list.path}?page=${page}${include}`, {
      headers: {authorization},
    });
    const nodes = parser.parse(await answer.body.text()) as Node[];
    const root = nodes.find((node) =>
      Object.keys(node).some((name) => name !== '?xml' && name !== ':@' && name !== '#text'),
    );
    const found = elementsOf(root).map(([, node]) => toRecord(node));
    records.push(...found);
    if (found.length === 0 || !list.isPaged) return records;
  }
}

function toRecord(node: Node): TrueRecord {
  const fields = new Map<string, string | null>();
  const embedded = new Map<string, TrueRecord[]>();
  for (const [name, child] of elementsOf(node)) {
    const attributes = child[':@'] ?? {};
    const inside = elementsOf(child);
    const isArray = attributes.type === 'array';
    if (isArray)
      embedded.set(
        name,
        inside.map(([, item]) => toRecord(item)),
      );
    else if (inside.length > 0) embedded.set(name, [toRecord(child)]);
    else fields.set(name, attributes.nil === 'true' ? null : textOf(child));
  }
  return {fields, embedded};
}

function childrenOf(node: Node | undefined): Node[] {
  const name = Object.keys(node ?? {}).find((key) => key !== ':@');
  const children = name === undefined ? [] : node?.[name];
  return Array.isArray(children) ? (children as Node[]) : [];
}

function elementsOf(node: Node | undefined): [string, Node][] {
  return childrenOf(node).flatMap((child): [string, Node][] => {
    const name = Object.keys(child).find((key) => key !== ':@' && key !== '#text');
    return name === undefined ? [] : [[name.replaceAll('-', '_'), child]];
  });
}

/** An XML parser gives every line break as LF. */
function textOf(node: Node): string {
  const text = childrenOf(node)
    .map((child) => String(child['#text'] ?? ''))
    .join('');
  return text.replaceAll('\r\n', '\n').replaceAll('\r', '\n');
}
