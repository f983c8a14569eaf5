// Views of a text: texts that are made from it step by step, such as the text without its blanks or
// with its escapes decoded. Each view keeps the places of its characters in the first text, so that
// what is found in a view can be replaced there.

/**
 * A text made from another one; `starts` and `ends` give the place of each UTF-16 unit in the first
 * text.
 */
export interface View {
  readonly text: string;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** The first view of a text: the text itself. */
export function toView(text: string): View {
  const starts = new Int32Array(text.length);
  const ends = new Int32Array(text.length);
  for (let at = 0; at < text.length; at++) {
    starts[at] = at;
    ends[at] = at + 1;
  }
  return {text, starts, ends};
}

/** Puts a text in the place of each character. */
export function mapEach(view: View, map: (character: string, code: number) => string): View {
  const builder = new ViewBuilder(view);
  for (let at = 0; at < view.text.length; ) {
    const code = view.text.codePointAt(at) ?? 0;
    const length = code > 0xffff ? 2 : 1;
    builder.add(map(view.text.slice(at, at + length), code), at, at + length);
    at += length;
  }
  return builder.end();
}

/** Puts a text in the place of each match; returns the view itself if there is none. */
export function replaceEach(
  view: View,
  pattern: RegExp,
  replace: (match: RegExpExecArray) => string,
): View {
  const builder = new ViewBuilder(view);
  let from = 0;
  for (const match of view.text.matchAll(pattern)) {
    builder.copy(from, match.index);
    from = match.index + match[0].length;
    builder.add(replace(match), match.index, from);
  }
  if (from === 0) return view;
  builder.copy(from, view.text.length);
  return builder.end();
}

/** A view that is being made of pieces of another one. */
class ViewBuilder {
  readonly #from: View;
  readonly #pieces: string[] = [];
  #starts: Int32Array;
  #ends: Int32Array;
  #length = 0;

  constructor(from: View) {
    this.#from = from;
    this.#starts = new Int32Array(from.text.length);
    this.#ends = new Int32Array(from.text.length);
  }

  /** Adds a text in the place of the units from `first` up to `behind`. */
  add(text: string, first: number, behind: number): void {
    const to = this.#grow(text);
    this.#starts.fill(this.#from.starts[first] ?? 0, this.#length, to);
    this.#ends.fill(this.#from.ends[behind - 1] ?? 0, this.#length, to);
    this.#length = to;
  }

  copy(first: number, behind: number): void {
    const to = this.#grow(this.#from.text.slice(first, behind));
    this.#starts.set(this.#from.starts.subarray(first, behind), this.#length);
    this.#ends.set(this.#from.ends.subarray(first, behind), this.#length);
    this.#length = to;
  }

  end(): View {
    const text = this.#pieces.join('');
    return {
      text,
      starts: this.#starts.subarray(0, this.#length),
      ends: this.#ends.subarray(0, this.#length),
    };
  }

  #grow(text: string): number {
    this.#pieces.push(text);
    const to = this.#length + text.length;
    if (to <= this.#starts.length) return to;
    const previous = {starts: this.#starts, ends: this.#ends};
    this.#starts = new Int32Array(2 * to);
    this.#starts.set(previous.starts);
    this.#ends = new Int32Array(2 * to);
    this.#ends.set(previous.ends);
    return to;
  }
}
