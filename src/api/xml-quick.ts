// Reads a document without a tokeniser, if it has the form of earlier documents of its kind.
// Records of one list have the same tags in the same order (docs/service.md "Names"). So a tag is
// recognised by its bytes, and a value is all up to the closing tag that must follow. At anything
// else the quick reader steps aside, and the strict reader reads the whole document: it alone
// decides what is accepted.

import {isUtf8} from 'node:buffer';
import {
  ARRAY,
  isOfType,
  maxSeenDepth,
  readValueType,
  SeenElements,
  TEXT,
  type ValueType,
} from './value-types.ts';
import {
  type Element,
  extendShape,
  findForbidden,
  type Limits,
  listChildNames,
  type Shape,
  startShape,
  toUnderscored,
  type Value,
} from './xml-document.ts';

/** The terms of a quick reading. */
export interface Terms {
  readonly limits: Limits;
  /** Receives the fields of every record; nothing if the reading steps aside. */
  readonly seen: SeenElements | undefined;
}

const tagsByKind = new Map<string, KnownTags>();

/**
 * Reads a document as far as it is known.
 * @param kind - documents of one kind have the same tags in the same order
 * @returns the result of the reading; null if it stepped aside: that means nothing about the
 *   document
 */
export function readIfKnown<T>(
  body: Buffer,
  kind: string,
  {limits, seen, read}: Terms & {readonly read: (document: QuickDocument) => T},
): T | null {
  if (body.length > limits.bytes || !isUtf8(body)) return null;
  const knownTags = tagsByKind.get(kind) ?? new KnownTags();
  tagsByKind.set(kind, knownTags);
  const seenElements = seen === undefined ? undefined : new SeenElements();
  try {
    const result = read(new QuickDocument(body, {known: knownTags, limits, seen: seenElements}));
    if (seenElements !== undefined) seen?.addAll(seenElements);
    return result;
  } catch (error) {
    if (error === asideError) return null;
    throw error;
  }
}

/** Thrown if the strict reader must read the document. */
const asideError = new Error('the strict reader must read this');

/** Ends a reading: the strict reader must read the document. */
export function stepAside(): never {
  throw asideError;
}

const LESS_THAN = 0x3c;
const SLASH = 0x2f;

// The meanings that a byte can have for the value that contains it, a bit for each.
const NO_DIGIT = 1;
const NO_BLANK = 2;
/** A reference, a line break to be normalised, or a piece of `]]>`. */
const SPECIAL = 4;
const HIGH = 8;
const FORBIDDEN = 16;

const byteMeanings = Uint8Array.from({length: 256}, (_, byte) => {
  if (byte === 0x20 || byte === 0x09 || byte === 0x0a) return NO_DIGIT;
  if (byte === 0x0d) return NO_DIGIT | SPECIAL;
  if (byte < 0x20) return FORBIDDEN;
  if (byte >= 0x30 && byte <= 0x39) return NO_BLANK;
  if (byte >= 0x80) return NO_DIGIT | NO_BLANK | HIGH;
  return NO_DIGIT | NO_BLANK | (byte === 0x26 || byte === 0x5d ? SPECIAL : 0);
});

/** A document, and how far it is read. */
class QuickDocument {
  readonly #body: Buffer;
  readonly #known: KnownTags;
  readonly #limits: Limits;
  readonly #seen: SeenElements | undefined;
  /** A piece of the body with a character for each byte, from which a value is cut cheaply. */
  #window = '';
  #windowStart = 0;
  #windowEnd = 0;
  #at = 0;
  #elements = 1;
  #references = 0;

  constructor(body: Buffer, {known: knownTags, limits, seen}: Terms & {readonly known: KnownTags}) {
    this.#body = body;
    this.#known = knownTags;
    this.#limits = limits;
    this.#seen = seen;
  }

  /** Reads the records that follow each other from a place of the body on. */
  *readRecords(start: number): Generator<{name: string; record: Element}, undefined> {
    const place = this.#known.start;
    this.#at = start;
    for (let tag = this.#findTag(place); tag !== null; tag = this.#findTag(place)) {
      if (tag.type !== TEXT || tag.isNil) stepAside();
      const record = this.#readElement(tag);
      if (record === null || typeof record === 'string') stepAside();
      yield {name: toUnderscored(tag.name), record};
    }
  }

