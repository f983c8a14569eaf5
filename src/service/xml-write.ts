// How answers are written: lists and records in the two dialects of the service, and refusals. The
// tags of a resource are made once, so that a page is little more than a join of strings. A refusal
// is an answer, not a failure: it is thrown because a transaction has to be unwound on the way to
// the client, and it never leaves the service.

import {capitalise} from '../core/text.ts';
import type {AccountTime} from './account-time.ts';
import type {ServiceField, ServiceFields, ServiceResource} from './resource.ts';

/** A record with its embedded records, ready to be written. */
export interface Node extends Writable {
  readonly branches: readonly Branch[];
}

/** One embedded association: a list, or one record. */
export interface Branch {
  readonly resource: ServiceResource;
  readonly element: string;
  /** The items' element when it is a list; null for one record. */
  readonly item: string | null;
  /** The Ruby class, which the observed dialect adds if the element's name does not give it. */
  readonly className: string | null;
  readonly nodes: readonly Node[];
}

/** The tags around a record's fields, and the columns between them. */
interface Frame {
  readonly open: string;
  readonly close: string;
  readonly depth: number;
  readonly columns: Columns;
}

/**
 * The columns of a resource at one depth. Most fields of a record are nil, so a run of nil fields
 * is cut as one piece out of a text in which all of them are.
 */
interface Columns {
  readonly list: readonly Column[];
  /** The place of a field in `list`; fields of more than one value are in `wholes` instead. */
  readonly places: ReadonlyMap<string, number>;
  readonly wholes: readonly number[];
  readonly nils: string;
  /** The start of each column in `nils`; one more for its end. */
  readonly starts: readonly number[];
}

const HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n';

/**
 * Writes answers as Ruby's Builder does: two blanks of indent, line breaks raw (docs/service.md
 * "Text and white space").
 */
export class XmlWriter {
  readonly #dialect: Dialect;
  readonly #columns = new Map<string, Columns>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /**
   * A list as UTF-8. Each record is converted to bytes separately: one emoji would make a wide
   * string of the whole page.
   * @param only - the fields to write, in column order; null for all
   */
  writeList(
    resource: ServiceResource,
    nodes: readonly Node[],
    only: ReadonlySet<string> | null,
  ): Buffer {
    const list = this.#dialect.tag(resource.table);
    const type = this.#dialect.type('array');
    if (nodes.length === 0) return Buffer.from(`${HEADER}<${list}${type}/>\n`);
    const frame = this.#frame(resource.element, {
      depth: 1,
      columns: this.#columnsOf(resource, 2, only),
    });
    return Buffer.concat([
      Buffer.from(`${HEADER}<${list}${type}>\n`),
      ...nodes.map((node) => Buffer.from(this.#writeElement(frame, node))),
      Buffer.from(`</${list}>\n`),
    ]);
  }

  /**
   * One record. A customer's root is plural in the observed dialect: it was recorded so on two
   * accounts.
   */
  writeRecord(resource: ServiceResource, node: Node, only: ReadonlySet<string> | null): Buffer {
    const isPlural = this.#dialect.name === 'observed' && resource.table === 'customers';
    const element = isPlural ? resource.table : resource.element;
    const frame = this.#frame(element, {depth: 0, columns: this.#columnsOf(resource, 1, only)});
    return Buffer.from(HEADER + this.#writeElement(frame, node));
  }

  #frame(
    element: string,
    {
      depth,
      columns,
      className = null,
    }: Pick<Frame, 'depth' | 'columns'> & {readonly className?: string | null},
  ): Frame {
    const indent = '  '.repeat(depth);
    const tag = this.#dialect.tag(element);
    return {
      open: `${indent}<${tag}${this.#dialect.type(className)}>\n`,
      close: `${indent}</${tag}>\n`,
      depth,
      columns,
    };
  }

  #writeElement({open, close, depth, columns}: Frame, node: Node): string {
    let text = open + writeFields(columns, node);
    for (const branch of node.branches) text += this.#writeBranch(branch, depth + 1);
    return text + close;
  }

  #writeBranch(branch: Branch, depth: number): string {
    const {resource, element, item, className, nodes} = branch;
    if (item === null) {
      const frame = this.#frame(element, {
        depth,
        columns: this.#columnsOf(resource, depth + 1, null),
        className,
      });
      return nodes.map((node) => this.#writeElement(frame, node)).join('');
    }
    const indent = '  '.repeat(depth);
    const tag = this.#dialect.tag(element);
    const type = this.#dialect.type('array');
    if (nodes.length === 0) return `${indent}<${tag}${type}/>\n`;
    const columns = this.#columnsOf(resource, depth + 2, null);
    const frame = this.#frame(item, {depth: depth + 1, columns, className});
    let text = `${indent}<${tag}${type}>\n`;
    for (const node of nodes) text += this.#writeElement(frame, node);
    return `${text}${indent}</${tag}>\n`;
  }

  #columnsOf(resource: ServiceResource, depth: number, only: ReadonlySet<string> | null): Columns {
    if (only !== null)
      return makeColumns(
        this.#dialect.columnsOf(resource, depth).filter((column) => only.has(column.name)),
      );
    const key = `${resource.table}/${depth}`;
    const cached = this.#columns.get(key);
    if (cached !== undefined) return cached;
    const columns = makeColumns(this.#dialect.columnsOf(resource, depth));
    this.#columns.set(key, columns);
    return columns;
  }
}

