/**
 * How much of a document is taken. Beyond `valueLength` one record is refused, beyond any other
 * limit the document is. A parsed document must fit into the thread that reads pages, whose heap is
 * 96 MB, and must not keep other accounts waiting.
 */
export interface Limits {
  readonly bytes: number;
  readonly depth: number;
  readonly records: number;
  readonly elements: number;
  /** Other than `type` and `nil`. */
  readonly attributes: number;
  readonly attributesOfElement: number;
  /** `&amp;` and the like. */
  readonly references: number;
  /**
   * Flaws that stay where they are, such as a control character: each costs as much as a hundred
   * good characters.
   */
  readonly flaws: number;
  /** Characters of one value. */
  readonly valueLength: number;
}

/**
 * Measured with a heap of 96 MB: documents of any kind up to these limits are read or refused;
 * 500,000 elements of one record, 3,000,000 references or 48 MB of two-byte text are not, and one
 * string of 100 MB ends the whole process.
 */
export const DEFAULT_LIMITS: Limits = {
  bytes: 32_000_000,
  depth: 20,
  records: 10_000,
  elements: 300_000,
  attributes: 100_000,
  attributesOfElement: 32,
  references: 2_000_000,
  flaws: 10_000,
  valueLength: 1_048_576,
};

/**
 * More than a limit that a right answer might exceed one day: a larger limit is a person's
 * decision.
 */
export class TooMuch extends Error {
  override readonly name = 'TooMuch';

  /** @param what - `records` */
  constructor(most: number, what: string) {
    super(`more than ${most} ${what}`);
  }
}