  /** Steps aside unless the document ends here, after a closing tag or after nothing more. */
  end(closing: string): void {
    const bytes = Buffer.from(closing);
    this.#skipBlanks();
    if (!this.#isNext(bytes)) stepAside();
    this.#at += bytes.length;
    this.#skipBlanks();
    if (this.#at !== this.#body.length) stepAside();
  }

  /** Finds the opening tag at this place; null if a closing tag is there. */
  #findTag(place: Place): Tag | null {
    const {tags} = place;
    for (let n = 0; n < tags.length; n++) {
      const tag = tags[n];
      if (tag === undefined || !this.#isNext(tag.bytes)) continue;
      if (n > 0) moveToFront(tags, n, tag);
      return this.#open(tag);
    }
    return this.#isClosing()
      ? null
      : this.#open(this.#known.learn(place, this.#peek(maxTagBytes)) ?? stepAside());
  }

  #open(tag: Tag): Tag {
    this.#at += tag.bytes.length;
    this.#elements++;
    if (this.#elements > this.#limits.elements || tag.depth > this.#limits.depth) stepAside();
    return tag;
  }

  /** Reads an element whose opening tag was just read. */
  #readElement(tag: Tag): Value {
    if (tag.isEmpty) return this.#readLeaf(tag, this.#at, this.#at, 0);
    const body = this.#body;
    const start = this.#at;
    let at = start;
    let meaning = 0;
    for (let byte = body[at]; byte !== LESS_THAN; byte = body[++at]) {
      if (byte === undefined) stepAside();
      meaning |= byteMeanings[byte] ?? 0;
    }
    this.#at = at;
    if (this.#isNext(tag.end)) {
      this.#at = at + tag.end.length;
      return this.#readLeaf(tag, start, at, meaning);
    }
    if ((meaning & (NO_BLANK | FORBIDDEN)) !== 0) stepAside();
    this.#at = start;
    return this.#readChildren(tag);
  }

  #readChildren({name, type, isNil, inside, end, depth}: Tag): Element {
    if (isNil || (type !== TEXT && type !== ARRAY)) stepAside();
    const values: Value[] = [];
    const types: number[] = [];
    let place = inside;
    for (let tag = this.#findTag(place); tag !== null; tag = this.#findTag(place)) {
      const value = this.#readElement(tag);
      values.push(value);
      types.push(toTypeBit(tag, value));
      place = tag.after;
    }
    this.#skipBlanks();
    if (values.length === 0 || !this.#isNext(end)) stepAside();
    this.#at += end.length;
    const names = listChildNames(place.shape);
    const isArray = type === ARRAY;
    const depthInRecord = depth - recordDepth;
    if (depthInRecord <= maxSeenDepth)
      this.#seen?.note(isArray ? null : names, types, {depth: depthInRecord, name});
    return {names, values, isArray};
  }

  #readLeaf(tag: Tag, start: number, end: number, meaning: number): Value {
    const {type, isNil} = tag;
    if (isNil) return start === end ? null : stepAside();
    if (type === ARRAY)
      return (meaning & (NO_BLANK | FORBIDDEN)) === 0
        ? {names: [], values: [], isArray: true}
        : stepAside();
    const text = meaning < SPECIAL ? this.#cut(start, end) : this.#decode(start, end, meaning);
    if (text.length > this.#limits.valueLength) stepAside();
    const isNumber = type.name === 'integer' && (meaning & NO_DIGIT) === 0 && start !== end;
    return type === TEXT || isNumber || isOfType(type, text) ? text : stepAside();
  }

  /**
   * The window moves with the values: a text of the whole page would be a large, expensive object.
   */
  #cut(start: number, end: number): string {
    if (start < this.#windowStart || end > this.#windowEnd) {
      this.#windowStart = start;
      this.#windowEnd = Math.min(Math.max(end, start + windowBytes), this.#body.length);
      this.#window = this.#body.toString('latin1', this.#windowStart, this.#windowEnd);
    }
    return this.#window.slice(start - this.#windowStart, end - this.#windowStart);
  }

  #peek(length: number): string {
    return this.#body.toString('latin1', this.#at, this.#at + length);
  }

  #decode(start: number, end: number, meaning: number): string {
    if ((meaning & FORBIDDEN) !== 0) stepAside();
    const text =
      (meaning & HIGH) === 0 ? this.#cut(start, end) : this.#body.toString('utf8', start, end);
    if ((meaning & HIGH) !== 0 && findForbidden(text) !== null) stepAside();
    return (meaning & SPECIAL) === 0 ? text : this.#resolve(text);
  }

  /** The text with its line breaks normalised and its references resolved. */
  #resolve(text: string): string {
    if (text.includes(']]>')) stepAside();
    const lines = text.replace(/\r\n?/g, '\n');
    return lines.replace(REFERENCE, (reference, hex?: string, decimal?: string) => {
      if (++this.#references > this.#limits.references) stepAside();
      const digits = hex ?? decimal;
      if (digits === undefined) return entities[reference] ?? stepAside();
      const code = Number.parseInt(digits, hex === undefined ? 10 : 16);
      if (code > 0x10ffff) stepAside();
      const character = String.fromCodePoint(code);
      return findForbidden(character) === null ? character : stepAside();
    });
  }

  /** Whether a closing tag is here, after white space. */
  #isClosing(): boolean {
    const body = this.#body;
    let at = this.#at;
    while (isBlank(body[at])) at++;
    return body[at] === LESS_THAN && body[at + 1] === SLASH;
  }

  #skipBlanks(): void {
    while (isBlank(this.#body[this.#at])) this.#at++;
  }

  #isNext(bytes: Buffer): boolean {
    const body = this.#body;
    const at = this.#at;
    for (let n = 0; n < bytes.length; n++) if (body[at + n] !== bytes[n]) return false;
    return true;
  }
}

