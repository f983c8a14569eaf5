// The checker finds faults, and the adversary causes them: other tests rest on both.

import {describe, expect, test} from 'vitest';
import {Adversary, type Standing} from '../labs/adversary.ts';
import type {RecordHistory} from '../labs/adversary-history.ts';
import {type Settings, seedsPerRound, settingsOf} from '../labs/adversary-settings.ts';
import {type CheckedSweep, findViolations, type HeldRow} from '../labs/sweep-checker.ts';

const note = {id: '70', note: 'Ring twice'};

/** A record from tick 1 on: v1 without notes, v2 from tick 20 on with a note. */
const steady: RecordHistory = {
  number: '7',
  lives: [{from: 1, to: null}],
  hidings: [],
  versions: [
    {tick: 1, name: 'v1', notes: []},
    {tick: 20, name: 'v2', notes: [note]},
  ],
};
const first: HeldRow = {number: '7', name: 'v1', isDeleted: false, notes: []};
const second: HeldRow = {number: '7', name: 'v2', isDeleted: false, notes: [note]};
const deleted: HeldRow = {number: '7', name: 'v2', isDeleted: true, notes: []};

type State = CheckedSweep['state'];

function judge(
  history: RecordHistory,
  sweep: readonly [state: State, from: number, to: number],
  held: {readonly before?: HeldRow; readonly after?: HeldRow},
): string[] {
  const [state, from, to] = sweep;
  const rows = (row: HeldRow | undefined) => (row === undefined ? [] : [row]);
  const both = {before: rows(held.before), after: rows(held.after)};
  return findViolations([history], {state, from, to}, both).map(({kind}) => kind);
}

describe('the checker finds no violation if', () => {
  test('a row shows the version that was current when the sweep began, or a later one', () => {
    expect(judge(steady, ['certified', 10, 30], {after: first})).toEqual([]);
    expect(judge(steady, ['certified', 10, 30], {before: first, after: second})).toEqual([]);
    expect(judge(steady, ['certified', 20, 30], {after: second})).toEqual([]);
  });

  test('a record created or deleted during the sweep is held or not', () => {
    const born = {
      ...steady,
      lives: [{from: 11, to: null}],
      versions: [{tick: 11, name: 'v1', notes: []}],
    };
    expect(judge(born, ['certified', 10, 30], {})).toEqual([]);
    expect(judge(born, ['certified', 10, 30], {after: first})).toEqual([]);
    const died = {...steady, lives: [{from: 1, to: 25}]};
    expect(judge(died, ['certified', 10, 30], {})).toEqual([]);
    expect(judge(died, ['certified', 10, 30], {before: second, after: second})).toEqual([]);
    expect(judge(died, ['certified', 10, 30], {before: second, after: deleted})).toEqual([]);
  });

  test('a record deleted and restored during the sweep is marked deleted', () => {
    const back = {
      ...steady,
      lives: [
        {from: 1, to: 22},
        {from: 24, to: null},
      ],
    };
    expect(judge(back, ['certified', 21, 30], {before: second, after: deleted})).toEqual([]);
  });

  test('an uncertified sweep misses a record, leaves it old, or leaves a deleted one live', () => {
    expect(judge(steady, ['uncertified', 10, 30], {})).toEqual([]);
    expect(judge(steady, ['uncertified', 25, 30], {before: first, after: first})).toEqual([]);
    const died = {...steady, lives: [{from: 1, to: 5}]};
    expect(judge(died, ['uncertified', 10, 30], {before: first, after: first})).toEqual([]);
  });

  test('a record that no list shows is missing and was not held before', () => {
    const hidden = {...steady, hidings: [{from: 2, to: null}]};
    expect(judge(hidden, ['certified', 10, 30], {})).toEqual([]);
    expect(judge(hidden, ['certified', 20, 30], {before: second, after: second})).toEqual([]);
  });

  test('a row shows an earlier version that the service shows again', () => {
    const undone = {...steady, versions: [...steady.versions, {tick: 25, name: 'v1', notes: []}]};
    expect(judge(undone, ['certified', 26, 30], {before: second, after: first})).toEqual([]);
  });
});

