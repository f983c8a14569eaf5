import {beforeEach, describe, expect, test} from 'vitest';
import type {AccountApi} from '../../src/accounts/open-accounts.ts';
import {createClient} from '../../src/api/client.ts';
import {createTransport} from '../../src/api/transport.ts';
import {Secret} from '../../src/core/secret.ts';
import {OpenedAccount} from '../../src/push/run.ts';

let openings: PromiseWithResolvers<AccountApi>[];
let nowMs: number;
let opened: OpenedAccount;

beforeEach(() => {
  openings = [];
  nowMs = 0;
  const open = async () => {
    const opening = Promise.withResolvers<AccountApi>();
    openings.push(opening);
    return await opening.promise;
  };
  opened = new OpenedAccount(open, () => [nowMs]);
});

function way(): AccountApi {
  const transport = createTransport({baseUrl: 'http://127.0.0.1:1', token: new Secret('made-up')});
  return {api: createClient(transport), timeZone: 'UTC'};
}

describe('the account of a run', () => {
  test('is opened once for all callers, concurrent and later ones', async () => {
    const early = [opened.get('1'), opened.get('1')];
    const account = way();
    openings[0]?.resolve(account);
    expect(await Promise.all([...early, opened.get('1')])).toEqual([account, account, account]);
    expect(openings).toHaveLength(1);
  });

  test.each([
    ['the account was written since', () => '2'],
    [
      'seconds have passed',
      () => {
        nowMs += 2_000;
        return '1';
      },
    ],
    [
      'its token was refused',
      () => {
        opened.forget();
        return '1';
      },
    ],
  ])('is opened again when %s', async (_, change) => {
    const early = opened.get('1');
    const version = change();
    const late = opened.get(version);
    const [old, fresh] = [way(), way()];
    openings[0]?.resolve(old);
    openings[1]?.resolve(fresh);
    expect(await early).toBe(old);
    expect(await late).toBe(fresh);
    expect(await opened.get(version)).toBe(fresh);
    expect(openings).toHaveLength(2);
  });

  test('that could not be opened is tried again by the next caller', async () => {
    const both = Promise.allSettled([opened.get('1'), opened.get('1')]);
    openings[0]?.reject(new Error('no key'));
    expect(await both).toMatchObject([{status: 'rejected'}, {status: 'rejected'}]);
    const next = opened.get('1');
    const account = way();
    openings[1]?.resolve(account);
    expect(await next).toBe(account);
    expect(openings).toHaveLength(2);
  });
});
