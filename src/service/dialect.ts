// The two ways in which a record is written. The tags of a resource are made once, so that a page
// is little more than a join of strings.

import type {AccountTime} from './account-time.ts';
import type {Field, Fields} from './field.ts';
import type {Resource} from './resource.ts';
import {escapeText} from './xml-text.ts';

/**
 * `observed`: as the real service was recorded (docs/service.md "Envelopes"). `documented`: as the
 * specification reads.
 */
export type DialectName = 'observed' | 'documented';

/** The parts of a record that a column may draw on when it is written. */
export interface Writable {
  readonly fields: Fields;
  /** Internal ids of the employees assigned to a job; empty for everything else. */
  readonly employeeIds: readonly string[];
}

/** One field of a resource, ready to be written at one depth. */
export interface Column {
  readonly name: string;
  readonly nil: string;
  readonly open: string;
  readonly close: string;
  writeValue(value: string): string;
  /** Writes the whole field, where it is more than one value. */
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

  /** The columns of a resource whose fields stand at `depth`. */
  columnsOf(resource: Resource, depth: number): readonly Column[] {
    return resource.fields.map((field) => this.#column(resource, field, '  '.repeat(depth)));
  }

  #column(resource: Resource, field: Field, indent: string): Column {
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

  #valueWriter(resource: Resource, field: Field): (value: string) => string {
    if (field.type === 'text') return escapeText;
    if (field.type !== 'dateTime') return (value) => value;
    const textual = resource.textualTime;
    if (this.name === 'documented' && textual !== null && textual.name === field.name)
      return (value) => this.#time.writeTextual(value, textual.shape);
    return (value) => this.#time.writeIso(value);
  }

  #wholeWriter(
    field: Field,
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
    // 5 of 167 recorded amounts were integers: a reader must not take the type for granted.
    const isWhole = Number(fields.id) % 33 === 0;
    const shares = [null, ...employeeIds].map((id) => this.#allocation(id, isWhole && id !== null));
    const lines = [
      `<${this.tag('job_allocations')}>`,
      `  <allocations${this.type('array')}>`,
      ...shares.flat(),
      '  </allocations>',
      `  <${this.tag('include_expenses')}${this.type('boolean')}>true</${this.tag('include_expenses')}>`,
      `</${this.tag('job_allocations')}>`,
    ];
    return lines.map((line) => `${indent}${line}\n`).join('');
  }

  #allocation(id: string | null, isWhole: boolean): string[] {
    const kind = this.tag('allocation_type');
    return [
      '    <allocation>',
      id === null ? '      <id nil="true"/>' : `      <id${this.type('integer')}>${id}</id>`,
      isWhole
        ? `      <amount${this.type('integer')}>0</amount>`
        : `      <amount${this.type('float')}>0.0</amount>`,
      `      <edited${this.type('boolean')}>false</edited>`,
      `      <manual${this.type('boolean')}>false</manual>`,
      `      <${kind}>${id === null ? 'house' : 'employee'}</${kind}>`,
      '    </allocation>',
    ];
  }
}
