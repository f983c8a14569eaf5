/**
 * Made-up chance that is the same for the same seed. Each thing draws from a stream of its own,
 * named by its kind and its place, so that no thing depends on how many others were drawn before
 * it.
 */
export class Random {
  #state: number;

  constructor(seed: string, label: string, index: number) {
    this.#state = hash(`${seed}/${label}/${index}`);
  }

  /** From 0 to just under 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number, both ends included. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  isTrue(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[Math.floor(this.next() * list.length)] ?? list[0];
  }

  /** The index of a weight, as often as it weighs. */
  weighted(weights: readonly number[]): number {
    let rest = this.next() * weights.reduce((sum, weight) => sum + weight, 0);
    const index = weights.findIndex((weight) => {
      rest -= weight;
      return rest < 0;
    });
    return Math.max(0, index);
  }

  /** Characters of an alphabet, for tokens and the like. */
  text(length: number, alphabet: string): string {
    return Array.from({length}, () => alphabet.charAt(this.integer(0, alphabet.length - 1))).join(
      '',
    );
  }
}

/** FNV-1a with a last stir: neighbours in, strangers out. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