function makeColumns(list: readonly Column[]): Columns {
  const starts = [0];
  let nils = '';
  for (const {nil} of list) {
    nils += nil;
    starts.push(nils.length);
  }
  const places = new Map(list.map(({name}, position) => [name, position]));
  const wholes = list.flatMap(({writeWhole}, position) => (writeWhole === null ? [] : [position]));
  for (const position of wholes) places.delete(list[position]?.name ?? '');
  return {list, places, wholes, nils, starts};
}

/**
 * Goes by the fields that are there, not by the columns: of 113 fields of a job some 35 are not
 * nil.
 */
function writeFields({list, places, wholes, nils, starts}: Columns, node: Node): string {
  const positions = [...wholes];
  for (const name in node.fields) {
    const position = places.get(name);
    if (position !== undefined && node.fields[name] !== null) positions.push(position);
  }
  positions.sort(compareNumbers);
  let text = '';
  let writtenTo = 0;
  for (const position of positions) {
    const column = list[position];
    if (column === undefined) continue;
    if (writtenTo < position) text += nils.slice(starts[writtenTo], starts[position]);
    text +=
      column.writeWhole === null
        ? column.open + column.writeValue(node.fields[column.name] ?? '') + column.close
        : column.writeWhole(node);
    writtenTo = position + 1;
  }
  return text + nils.slice(starts[writtenTo]);
}

function compareNumbers(left: number, right: number): number {
  return left - right;
}

/** The body of every error: `<errors>` with one `<error>` a text, the same in both dialects. */
export function writeErrors(texts: readonly string[]): string {
  const lines = texts.map((text) => `  <error>${escapeText(text)}</error>\n`).join('');
  return `${HEADER}<errors>\n${lines}</errors>\n`;
}

/**
 * `observed`: as the real service was recorded (docs/service.md "Envelopes"). `documented`: as the
 * specification reads.
 */
export type DialectName = 'observed' | 'documented';

/** The parts of a record that a column may use when it is written. */
interface Writable {
  readonly fields: ServiceFields;
  /** Internal ids of the employees assigned to a job; empty for everything else. */
  readonly employeeIds: readonly string[];
}

/** One field of a resource, ready to be written at one depth. */
interface Column {
  readonly name: string;
  readonly nil: string;
  readonly open: string;
  readonly close: string;
  writeValue(value: string): string;
  /** Writes the whole field, if it has more than one value. */
  readonly writeWhole: ((record: Writable) => string) | null;
}

/** Names, attributes and columns of one dialect. */
export class Dialect {
  readonly name: DialectName;
  readonly #time: AccountTime;

  constructor(name: DialectName, time: AccountTime) {
    this.name = name;
    this.#time = time;
  }

  /** `service_zip_code` or `service-zip-code`. */
  tag(name: string): string {
    return this.name === 'observed' ? name.replaceAll('_', '-') : name;
  }

  /** ` type="array"`; the documented dialect has no types. */
  type(type: string | null): string {
    return type === null || this.name === 'documented' ? '' : ` type="${type}"`;
  }