const recordDepth = 2;
/** Longer tags, the white space before them included, are not learned. */
const maxTagBytes = 2_048;
const windowBytes = 16_384;
const REFERENCE = /&(?:#x([0-9a-fA-F]{1,6});|#([0-9]{1,7});|(?:amp|lt|gt|quot|apos);)?/g;
const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
};

// A nil without a type may have any type.
function toTypeBit({type}: Tag, value: Value): number {
  if (value === null) return type === TEXT ? 0 : type.bit;
  return typeof value === 'string' ? type.bit : ARRAY.bit;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Moves the tag seen last to the front. */
function moveToFront(tags: Tag[], from: number, tag: Tag): void {
  for (let n = from; n > 0; n--) tags[n] = tags[n - 1] ?? tag;
  tags[0] = tag;
}

/** An opening tag, as it was seen at a place before. */
interface Tag {
  /** The white space before it, and the tag from `<` to `>`. */
  readonly bytes: Buffer;
  /** The name as sent. */
  readonly name: string;
  /** Of the element: the list has depth 1. */
  readonly depth: number;
  readonly type: ValueType;
  readonly isNil: boolean;
  /** Whether it closes itself: `<notes/>`. */
  readonly isEmpty: boolean;
  /** The closing tag that must follow. */
  readonly end: Buffer;
  /** The place behind the opening tag, where its first child begins. */
  readonly inside: Place;
  /** The place behind the element. */
  readonly after: Place;
}

/** A place in a document: inside which element, and behind which of its children. */
interface Place {
  readonly element: KnownElement;
  /** The names of the children before it. */
  readonly shape: Shape;
  /** Tags that were seen here, the latest first. */
  readonly tags: Tag[];
}

/** The places inside all elements of one path. */
interface KnownElement {
  readonly depth: number;
  readonly children: Map<string, KnownElement>;
  readonly places: Map<Shape, Place>;
}

/**
 * A tag without attributes that other readers would have to check, with white space as the service
 * may indent it.
 */
const TAG =
  /^[ \t\r\n]*<(?!xml)([a-z_][a-z0-9_.-]{0,199})((?: (?:type|nil)="[a-z]{0,40}")*) ?(\/?)>/i;
/**
 * With more tags at one place, the fields have no fixed order: the tag unseen for longest is
 * forgotten.
 */
const maxTagsAtPlace = 16;
const maxTags = 20_000;

/**
 * The known tags of the lists of one kind. A hostile server can send new tags without end: then it
 * forgets all of them and starts over.
 */
class KnownTags {
  #root = makeElement(1);
  #count = 0;

  /** The place of every record: behind the opening tag of the list, or behind another record. */
  get start(): Place {
    if (this.#count > maxTags) {
      this.#root = makeElement(1);
      this.#count = 0;
    }
    return findStart(this.#root);
  }

  /**
   * Learns the tag at a place.
   * @param text - the text at that place, a character for each byte
   * @returns null if it is no opening tag that can be known
   */
  learn(place: Place, text: string): Tag | null {
    const [tagText, name, attributes = '', slash] = TAG.exec(text) ?? [];
    if (tagText === undefined || name === undefined) return null;
    const typeAndNil = readTypeAndNil(attributes);
    const after = this.#findAfter(place, name);
    if (typeAndNil === null || after === null) return null;
    const inside = findStart(findChild(place.element, name));
    const tag = {
      ...typeAndNil,
      bytes: Buffer.from(tagText, 'latin1'),
      end: Buffer.from(`</${name}>`),
      name: Buffer.from(name).toString(),
      isEmpty: slash !== '',
      inside,
      depth: inside.element.depth,
      after,
    };
    place.tags.unshift(tag);
    if (place.tags.length > maxTagsAtPlace) place.tags.pop();
    this.#count++;
    return tag;
  }

  #findAfter(place: Place, name: string): Place | null {
    // Records follow each other: how many came before makes no difference.
    if (place.element === this.#root) return place;
    const shape = extendShape(place.shape, name);
    return shape === null ? null : findPlace(place.element, shape);
  }
}

function readTypeAndNil(attributes: string): {type: ValueType; isNil: boolean} | null {
  const values = new Map<string, string>();
  for (const [, name = '', value = ''] of attributes.matchAll(/(type|nil)="([^"]*)"/g)) {
    if (values.has(name)) return null;
    values.set(name, value);
  }
  const nil = values.get('nil') ?? 'false';
  if (nil !== 'true' && nil !== 'false') return null;
  return {type: readValueType(values.get('type') ?? ''), isNil: nil === 'true'};
}

function makeElement(depth: number): KnownElement {
  return {depth, children: new Map(), places: new Map()};
}

function findChild(element: KnownElement, name: string): KnownElement {
  const child = element.children.get(name) ?? makeElement(element.depth + 1);
  element.children.set(name, child);
  return child;
}

function findStart(element: KnownElement): Place {
  return findPlace(element, startShape());
}

function findPlace(element: KnownElement, shape: Shape): Place {
  const place = element.places.get(shape) ?? {element, shape, tags: []};
  element.places.set(shape, place);
  return place;
}
