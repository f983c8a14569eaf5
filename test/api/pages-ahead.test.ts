import {describe, expect, test} from 'vitest';
import type {Call, RawPage} from '../../src/api/client.ts';
import {RetryableError} from '../../src/core/errors.ts';
import {fetchPages, type PagesOptions} from '../../src/sweeps/pages.ts';

type Ask = (page: number, signal: AbortSignal | undefined) => Promise<string>;

/** A client whose pages the test hands out, and a record of the pages requested and cut. */
function clientOf(ask: Ask) {
  const asked: number[] = [];
  const cut: number[] = [];
  const fetchPage = async (
    _path: string,
    query: Readonly<Record<string, string>>,
    call: Call = {},
  ): Promise<RawPage> => {
    const page = Number(query.page);
    asked.push(page);
    call.signal?.addEventListener('abort', () => cut.push(page));
    const body = Buffer.from(await ask(page, call.signal));
    return {body, coding: '', bodyBytes: body.length, contentType: null, dateHeader: null, ms: 1};
  };
  return {client: {fetchPage}, asked, cut};
}

const hang: Ask = (_page, signal) =>
  new Promise((_, reject) =>
    signal?.addEventListener('abort', () => reject(signal.reason), {once: true}),
  );

const OPTIONS = {path: '/jobs.xml', query: {include: 'notes'}, fromPage: 1};

