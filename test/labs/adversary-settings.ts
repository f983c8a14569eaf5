import {Random} from '../../src/service/vocabulary.ts';

/** Chance of each change before an answer. */
export interface Rates {
  readonly insert: number;
  readonly delete: number;
  readonly update: number;
  /** A record gets its earlier content again. */
  readonly undo: number;
  /** A deleted record comes back under its number. */
  readonly restore: number;
  /** A record is hidden from lists, and another one shown again. */
  readonly hide: number;
  /** An insert leaves a gap of numbers before it. */
  readonly burn: number;
  /** A number is given out, and its record appears later than its successors. */
  readonly late: number;
  /**
   * Moves records so that they are missed: the newest to page 1, or others forward into a page just
   * read.
   */
  readonly spite: number;
  /** The answer is a 503. */
  readonly fault: number;
}

export interface Settings {
  readonly seed: number;
  readonly resource: 'jobs' | 'customers' | 'tasks';
  readonly order: 'number' | 'reversed' | 'changed';
  /**
   * In the order by last change: records changed in the same second stand in another order each
   * time.
   */
  readonly hasTies: boolean;
  readonly pageSize: number;
  /** The number of records at the start. */
  readonly records: number;
  /** How many records the sweep writes at once. */
  readonly batchRecords: number;
  readonly rates: Rates;
  /** The longest gap of numbers that an insert leaves. */
  readonly burnt: number;
  /** Whether lists come as gzip, with the time of their packing in them. */
  readonly isPacked: boolean;
}

const usual: Rates = {
  insert: 0.05,
  delete: 0.02,
  update: 0.3,
  undo: 0,
  restore: 0,
  hide: 0,
  burn: 0.2,
  late: 0,
  spite: 0,
  fault: 0,
};

/** From a busy hour of a real account to more than any real account does. */
const moods: readonly {readonly rates: Rates; readonly hasTies: boolean; readonly burnt: number}[] =
  [
    {rates: usual, hasTies: false, burnt: 3},
    {
      rates: {
        ...usual,
        insert: 0.2,
        delete: 0.15,
        update: 0.6,
        undo: 0.1,
        restore: 0.03,
        hide: 0.02,
      },
      hasTies: false,
      burnt: 3,
    },
    {
      rates: {...usual, insert: 0.1, delete: 0.1, update: 0.9, undo: 0.1, late: 0.02, fault: 0.01},
      hasTies: true,
      burnt: 4,
    },
    {
      rates: {...usual, insert: 0.1, update: 0.9, spite: 0.3},
      hasTies: false,
      burnt: 3,
    },
  ];

const orders = ['number', 'reversed', 'changed'] as const;
const pageSizes = [25, 30, 50] as const;
/**
 * Two of them are met by a few pages, so that a list changes between batches and not only between
 * pages.
 */
const batches = [1_000, 25, 75] as const;
const sizes = [3, 10, 30, 60, 90, 120, 150] as const;

/** Seeds after which every order, page size and mood has come once. */
export const seedsPerRound = orders.length * pageSizes.length * moods.length;

/**
 * The settings of a seed: any `seedsPerRound` seeds in a row are every order and page size in every
 * mood.
 */
export function settingsOf(seed: number): Settings {
  const random = new Random(String(seed), 'settings', 0);
  const mood = at(moods, Math.floor(seed / 9));
  return {
    seed,
    resource: seed % 5 === 4 ? 'customers' : 'jobs',
    order: at(orders, seed),
    pageSize: at(pageSizes, Math.floor(seed / 3)),
    records: at(sizes, random.integer(0, sizes.length - 1)),
    batchRecords: at(batches, random.integer(0, batches.length - 1)),
    isPacked: seed % 2 === 0,
    ...mood,
  };
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index % list.length];
  if (item === undefined) throw new RangeError(`expected an index from 0, got ${index}`);
  return item;
}