describe('the checker finds', () => {
  test.each(['certified', 'uncertified'] as const)(
    'a live record marked deleted by a sweep that ends %s',
    (state) => {
      expect(judge(steady, [state, 21, 30], {before: second, after: deleted})).toContain(
        'false delete',
      );
      expect(judge(steady, [state, 21, 30], {after: deleted})).toContain('false delete');
    },
  );

  test.each(['stopped', 'failed'] as const)(
    'a row marked deleted by a sweep that ended %s, even if its record was deleted',
    (state) => {
      const died = {...steady, lives: [{from: 1, to: 5}]};
      expect(
        judge(died, [state, 10, 30], {before: first, after: {...first, isDeleted: true}}),
      ).toEqual(['marked']);
    },
  );

  test('a record that a certified sweep does not know', () => {
    expect(judge(steady, ['certified', 10, 30], {})).toEqual(['missing']);
  });

  test('a record that came back before a certified sweep, and is still marked deleted', () => {
    const back = {
      ...steady,
      lives: [
        {from: 1, to: 5},
        {from: 8, to: null},
      ],
    };
    expect(judge(back, ['certified', 21, 30], {before: deleted, after: deleted})).toEqual([
      'missing',
    ]);
  });

  test('a hidden record that was held before and is missing afterwards', () => {
    const hidden = {...steady, hidings: [{from: 2, to: null}]};
    expect(judge(hidden, ['certified', 20, 30], {before: second})).toEqual(['missing']);
  });

  test('a row older than the beginning of a certified sweep', () => {
    expect(judge(steady, ['certified', 20, 30], {before: first, after: first})).toEqual(['stale']);
  });

  test.each(['uncertified', 'stopped', 'failed'] as const)(
    'an old version written by a sweep that ended %s',
    (state) => {
      expect(judge(steady, [state, 20, 30], {before: second, after: first})).toEqual(['stale']);
      expect(judge(steady, [state, 20, 30], {after: first})).toEqual(['stale']);
    },
  );

  test('a live row whose record was deleted before a certified sweep began', () => {
    const died = {...steady, lives: [{from: 1, to: 10}]};
    expect(judge(died, ['certified', 10, 30], {before: first, after: first})).toEqual(['ghost']);
  });

  test.each([
    ['a note too few', []],
    ['a note of another text', [{id: '70', note: 'Ring once'}]],
    ['a note too many', [note, {id: '71', note: 'Dog'}]],
  ])('children of another version: %s', (_, notes) => {
    const after = {...second, notes};
    expect(judge(steady, ['uncertified', 10, 30], {after})).toEqual(['children']);
  });

  test('live children of a deleted row', () => {
    const died = {...steady, lives: [{from: 1, to: 25}]};
    const after = {...deleted, notes: [note]};
    expect(judge(died, ['certified', 26, 30], {before: second, after})).toEqual(['children']);
  });

  test('a row of a record, or of a version, that never existed', () => {
    expect(
      judge(steady, ['uncertified', 1, 30], {before: first, after: {...first, number: '8'}}),
    ).toContain('invented');
    expect(judge(steady, ['uncertified', 1, 30], {after: {...first, name: 'v3'}})).toEqual([
      'invented',
    ]);
    expect(judge(steady, ['uncertified', 1, 10], {after: second})).toEqual(['invented']);
  });
});

describe('the adversary', () => {
  const usual = (order: Settings['order'], seed: number) => ({
    ...settingsOf(0),
    seed,
    order,
    records: 900,
    pageSize: 30,
  });

  test('behaves the same for the same seed and the same requests', () => {
    const run = (seed: number) => {
      const adversary = new Adversary(settingsOf(seed));
      naiveSweep(adversary, []);
      return adversary.fingerprint();
    };
    for (let seed = 0; seed < seedsPerRound; seed++) expect(run(seed)).toBe(run(seed));
    expect(run(1)).not.toBe(run(10));
  });

  test('makes a sweep that trusts absence delete live records, in every order', () => {
    for (const order of ['number', 'reversed', 'changed'] as const) {
      const wrong = countWrong(order, (adversary, held) => naiveSweep(adversary, held));
      expect(wrong, order).toBeGreaterThan(order === 'changed' ? 95 : 10);
    }
  });

  test('does not mislead a sweep that requests every missing record by its number', () => {
    for (const order of ['number', 'reversed', 'changed'] as const) {
      const isGone = (adversary: Adversary, number: string) => {
        adversary.mutate();
        return adversary.show(Number(number)) === null;
      };
      expect(
        countWrong(order, (adversary, held) => naiveSweep(adversary, held, isGone)),
        order,
      ).toBe(0);
    }
  });

  /** The number of runs, of 100, in which a live row was marked deleted. */
  function countWrong(
    order: Settings['order'],
    sweep: (adversary: Adversary, held: readonly HeldRow[]) => HeldRow[],
  ): number {
    let wrong = 0;
    for (let seed = 0; seed < 100; seed++) {
      const adversary = new Adversary(usual(order, seed));
      adversary.isQuiet = true;
      const before = naiveSweep(adversary, []);
      adversary.isQuiet = false;
      const from = adversary.tick;
      const after = sweep(adversary, before);
      const judged = {state: 'uncertified', from, to: adversary.tick} as const;
      const violations = findViolations(adversary.histories(), judged, {before, after});
      if (violations.some(({kind}) => kind === 'false delete')) wrong++;
    }
    return wrong;
  }
});

/**
 * Reads every page once, and marks as deleted each held row that it did not see, unless `isGone`
 * objects.
 */
function naiveSweep(
  adversary: Adversary,
  held: readonly HeldRow[],
  isGone: (adversary: Adversary, number: string) => boolean = () => true,
): HeldRow[] {
  const seen = new Map<string, HeldRow>();
  for (let page = 1; ; page++) {
    adversary.mutate();
    const records = adversary.page(page);
    if (records.length === 0) break;
    for (const record of records) seen.set(String(record.number), toRow(record));
  }
  const missing = held.filter((row) => !seen.has(row.number));
  const rest = missing.map((row) =>
    isGone(adversary, row.number) ? {...row, isDeleted: true, notes: []} : row,
  );
  return [...seen.values(), ...rest];
}

function toRow({number, version}: Standing): HeldRow {
  return {number: String(number), name: version.name, isDeleted: false, notes: version.notes};
}
