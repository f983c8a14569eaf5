// A list that never ends brings new numbers on every page. Nothing in it says so: it is stopped at
// a multiple of what was expected, and a person decides.

import {FatalError} from '../core/errors.ts';
import {countRows} from './stream-status.ts';
import type {ListBounds} from './sweep-deps.ts';
import type {SweepRun} from './sweep-run.ts';

export const usualBounds: ListBounds = {
  multiple: 4,
  least: 20_000,
  unknown: 5_000_000,
  beyond: 5_000,
};

/** How many records a list may bring. */
export class ListBound {
  readonly #run: SweepRun;
  readonly #most: number;

  constructor(run: SweepRun, expected: number | null) {
    const {multiple, least, unknown} = run.deps.listBounds ?? usualBounds;
    this.#run = run;
    this.#most = expected === null ? unknown : Math.max(least, multiple * expected);
  }

  /** @throws {FatalError} there were more records than a list of the account is believed to have */
  check(records: number, page: number): void {
    if (records <= this.#most) return;
    const {stream, account, sweep} = this.#run;
    const thing = `GET ${stream.path}?page=${page} at ${account.api.transport.place}`;
    throw new FatalError(
      `${thing}: expected the end of the list, at most ${this.#most} records by what it had before, got ${records} and no end; what was read is kept. If so many are right, fieldmirror sync ${stream.name} --account ${sweep.accountName} goes on, up to a multiple of the rows held by then; if not, ask who runs the service`,
      {kind: 'service'},
    );
  }
}

/**
 * The bound of a sweep's list: by what its last pass had. Where a person asks by hand, by the rows
 * that are held, too: that is how more than the bound is let through.
 * @param records - of the last pass of the same list; null where there was none
 */
export async function boundOf(run: SweepRun, records: number | null): Promise<ListBound> {
  const {deps, sweep, stream} = run;
  if (sweep.requestedBy !== 'command') return new ListBound(run, records);
  const held = await countRows(deps.pool, stream.table, sweep.accountId);
  return new ListBound(run, records === null && held === 0 ? null : Math.max(records ?? 0, held));
}
