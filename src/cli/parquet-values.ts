// The values of one row group and column, in little memory that is used again for the next group.
// As values of their own they would be millions of objects that die together, and the memory of the
// process would grow to several groups of them.

/**
 * Takes the texts of Postgres row by row, and gives them as the values of the file, made when they
 * are asked for.
 */
export interface HeldValues {
  set(row: number, text: string | null): void;
  /** The first so many. */
  take(count: number): unknown[];
}

/** Values that need no memory beside their place: small numbers and truths. */
export function holdSmall(read: (text: string) => unknown): HeldValues {
  const held: unknown[] = [];
  return {
    set: (row, text) => {
      held[row] = text === null ? null : read(text);
    },
    take: (count) => held.slice(0, count),
  };
}

/** Whole numbers of 64 bits: eight bytes each, and four times as many as a value of its own. */
export function holdWhole(rows: number, read: (text: string) => bigint): HeldValues {
  const held = new BigInt64Array(rows);
  const isNull = new Uint8Array(rows);
  return {
    set: (row, text) => {
      isNull[row] = text === null ? 1 : 0;
      if (text !== null) held[row] = read(text);
    },
    take: (count) =>
      Array.from({length: count}, (_, row) => (isNull[row] === 1 ? null : held[row])),
  };
}

/** Texts: those that are equal are held once for each group. */
export function holdTexts(read: (text: string) => unknown = (text) => text): HeldValues {
  const held: (string | null)[] = [];
  const known = new Map<string, string>();
  return {
    set: (row, text) => {
      if (row === 0) known.clear();
      if (text !== null && !known.has(text)) known.set(text, text);
      held[row] = text === null ? null : (known.get(text) ?? text);
    },
    take: (count) => held.slice(0, count).map((text) => (text === null ? null : read(text))),
  };
}
