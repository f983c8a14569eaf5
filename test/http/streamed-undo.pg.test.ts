// Changes taken back line by line: all of it in one transaction, whatever becomes of the reader.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {writeNumbers} from '../../src/rows/number-set.ts';
import {ask, idsIn, listAudited, makePending, readLines, whileHeld} from './lines-place.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeEach(async () => {
  place = await openPlace({lockTimeoutMs: 60_000});
});
afterEach(() => place?.close());

/** An undo that is under way. */
interface Begun {
  readonly ids: readonly string[];
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  /** Lets it go on. */
  readonly letGo: () => Promise<void>;
  /** The client goes away. */
  readonly leave: () => void;
}

describe('a streamed POST /v1/changes/undo', () => {
  const ofLines = {verb: 'undo'} as const;

  /** Begins to take 600 changes back, and stands before the last of them. */
  async function begin(work: (begun: Begun) => Promise<void>): Promise<void> {
    const ids = await makePending(place, 600);
    await whileHeld(place, ids[0], async (letGo) => {
      const leaving = new AbortController();
      const answer = await ask(place, {filter: {}}, {...ofLines, signal: leaving.signal});
      const reader = answer.body?.getReader();
      if (reader === undefined) throw new TypeError('an answer has a body');
      expect(await readLines(reader, 2)).toEqual([
        {checked: 250, total: 600},
        {checked: 500, total: 600},
      ]);
      expect(await idsIn(place, 'pending')).toEqual(ids);
      await work({ids, reader, letGo, leave: () => leaving.abort()});
    });
  }

  test('returns its progress, and the outcome of each change once all are committed', async () => {
    await begin(async ({ids, reader, letGo}) => {
      await letGo();
      const lines = await readLines(reader, 601);
      expect(lines.pop()).toEqual({
        batch: expect.stringMatching(/^undo of /),
        totals: {cancelled: 600, held: 0, refused: 0},
        problem: null,
      });
      const rest = {outcome: 'cancelled', undone_by: null, fields: [], refusal: null};
      expect(lines).toEqual(ids.map((change_id) => ({change_id, ...rest})));
      expect(await idsIn(place, 'cancelled')).toEqual(ids);
    });
  });

  test('completes even if the client disconnects, and is recorded in the audit', async () => {
    await begin(async ({ids, letGo, leave}) => {
      leave();
      expect((await fetch(`${place.url}/livez`)).status).toBe(200);
      await letGo();
      await expect
        .poll(() => listAudited(place), {timeout: 10_000})
        .toMatchObject([{action: 'changes.undo', after: {undone: {cancelled: writeNumbers(ids)}}}]);
      expect(await idsIn(place, 'cancelled')).toEqual(ids);
    });
  });

  test('ends with the problem if it fails while streaming, and undoes nothing', async () => {
    await begin(async ({ids, reader, letGo}) => {
      await place.pool.query('ALTER TABLE sync.audit RENAME TO audit_elsewhere');
      await letGo();
      expect(await readLines(reader, 1)).toEqual([
        {
          batch: null,
          totals: {cancelled: 0, held: 0, refused: 0},
          problem: expect.objectContaining({
            status: 503,
            type: 'urn:fieldmirror:problem:unavailable',
          }),
        },
      ]);
      expect(await idsIn(place, 'pending')).toEqual(ids);
    });
  });

  test('answers with the status of the problem if it fails before the first line', async () => {
    await makePending(place, 1);
    await place.pool.query('ALTER TABLE sync.audit RENAME TO audit_elsewhere');
    expect((await ask(place, {filter: {}}, ofLines)).status).toBe(503);
  });
});
