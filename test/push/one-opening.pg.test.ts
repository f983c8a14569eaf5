// A run opens its account once for all its changes, and still heeds the account's state meanwhile.

import {randomBytes} from 'node:crypto';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {
  pauseAccount,
  readAccount,
  resumeAccount,
  saveSealedToken,
  upsertAccount,
} from '../../src/accounts/accounts.ts';
import {Accounts} from '../../src/accounts/open-accounts.ts';
import {parseKeys, Secret, seal} from '../../src/core/secret.ts';
import type {PushDeps, PushStep} from '../../src/push/run.ts';
import {customerResource} from '../../src/service/resource.ts';
import {allowLargeEdits} from '../support/large-edits.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

const keys = parseKeys(randomBytes(32).toString('base64'));
let place: ScriptedPlace;
let accounts: Accounts;
let openings: number;

beforeEach(async () => {
  place = await openScriptedPlace();
  const {pool, mischief, service} = place;
  const account = await readAccount(pool, 'acme');
  if (account === null) throw new Error('expected the account');
  await upsertAccount(pool, {...account, apiUrl: mischief.url}, {mayMove: true});
  await sealToken(service.token);
  await allowLargeEdits(pool);
  accounts = new Accounts({pool, keys, allowHttp: false});
  await place.author(
    "INSERT INTO warehouse.customers (name) SELECT 'Customer ' || n " +
      'FROM generate_series(1, 40) AS n',
  );
  await place.rest();
  openings = 0;
});
afterEach(async () => {
  await accounts.close();
  await place.close();
});

async function sealToken(token: string): Promise<void> {
  const [key] = keys;
  if (key === undefined) throw new Error('expected a key');
  await saveSealedToken(place.pool, place.accountId, seal(new Secret(token), key, place.accountId));
}

async function giveNewToken(): Promise<void> {
  await sealToken('the-new-one');
  place.service.token = 'the-new-one';
}

const update = (fax: string, names: string) =>
  place.author(`UPDATE warehouse.customers SET fax = $1 WHERE name ${names}`, [fax]);

/** Carries due changes, by clocks that stand still. */
async function push(deps: Partial<PushDeps> = {}) {
  const openAccount = async (accountId: string) => {
    openings++;
    return await accounts.open(accountId);
  };
  return await place.push({openAccount, clocks: () => [0], ...deps});
}

/** Runs some code when the first change reaches a step. */
function once(at: PushStep, what: () => Promise<unknown>): Pick<PushDeps, 'onStep'> {
  let isMet = false;
  return {
    onStep: async (step) => {
      if (step !== at || isMet) return;
      isMet = true;
      await what();
    },
  };
}

const faxes = (fax: string) =>
  place.service.store.list(customerResource, null).filter(({fields}) => fields.fax === fax).length;

test('a push run opens its account once, however many changes it sends', async () => {
  await update('555-0101', "= 'Customer 1'");
  expect(await push()).toMatchObject({done: 1});
  expect(openings).toBe(1);
  await update('555-0102', 'IS NOT NULL');
  const more = once('end-committed', () => update('555-0103', 'IS NOT NULL'));
  expect(await push(more)).toMatchObject({rejected: 0, conflict: 0, postponed: 0, inDoubt: 0});
  expect(openings).toBe(2);
  expect(faxes('555-0103')).toBe(40);
});

test('a token that is sealed during a run is used by the change that is claimed next', async () => {
  await update('555-0101', "= 'Customer 1'");
  const replaced = once('end-committed', async () => {
    await giveNewToken();
    await update('555-0102', "= 'Customer 2'");
  });
  expect(await push(replaced)).toMatchObject({done: 2, postponed: 0});
  expect(openings).toBe(2);
});

test('changes refused for a replaced token are resent and do not stop the account', async () => {
  await update('555-0101', 'IS NOT NULL');
  const counts = await push(once('turn', giveNewToken));
  expect(counts.rejected + counts.conflict).toBe(0);
  // A write that went with the old token, and whose look came too late for it, is in doubt until
  // the next look, for which a slow run has time itself.
  const reasons = await reasonsOfDoubt();
  expect(reasons).toEqual(reasons.map(() => 'it was written, and could not be read back'));
  expect(await readAccount(place.pool, 'acme')).toMatchObject({state: 'active'});
  await place.pass(5);
  expect(await push()).toMatchObject({rejected: 0, conflict: 0, postponed: 0, inDoubt: 0});
  expect([faxes('555-0101'), await reasonsOfDoubt()]).toEqual([40, []]);
});

test('no more changes of a paused account are claimed until it is resumed', async () => {
  await update('555-0101', "= 'Customer 1'");
  const paused = once('end-committed', async () => {
    await pauseAccount(place.pool, place.accountId, null);
    await update('555-0102', "<> 'Customer 1'");
  });
  expect(await push(paused)).toMatchObject({done: 1, postponed: 0});
  expect(faxes('555-0102')).toBe(0);
  await resumeAccount(place.pool, place.accountId);
  expect(await push()).toMatchObject({done: 39});
});

async function reasonsOfDoubt(): Promise<string[]> {
  const {rows} = await place.pool.query<{reason: string}>(
    "SELECT DISTINCT reason FROM sync.changes WHERE state = 'in_doubt'",
  );
  return rows.map(({reason}) => reason);
}
