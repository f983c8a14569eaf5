// Records of one list nearly all have the same fields in the same order (docs/service.md "Names"),
// so their lists of names are one and the same object: made once, compared by identity, and a
// hundred pushes per record saved.

/**
 * Beyond this many children an element is a list, not a record: its names are kept as they come.
 */
const MAX_NAMES = 512;
/**
 * No name of a record is as long as this; a hostile server's would be kept for as long as its
 * shape.
 */
export const MAX_NAME_LENGTH = 1_000;
/** A hostile server can send ever new names; then we start over instead of growing. */
const MAX_SHAPES = 8_192;

/** The names seen so far inside one element: a step in a tree of sequences. */
export interface Shape {
  readonly parent: Shape | null;
  readonly name: string;
  readonly length: number;
  /** The step taken most often from here, found without hashing. */
  raw: string;
  next: Shape | null;
  others: Map<string, Shape> | null;
  names: readonly string[] | null;
}

let count = 0;
let root = makeShape(null, '');

/** The shape of an element in which nothing has been seen yet. */
export function startShape(): Shape {
  if (count > MAX_SHAPES) {
    count = 0;
    root = makeShape(null, '');
  }
  return root;
}

/**
 * The shape after one more child; null when it has too many for a record, or a name too long for
 * one.
 * @param raw - the name as sent, dashes and all
 */
export function extendShape(shape: Shape, raw: string): Shape | null {
  if (shape.raw === raw && shape.next !== null) return shape.next;
  return shape.others?.get(raw) ?? addShape(shape, raw);
}

/** The names of a shape, underscored: always the same list for the same shape. */
export function namesOf(shape: Shape): readonly string[] {
  shape.names ??= collectNames(shape);
  return shape.names;
}

/**
 * The specification's spelling of a name: the service answers with dashes, the documented dialect
 * with underscores.
 */
export function toUnderscored(raw: string): string {
  return raw.replaceAll('-', '_');
}

function addShape(shape: Shape, raw: string): Shape | null {
  if (shape.length >= MAX_NAMES || raw.length > MAX_NAME_LENGTH) return null;
  const added = makeShape(shape, detach(toUnderscored(raw)));
  if (shape.next === null) {
    shape.raw = detach(raw);
    shape.next = added;
  } else {
    shape.others ??= new Map();
    shape.others.set(detach(raw), added);
  }
  return added;
}

// A slice of a page would keep the whole page alive for as long as the shape lives.
function detach(text: string): string {
  return Buffer.from(text).toString();
}

function makeShape(parent: Shape | null, name: string): Shape {
  count++;
  return {
    parent,
    name,
    length: parent === null ? 0 : parent.length + 1,
    raw: '',
    next: null,
    others: null,
    names: null,
  };
}

function collectNames(shape: Shape): readonly string[] {
  const names: string[] = [];
  for (let step: Shape = shape; step.parent !== null; step = step.parent) names.push(step.name);
  return Object.freeze(names.reverse());
}
