import {expect, test} from 'vitest';
import {describeCopy, type Installation, namePlace} from '../../src/health/installation.ts';

const name = 'db.example.com:5432/warehouse';
const original: Installation = {
  database: 'warehouse',
  isSameDatabase: true,
  isSameServer: true,
  isStandby: false,
  names: [name],
  claimedAt: '2026-11-02T08:15:00Z',
  claimedBy: 'mirror',
};

test.each<[case_: string, found: Partial<Installation>, by: string]>([
  ['no worker has begun', {names: null, isSameServer: false}, name],
  ['nothing has changed', {}, name],
  [
    'its server was restarted, or its standby promoted, and the address is known',
    {isSameServer: false},
    name,
  ],
  ['the server that is known has another address', {}, 'localhost:5432/warehouse'],
  [
    'a standby is read by another address',
    {isSameServer: false, isStandby: true},
    'reports.example.com:5432/warehouse',
  ],
])('a database is not reported as a copy if %s', (_case, found, by) => {
  expect(describeCopy({...original, ...found}, by)).toBeNull();
});

test.each<[case_: string, found: Partial<Installation>, by: string, words: RegExp]>([
  [
    'it is another database, at the same address',
    {isSameDatabase: false},
    name,
    /workers began in another database/,
  ],
  [
    'it is a standby of another database',
    {isSameDatabase: false, isStandby: true},
    name,
    /another database or cluster/,
  ],
  [
    'another server is reached by another address',
    {isSameServer: false},
    'new.example.com:5432/warehouse',
    /they reached it as db\.example\.com:5432\/warehouse, not as new\.example\.com:5432\/warehouse/,
  ],
])('a database is reported as a possible copy if %s', (_case, found, by, words) => {
  expect(describeCopy({...original, ...found}, by)).toMatch(words);
});

test('a database is named by its direct address, without user and password', async () => {
  const databaseUrl = 'postgres://mirror:made-up@pooler.example.com:6432/warehouse';
  const directUrl = 'postgres://mirror:made-up@db.example.com/warehouse';
  expect(await namePlace({databaseUrl, directUrl, home: '.fieldmirror'})).toBe(name);
  expect(await namePlace({databaseUrl, directUrl: null, home: '.fieldmirror'})).toBe(
    'pooler.example.com:6432/warehouse',
  );
});

test('a folder is named by its full path, whichever path was given', async () => {
  const places = ['.', `${import.meta.dirname}/../..`].map((home) => ({
    databaseUrl: null,
    directUrl: null,
    home,
  }));
  const names = await Promise.all(places.map(namePlace));
  expect(new Set(names).size).toBe(1);
  expect(names[0]).toMatch(/^\/.*[^/]$/);
});
