// The tags that stood at each place of a record before. Records of one list have the same tags in
// the same order (docs/service.md "Names"), so that a tag is known by comparing bytes.

import {readValueType, type ValueType} from './value-type.ts';
import {extendShape, type Shape, startShape} from './xml-shape.ts';

/** An opening tag, as it stood at a place before. */
export interface Tag {
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
  /** The place behind the opening tag, where its first child stands. */
  readonly inside: Place;
  /** The place behind the element. */
  readonly after: Place;
}

/** A place in a document: inside which element, and behind which of its children. */
export interface Place {
  readonly element: KnownElement;
  /** The names of the children before it. */
  readonly shape: Shape;
  /** Tags that stood here, the one met last first. */
  readonly tags: Tag[];
}

/** The places inside all elements of one path. */
interface KnownElement {
  readonly depth: number;
  readonly children: Map<string, KnownElement>;
  readonly places: Map<Shape, Place>;
}

/**
 * A tag without attributes that other readers would have to look at; white space as the service may
 * indent it.
 */
const TAG =
  /^[ \t\r\n]*<(?!xml)([a-z_][a-z0-9_.-]{0,199})((?: (?:type|nil)="[a-z]{0,40}")*) ?(\/?)>/i;
/** More tags at one place are no order of fields: the one not met for longest is forgotten. */
const mostAtPlace = 16;
const mostTags = 20_000;

/**
 * What is known of the lists of one kind. A hostile server can send ever new tags: then it starts
 * over.
 */
export class KnownTags {
  #root = makeElement(1);
  #count = 0;

  /** The place of every record: behind the opening tag of the list, or behind another record. */
  get start(): Place {
    if (this.#count > mostTags) {
      this.#root = makeElement(1);
      this.#count = 0;
    }
    return startOf(this.#root);
  }

  /**
   * Learns the tag that stands at a place.
   * @param text - what stands there, a character for each byte
   * @returns null where it is no opening tag that can be known
   */
  learn(place: Place, text: string): Tag | null {
    const [whole, name, attributes = '', slash] = TAG.exec(text) ?? [];
    if (whole === undefined || name === undefined) return null;
    const terms = readTerms(attributes);
    const after = this.#findAfter(place, name);
    if (terms === null || after === null) return null;
    const inside = startOf(findChild(place.element, name));
    const tag = {
      ...terms,
      ...{
        bytes: Buffer.from(whole, 'latin1'),
        end: Buffer.from(`</${name}>`),
        name: Buffer.from(name).toString(),
      },
      ...{isEmpty: slash !== '', inside, depth: inside.element.depth, after},
    };
    place.tags.unshift(tag);
    if (place.tags.length > mostAtPlace) place.tags.pop();
    this.#count++;
    return tag;
  }

  #findAfter(place: Place, name: string): Place | null {
    // Records stand one behind the other: how many came before makes no difference.
    if (place.element === this.#root) return place;
    const shape = extendShape(place.shape, name);
    return shape === null ? null : placeOf(place.element, shape);
  }
}

function readTerms(attributes: string): {type: ValueType; isNil: boolean} | null {
  const found = new Map<string, string>();
  for (const [, name = '', value = ''] of attributes.matchAll(/(type|nil)="([^"]*)"/g)) {
    if (found.has(name)) return null;
    found.set(name, value);
  }
  const nil = found.get('nil') ?? 'false';
  if (nil !== 'true' && nil !== 'false') return null;
  return {type: readValueType(found.get('type') ?? ''), isNil: nil === 'true'};
}

function makeElement(depth: number): KnownElement {
  return {depth, children: new Map(), places: new Map()};
}

function findChild(element: KnownElement, name: string): KnownElement {
  const child = element.children.get(name) ?? makeElement(element.depth + 1);
  element.children.set(name, child);
  return child;
}

function startOf(element: KnownElement): Place {
  return placeOf(element, startShape());
}

function placeOf(element: KnownElement, shape: Shape): Place {
  const place = element.places.get(shape) ?? {element, shape, tags: []};
  element.places.set(shape, place);
  return place;
}
