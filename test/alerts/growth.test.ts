import {describe, expect, test} from 'vitest';
import {findGrowth, readBounds} from '../../src/alerts/installation-problems.ts';

const text = (bounds: string | null, sizes: Readonly<Record<string, number>>) =>
  findGrowth(
    readBounds(bounds),
    Object.entries(sizes).map(([name, bytes]) => ({name, bytes})),
  ).map((problem) => problem.text);

describe('a growth problem', () => {
  test('is reported for a database or table that is larger than its bound', () => {
    const bounds = 'database=50GB,sync.sweeps=200MB';
    expect(text(bounds, {database: 50e9, 'sync.sweeps': 200e6})).toEqual([]);
    expect(text(bounds, {database: 61.5e9, 'sync.sweeps': 1.2e9})).toEqual([
      'the database takes 61.5 GB, more than 50 GB',
      'table sync.sweeps takes 1.2 GB, more than 200 MB',
    ]);
  });

  test('is reported for a disk with less free space than its bound, 1 GB by default', () => {
    expect(text(null, {disk: 1e9})).toEqual([]);
    expect(text(null, {disk: 0.9e9})).toEqual([
      'the disk of the embedded Postgres has 900 MB left, less than 1 GB',
    ]);
    expect(text('disk=2TB', {disk: 1e12})).toEqual([
      'the disk of the embedded Postgres has 1 TB left, less than 2 TB',
    ]);
  });

  test('is reported for a bound of a missing table, which would be ignored silently', () => {
    expect(
      findGrowth(readBounds('sync.nowhere=1MB'), [{name: 'sync.nowhere', bytes: null}]),
    ).toMatchObject([
      {kind: 'growth', text: 'FIELDMIRROR_BOUNDS names sync.nowhere, and there is no such table'},
    ]);
  });

  test('is not reported for a disk whose free space is unknown', () => {
    expect(findGrowth(readBounds('disk=1GB'), [])).toEqual([]);
    expect(findGrowth(readBounds('disk=1GB'), [{name: 'disk', bytes: null}])).toEqual([]);
  });
});