describe('pages', () => {
  test('are returned in order of number, in whatever order they arrive', async () => {
    const gates = new Map<number, () => void>();
    const {client} = clientOf(
      (page) =>
        new Promise((resolve) => {
          gates.set(page, () => resolve(`page ${page}`));
          // Each full set of four pages arrives backwards.
          if (gates.size % 4 === 0) for (const open of [...gates.values()].reverse()) open();
        }),
    );
    const got: string[] = [];
    for await (const {page, body} of fetchPages(client, OPTIONS)) {
      got.push(`${page}: ${body}`);
      for (const open of gates.values()) open();
      if (page === 6) break;
    }
    expect(got).toEqual([1, 2, 3, 4, 5, 6].map((page) => `${page}: page ${page}`));
  });

  test('begin at the given page, with the given query', async () => {
    const queries: object[] = [];
    const client = {
      fetchPage: async (path: string, query: object): Promise<RawPage> => {
        queries.push({path, ...query});
        return {
          body: Buffer.alloc(0),
          coding: '',
          bodyBytes: 0,
          contentType: null,
          dateHeader: null,
          ms: 0,
        };
      },
    };
    for await (const {page} of fetchPages(client, {...OPTIONS, fromPage: 7, knownPages: 0}))
      if (page === 8) break;
    expect(queries).toEqual([
      {path: '/jobs.xml', include: 'notes', page: '7'},
      {path: '/jobs.xml', include: 'notes', page: '8'},
    ]);
  });

  describe('are requested so far ahead that each is there when it is needed', () => {
    /** How many pages beyond its own were asked for by the time each page came. */
    async function aheadOf(given: {
      readonly answerMs: (page: number) => number;
      readonly consumerMs: number;
      readonly pages: number;
      readonly knownPages?: number;
    }): Promise<number[]> {
      let now = 0;
      const asked: number[] = [];
      const fetchPage = async (
        _path: string,
        query: Readonly<Record<string, string>>,
      ): Promise<RawPage> => {
        asked.push(Number(query.page));
        const ms = given.answerMs(Number(query.page));
        return {
          body: Buffer.alloc(0),
          coding: '',
          bodyBytes: 0,
          contentType: null,
          dateHeader: null,
          ms,
        };
      };
      const ahead: number[] = [];
      const {knownPages = null} = given;
      for await (const {page} of fetchPages(
        {fetchPage},
        {...OPTIONS, knownPages, clock: () => now},
      )) {
        ahead.push(Math.max(...asked) - page);
        now += given.consumerMs;
        if (page === given.pages) break;
      }
      return ahead;
    }

    test('up to the concurrency limit while answer times are unknown', async () => {
      const ahead = await aheadOf({answerMs: () => 10, consumerMs: 10, pages: 3, knownPages: 99});
      expect(ahead).toEqual([15, 14, 13]);
    });

    test('three if the service is as fast as the consumer', async () => {
      const ahead = await aheadOf({answerMs: () => 10, consumerMs: 10, pages: 20, knownPages: 99});
      expect(ahead.slice(12)).toEqual(Array(8).fill(3));
      const atOnce = await aheadOf({answerMs: () => 0, consumerMs: 0, pages: 20, knownPages: 99});
      expect(atOnce.slice(12)).toEqual(Array(8).fill(3));
    });

    test('as many as the consumer reads during one answer, plus the awaited one', async () => {
      const ahead = await aheadOf({answerMs: () => 70, consumerMs: 10, pages: 20, knownPages: 99});
      expect(ahead.slice(8)).toEqual(Array(12).fill(7));
    });

    test('never more than the concurrency limit of an account', async () => {
      const ahead = await aheadOf({answerMs: () => 900, consumerMs: 10, pages: 20, knownPages: 99});
      expect(ahead).toEqual(Array(20).fill(15));
    });

    test('no further if answers become slow because the service is busy', async () => {
      const answerMs = (page: number) => (page === 1 ? 10 : 400);
      const ahead = await aheadOf({answerMs, consumerMs: 10, pages: 20, knownPages: 99});
      expect(ahead.slice(12)).toEqual(Array(8).fill(3));
    });

    test('half of the pages read at most, three at least, while the end is unknown', async () => {
      const ahead = await aheadOf({answerMs: () => 900, consumerMs: 10, pages: 100});
      expect(ahead.slice(0, 10)).toEqual(Array(10).fill(3));
      expect(ahead[20]).toBe(9);
      expect(ahead.slice(32)).toEqual(Array(68).fill(15));
    });
  });

  describe('of a list whose length may be known', () => {
    const known = {...OPTIONS, knownPages: 6};

    /** The number of pages requested by the time each page comes. */
    async function askedBy(options: PagesOptions, lastPage: number): Promise<number[]> {
      const {client, asked} = clientOf(async (page) => String(page));
      const most: number[] = [];
      for await (const {page} of fetchPages(client, options)) {
        most.push(Math.max(...asked));
        if (page === lastPage) break;
      }
      expect(asked).toEqual(asked.map((_, index) => options.fromPage + index));
      return most;
    }

    test('are requested ahead up to the last known page, and not beyond', async () => {
      expect(await askedBy(known, 6)).toEqual([6, 6, 6, 6, 6, 6]);
    });

    test('are requested one by one beyond the last known page', async () => {
      expect(await askedBy(known, 9)).toEqual([6, 6, 6, 6, 6, 6, 7, 8, 9]);
    });

    test('are requested one by one if none of them is known', async () => {
      expect(await askedBy({...known, fromPage: 8}, 10)).toEqual([8, 9, 10]);
      expect(await askedBy({...known, knownPages: 0}, 3)).toEqual([1, 2, 3]);
    });

    test('are requested ahead as usual if the length is unknown', async () => {
      expect(await askedBy({...known, knownPages: null}, 3)).toEqual([4, 5, 6]);
    });
  });

  test('are requested with the urgency and the attempt callback of the sweep', async () => {
    const calls: Call[] = [];
    const client = {
      fetchPage: async (_path: string, _query: object, call: Call = {}): Promise<RawPage> => {
        calls.push(call);
        return {
          body: Buffer.alloc(0),
          coding: '',
          bodyBytes: 0,
          contentType: null,
          dateHeader: null,
          ms: 0,
        };
      },
    };
    const onAttempt = () => {};
    for await (const {page} of fetchPages(client, {...OPTIONS, urgency: 'full', onAttempt}))
      if (page === 1) break;
    expect(calls).toHaveLength(4);
    for (const call of calls) expect(call).toMatchObject({urgency: 'full', onAttempt});
  });

  test('that the consumer no longer needs are aborted', async () => {
    const {client, asked, cut} = clientOf(async (page, signal) =>
      page === 1 ? 'one' : await hang(page, signal),
    );
    for await (const {page} of fetchPages(client, OPTIONS)) if (page === 1) break;
    expect(asked).toEqual([1, 2, 3, 4]);
    expect(cut).toContain(4);
  });

  test('are aborted when the consumer throws', async () => {
    const {client, cut} = clientOf(async (page, signal) =>
      page === 1 ? 'one' : await hang(page, signal),
    );
    const consume = async () => {
      for await (const {page} of fetchPages(client, OPTIONS)) throw new Error(`no use for ${page}`);
    };
    await expect(consume()).rejects.toThrow('no use for 1');
    expect(cut).toEqual(expect.arrayContaining([2, 3, 4]));
  });

  test('are aborted by the signal, and fail with its reason', async () => {
    const stop = new AbortController();
    const {client, cut} = clientOf(async (page, signal) => {
      if (page === 4) queueMicrotask(() => stop.abort(new Error('enough')));
      return await hang(page, signal);
    });
    await expect(fetchPages(client, OPTIONS, stop.signal).next()).rejects.toThrow('enough');
    expect(cut).toEqual(expect.arrayContaining([1, 2, 3, 4]));
  });

  test('that fail throw when their turn comes, and earlier pages are not lost', async () => {
    const {client} = clientOf(async (page) => {
      if (page >= 3) throw new RetryableError(`page ${page} failed`);
      return String(page);
    });
    const got: number[] = [];
    const consume = async () => {
      for await (const {page} of fetchPages(client, OPTIONS)) got.push(page);
    };
    await expect(consume()).rejects.toThrow('page 3 failed');
    expect(got).toEqual([1, 2]);
  });

  test('that fail beyond the end cause no unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    const {client} = clientOf(async (page) => {
      if (page > 2) throw new RetryableError('past the end');
      return String(page);
    });
    for await (const {page} of fetchPages(client, OPTIONS)) {
      // A turn of the event loop: an unhandled rejection is reported by then.
      await new Promise(setImmediate);
      if (page === 2) break;
    }
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });
});
