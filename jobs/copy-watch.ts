import type {Logger} from '../src/core/log.ts';

/** Gives the reason why the warehouse may be a copy, or null. */
export type FindCopy = () => Promise<string | null>;

/**
 * As long as the warehouse may be a copy, its worker takes up nothing: no change is sent, and no
 * sweep is run.
 */
export class CopyWatch {
  readonly #find: FindCopy;
  readonly #log: Logger;
  /** The reason found last; undefined before the first look. */
  #found: string | null | undefined;

  constructor(find: FindCopy, log: Logger) {
    this.#find = find;
    this.#log = log;
  }

  /** Whether work rests. It does until the first look. */
  get holds(): boolean {
    return this.#found !== null;
  }

  /**
   * Looks once. A line is logged when work begins to rest, and when it goes on. @returns whether
   * work rests
   */
  async look(): Promise<boolean> {
    const found = await this.#find();
    if (found !== null && found !== this.#found) this.#log.error({event: 'copy.suspected'}, found);
    if (found === null && typeof this.#found === 'string')
      this.#log.info(
        {event: 'copy.claimed'},
        'the warehouse is the one that works for its accounts; work goes on',
      );
    this.#found = found;
    return this.holds;
  }
}
