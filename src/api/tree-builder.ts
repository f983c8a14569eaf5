import {
  ARRAY,
  isOfType,
  maxSeenDepth,
  readValueType,
  type SeenElements,
  TEXT,
  type ValueType,
} from './value-types.ts';
import {
  type Element,
  extendShape,
  type Limits,
  listChildNames,
  MAX_NAME_LENGTH,
  type Shape,
  startShape,
  TooMuch,
  toUnderscored,
  type Value,
} from './xml-document.ts';

/** `xsi:nil` of XML Schema, under any prefix that a serialiser gives it: .NET writes `i:nil`. */
const XSI_NIL = ':nil';

/** The document as a whole cannot be accepted; the message names what came instead. */
export class BadDocument extends Error {
  override readonly name: string = 'BadDocument';
}

/** The same, if the next answer would be no other: the service writes such documents. */
export class RefusedDocument extends BadDocument {
  override readonly name = 'RefusedDocument';
}

/**
 * The builder's calls: the root and each record when they open, each record again when it is whole.
 */
interface Sink {
  root(name: string, isArray: boolean): void;
  startRecord(name: string): void;
  /** @param reason - null for a good record, else why it cannot be accepted */
  record(value: Value, reason: string | null): void;
}

/**
 * Makes values of a parser's events. One instance reads one document. `recordDepth` is the depth of
 * the records: 1 if the root is the record, 2 if it is a list of them. A flaw inside a record
 * spoils that record alone.
 */
export class TreeBuilder {
  readonly #limits: Limits;
  readonly #recordDepth: number;
  readonly #sink: Sink;
  readonly #seen: SeenElements | null;
  #depth = 0;
  #records = 0;
  #elements = 0;
  // Counts of the attributes that mean nothing here; an element has one type and one nil at most.
  #attributes = 0;
  #attributesOfElement = 0;
  #attributesAt = 0;
  #text = '';
  #reason: string | null = null;
  // The depth of the element that the reason is about, until its name is known: the closing tag has
  // it.
  #reasonDepth = 0;
  // Attributes come before their tag, and are kept here until then.
  #type: ValueType = TEXT;
  #nil: string | null = null;
  // One entry per depth. An element gets lists only when a child comes: most are leaves.
  readonly #types: ValueType[] = [];
  readonly #nils: (string | null)[] = [];
  readonly #values: (Value[] | null)[] = [];
  readonly #shapes: (Shape | null)[] = [];
  readonly #names: (string[] | null)[] = [];
  // Types of the children so far, a list per depth that is reused; only its first entries belong to
  // the open element.
  readonly #childTypes: number[][] = [];

  /** @param sink.seen - notes the fields of records and of the records embedded in them */
  constructor(
    recordDepth: 1 | 2,
    limits: Limits,
    sink: Sink & {readonly seen?: SeenElements | undefined},
  ) {
    this.#recordDepth = recordDepth;
    this.#limits = limits;
    this.#sink = sink;
    this.#seen = sink.seen ?? null;
  }

  /** True while a record is open: a flaw is then a flaw of that record. */
  get isInRecord(): boolean {
    return this.#depth >= this.#recordDepth;
  }

  attribute(name: string, value: string): void {
    if (name === 'type') this.#type = readValueType(value);
    else if (name === 'nil') this.#noteNil(value);
    else if (name.endsWith(XSI_NIL)) this.#noteNil(readXsiNil(value));
    else this.#countAttribute();
  }

