// A page that comes again byte for byte holds the records that it held before: its digest tells, at a tenth of the time
// that cutting and hashing take. Whether those records are known is asked all the same, so that nothing here is ever wrong,
// whatever becomes of their rows.

import type pg from 'pg';
import type {Page} from '../../../api/resources/pages-ahead.ts';
import {digestPage} from '../../../api/xml/quick/page-digest.ts';
import type {Stream} from '../../../streams/stream.ts';
import {
  type KnownPage,
  pagesAtOnce,
  readKnownPages,
  rememberPages,
} from '../../../warehouse/rows/known/known-pages.ts';
import {type CutPage, cutAs, cutPage} from './cut-page.ts';

/** The pages of one list, as they last came. */
export class KnownPages {
  readonly #pool: pg.Pool;
  readonly #accountId: string;
  readonly #stream: Stream;
  #key: Buffer = Buffer.alloc(0);
  #held: ReadonlyMap<number, KnownPage> = new Map();
  /** The first page behind those that were looked up. */
  #lookedUpTo = 0;
  #fresh: KnownPage[] = [];

  constructor(pool: pg.Pool, {accountId, stream}: {readonly accountId: string; readonly stream: Stream}) {
    this.#pool = pool;
    this.#accountId = accountId;
    this.#stream = stream;
  }

  /** Cuts the next page: as it was cut before, where it is the same. Pages come in order of number. */
  async cut(page: Page): Promise<CutPage> {
    if (page.page >= this.#lookedUpTo) await this.#lookUp(page.page);
    const digest = digestPage(this.#key, page.body);
    const held = this.#held.get(page.page);
    if (held?.digest.equals(digest) === true) return cutAs(page, held.hashes);
    const cut = cutPage(this.#stream, page);
    if (cut.hashes !== null && cut.records > 0) {
      this.#fresh.push({page: page.page, digest, hashes: cut.hashes});
      if (this.#fresh.length === pagesAtOnce) await this.save();
    }
    return cut;
  }

  /** Writes what is not written yet. */
  async save(): Promise<void> {
    const fresh = this.#fresh;
    this.#fresh = [];
    await rememberPages(this.#pool, {...this.#list, pages: fresh});
  }

  get #list() {
    return {accountId: this.#accountId, stream: this.#stream.name};
  }

  async #lookUp(from: number): Promise<void> {
    const {key, pages} = await readKnownPages(this.#pool, {...this.#list, from});
    this.#key = key;
    this.#held = new Map(pages.map((page) => [page.page, page]));
    this.#lookedUpTo = from + pagesAtOnce;
  }
}
