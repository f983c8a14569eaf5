import {decodeNumbers, encodeNumbers} from './number-codec.ts';

/** The numbers on each page of a list, as far as it was read. */
export class PageNumbers {
  /**
   * The bytes of each page, one a character: a short buffer of its own takes 200 bytes more than a
   * short text.
   */
  readonly #pages = new Map<number, string>();

  /** @param numbers - positive whole numbers, in any order */
  note(page: number, numbers: readonly string[]): void {
    this.#pages.set(page, encodeNumbers(numbers).toString('latin1'));
  }

  /** True of a page that was read, and held no number. */
  isEmpty(page: number): boolean {
    return this.#pages.get(page) === '';
  }

  /**
   * Whether a page held the numbers of a page of another pass, in any order; an unread page held
   * none.
   */
  holdsSame(page: number, other: PageNumbers, otherPage: number): boolean {
    const [bytes = '', otherBytes = ''] = [this.#pages.get(page), other.#pages.get(otherPage)];
    if (bytes === otherBytes) return true;
    const [numbers, others] = [decodeNumbers(toBuffer(bytes)), decodeNumbers(toBuffer(otherBytes))];
    const held = new Set(others);
    return numbers.length === others.length && numbers.every((number) => held.has(number));
  }
}

function toBuffer(bytes: string): Buffer {
  return Buffer.from(bytes, 'latin1');
}