  /** The columns of a resource whose fields are at `depth`. */
  columnsOf(resource: ServiceResource, depth: number): readonly Column[] {
    return resource.fields.map((field) => this.#column(resource, field, '  '.repeat(depth)));
  }

  #column(resource: ServiceResource, field: ServiceField, indent: string): Column {
    const tag = this.tag(field.name);
    const type = this.type(field.type === 'text' ? null : field.type);
    return {
      name: field.name,
      nil: `${indent}<${tag}${type} nil="true"/>\n`,
      open: `${indent}<${tag}${type}>`,
      close: `</${tag}>\n`,
      writeValue: this.#valueWriter(resource, field),
      writeWhole: this.#wholeWriter(field, {tag, indent}),
    };
  }

  #valueWriter(resource: ServiceResource, field: ServiceField): (value: string) => string {
    if (field.type === 'text') return escapeText;
    if (field.type !== 'dateTime') return (value) => value;
    const textual = resource.textualTime;
    if (this.name === 'documented' && textual !== null && textual.name === field.name)
      return (value) => this.#time.writeTextual(value, textual.shape);
    return (value) => this.#time.writeIso(value);
  }

  #wholeWriter(
    field: ServiceField,
    {tag, indent}: {readonly tag: string; readonly indent: string},
  ): Column['writeWhole'] {
    // The only array among the columns is chosen_days_of_week, and it was empty in every recording.
    if (field.type === 'array') return () => `${indent}<${tag}${this.type('array')}/>\n`;
    if (field.type === 'allocations') return (record) => this.#writeAllocations(record, indent);
    return null;
  }

  /**
   * Percent shares of the house and of each employee (docs/service.md "Nested records"). Their type
   * follows the value, row by row.
   */
  #writeAllocations({employeeIds, fields}: Writable, indent: string): string {
    // 5 of 167 recorded amounts were integers: a reader must not rely on the type.
    const isInteger = Number(fields.id) % 33 === 0;
    const shares = [null, ...employeeIds].map((id) =>
      this.#allocation(id, isInteger && id !== null),
    );
    const expensesTag = this.tag('include_expenses');
    const lines = [
      `<${this.tag('job_allocations')}>`,
      `  <allocations${this.type('array')}>`,
      ...shares.flat(),
      '  </allocations>',
      `  <${expensesTag}${this.type('boolean')}>true</${expensesTag}>`,
      `</${this.tag('job_allocations')}>`,
    ];
    return lines.map((line) => `${indent}${line}\n`).join('');
  }

  #allocation(id: string | null, isWhole: boolean): string[] {
    const typeTag = this.tag('allocation_type');
    return [
      '    <allocation>',
      id === null ? '      <id nil="true"/>' : `      <id${this.type('integer')}>${id}</id>`,
      isWhole
        ? `      <amount${this.type('integer')}>0</amount>`
        : `      <amount${this.type('float')}>0.0</amount>`,
      `      <edited${this.type('boolean')}>false</edited>`,
      `      <manual${this.type('boolean')}>false</manual>`,
      `      <${typeTag}>${id === null ? 'house' : 'employee'}</${typeTag}>`,
      '    </allocation>',
    ];
  }
}

const needsEscape = /[^\t\n\r\u0020-\u0025\u0027-\u003B\u003D\u003F-\uD7FF]/;
const forbidden = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/**
 * A text as Ruby's Builder writes it: only `&`, `<`, `>` escaped; characters that XML 1.0 cannot
 * carry are dropped.
 */
export function escapeText(text: string): string {
  if (!needsEscape.test(text)) return text;
  return text
    .replace(forbidden, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

/**
 * An error answer: its status and the texts of its `<errors>` body (docs/service.md "Errors and
 * headers").
 */
export class ServiceRefusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly texts: readonly string[];

  constructor(status: number, ...texts: readonly string[]) {
    super(texts.join('; '));
    this.status = status;
    this.texts = texts;
  }
}

/** 400 `Invalid customer.`: the real service's answer for an unknown number. */
export function makeUnknownRefusal(element: string): ServiceRefusal {
  return new ServiceRefusal(400, `Invalid ${element.replaceAll('_', ' ')}.`);
}

/** 422 with one text per problem, in the words of Rails. */
export function makeInvalidRefusal(problems: readonly string[]): ServiceRefusal {
  return new ServiceRefusal(422, ...problems);
}

/** `job_type_id` in the form that Rails shows to a person: `Job type`. */
export function humanize(field: string): string {
  return capitalise(field.replace(/_id$/, '').replaceAll('_', ' '));
}