  open(name: string): void {
    const depth = this.#depth + 1;
    if (depth > this.#limits.depth)
      throw new RefusedDocument(`elements nested deeper than ${this.#limits.depth}`);
    if (++this.#elements > this.#limits.elements)
      throw new TooMuch(this.#limits.elements, 'elements');
    if (depth > 1) this.#checkBlank();
    if (depth === 1) this.#sink.root(name, this.#type === ARRAY);
    if (depth === this.#recordDepth) this.#startRecord(name);
    this.#depth = depth;
    this.#text = '';
    this.#types[depth] = this.#type;
    this.#nils[depth] = this.#nil;
    this.#values[depth] = null;
    this.#type = TEXT;
    this.#nil = null;
  }

  text(text: string): void {
    this.#text = this.#text === '' ? text : this.#text + text;
    if (this.#text.length > this.#limits.valueLength) this.#cutText();
  }

  close(name: string): void {
    const depth = this.#depth;
    if (depth < this.#recordDepth) {
      this.#closeList();
      return;
    }
    const value = this.#finish(depth, name);
    if (depth === this.#reasonDepth) this.#nameReason(name);
    this.#depth = depth - 1;
    this.#text = '';
    if (depth === this.#recordDepth) this.#endRecord(value);
    else this.#add(depth - 1, name, value);
  }

  /** Notes why the open record cannot be accepted; the first reason is kept. */
  spoil(reason: string): void {
    if (!this.isInRecord) throw new BadDocument(`${reason} outside of any record`);
    if (this.#reason !== null) return;
    this.#reason = reason;
    this.#reasonDepth = this.#depth;
  }

  /** If an element has two nil attributes, one `true` is enough to mean that there is no value. */
  #noteNil(word: string): void {
    if (this.#nil !== 'true') this.#nil = word;
  }

  #countAttribute(): void {
    const {attributes, attributesOfElement} = this.#limits;
    if (this.#attributesAt !== this.#elements) this.#attributesOfElement = 0;
    this.#attributesAt = this.#elements;
    if (++this.#attributesOfElement > attributesOfElement)
      throw new TooMuch(attributesOfElement, 'attributes in one element');
    if (++this.#attributes > attributes) throw new TooMuch(attributes, 'attributes');
  }

  #nameReason(name: string): void {
    this.#reason = `${toUnderscored(name)}: ${this.#reason}`;
    this.#reasonDepth = 0;
  }

  #closeList(): void {
    this.#checkBlank();
    if ((this.#nils[1] ?? null) !== null) throw new BadDocument('a list that says nil');
    this.#depth = 0;
  }

  #startRecord(name: string): void {
    this.#sink.startRecord(name);
    this.#records++;
    if (this.#records > this.#limits.records) throw new TooMuch(this.#limits.records, 'records');
  }

  #endRecord(value: Value): void {
    const reason = this.#reason;
    this.#reason = null;
    this.#sink.record(value, reason);
  }

  #cutText(): void {
    this.spoil(`a value longer than ${this.#limits.valueLength} characters`);
    this.#text = '';
  }

  #checkBlank(): void {
    if (!isBlank(this.#text)) this.spoil('text mixed with elements');
  }

  #finish(depth: number, name: string): Value {
    const values = this.#values[depth];
    const type = this.#types[depth] ?? TEXT;
    const nil = this.#nils[depth] ?? null;
    if (values !== null && values !== undefined) return this.#finishElement(depth, name, values);
    if (nil !== null && nil !== 'false') return this.#finishNil(nil);
    if (type === ARRAY) return this.#finishEmptyArray();
    if (type !== TEXT && !isOfType(type, this.#text)) this.#spoilByType(type);
    return this.#text;
  }

  #finishElement(depth: number, name: string, values: readonly Value[]): Element {
    const type = this.#types[depth] ?? TEXT;
    const nil = this.#nils[depth] ?? null;
    this.#checkBlank();
    if (nil !== null && nil !== 'false') this.#spoilByNil(nil);
    if (type !== TEXT && type !== ARRAY)
      this.spoil(`elements inside an element of type ${type.name}`);
    const shape = this.#shapes[depth] ?? null;
    const names = shape === null ? (this.#names[depth] ?? []) : listChildNames(shape);
    if (this.#seen !== null)
      this.#noteSeen(this.#seen, {
        depth,
        name,
        names: shape === null || type === ARRAY ? null : names,
      });
    return {names, values, isArray: type === ARRAY};
  }

  #noteSeen(
    seen: SeenElements,
    {depth, name, names}: {depth: number; name: string; names: readonly string[] | null},
  ): void {
    const depthInRecord = depth - this.#recordDepth;
    if (depthInRecord <= maxSeenDepth)
      seen.note(names, this.#childTypes[depth] ?? [], {depth: depthInRecord, name});
  }

  #finishNil(nil: string): null {
    if (nil !== 'true' || this.#text !== '') this.#spoilByNil(nil);
    return null;
  }

  #finishEmptyArray(): Element {
    this.#checkBlank();
    return {names: [], values: [], isArray: true};
  }

  #spoilByNil(nil: string): void {
    this.spoil(
      nil === 'true'
        ? 'content inside an element that says nil="true"'
        : 'nil is neither true nor false',
    );
  }

  #spoilByType(type: ValueType): void {
    this.spoil(
      this.#text === ''
        ? `type ${type.name}, but empty and not nil`
        : `a text that is not of its type ${type.name}`,
    );
  }

  #add(depth: number, name: string, value: Value): void {
    const values = this.#values[depth];
    if (values === null || values === undefined) {
      this.#values[depth] = [value];
      const firstShape = extendShape(startShape(), name);
      if (firstShape === null) this.#addName(depth, null, name);
      this.#shapes[depth] = firstShape;
      this.#childTypes[depth] ??= [];
      this.#addType(depth, 0, value);
      return;
    }
    this.#addType(depth, values.length, value);
    values.push(value);
    const shape = this.#shapes[depth] ?? null;
    const nextShape = shape === null ? null : extendShape(shape, name);
    if (nextShape === null) this.#addName(depth, shape, name);
    this.#shapes[depth] = nextShape;
  }

  // A nil without a type may have any type.
  #addType(depth: number, index: number, value: Value): void {
    const types = this.#childTypes[depth];
    const type = this.#types[depth + 1];
    if (types === undefined || type === undefined) return;
    if (value === null) types[index] = type === TEXT ? 0 : type.bit;
    else types[index] = typeof value === 'string' ? type.bit : ARRAY.bit;
  }

  // There are too many children for a shape, or a name is too long: from here on this element has
  // its own list of names.
  #addName(depth: number, shape: Shape | null, name: string): void {
    if (name.length > MAX_NAME_LENGTH)
      throw new RefusedDocument(`an element with a name longer than ${MAX_NAME_LENGTH} characters`);
    if (shape !== null) this.#names[depth] = [...listChildNames(shape)];
    this.#names[depth]?.push(toUnderscored(name));
  }
}

/** A boolean of XML Schema, as `nil` has it. */
function readXsiNil(value: string): string {
  const trimmed = value.trim();
  return trimmed === '1' ? 'true' : trimmed === '0' ? 'false' : trimmed;
}

function isBlank(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return false;
  }
  return true;
}
