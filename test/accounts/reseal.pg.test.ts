// Another key seals what is sealed: all of it at once, and the old key is not needed afterwards.

import {expect, test} from 'vitest';
import {main, runCommand, startCommand, startProgram} from '../support/command.ts';
import {
  add,
  client,
  env,
  FIELDMIRROR_KEY,
  otherKey,
  rowOf,
  useAccountsPlace,
} from './accounts-place.ts';

useAccountsPlace();

const both = () => ({...env, FIELDMIRROR_KEY: `${otherKey},${FIELDMIRROR_KEY}`});
const renewed = () => ({...env, FIELDMIRROR_KEY: otherKey});

async function readSeals(): Promise<Record<string, unknown>[]> {
  const {rows} = await client.query(
    `SELECT 'account ' || name AS what, key_id, sealed_token AS seal FROM sync.accounts
      UNION ALL SELECT 'rule ' || name, key_id, sealed_access FROM sync.alert_rules
      UNION ALL SELECT 'subscriber ' || name, key_id, sealed_access FROM sync.feed_hooks
      ORDER BY what`,
  );
  return rows;
}

/** Two accounts, a rule of alerts and a subscriber of the feed. */
async function sealAll(): Promise<void> {
  for (const name of ['north', 'south']) expect(await add(name)).toMatchObject({code: 0});
  const call = 'alerts add ops --slack -';
  const rule = `printf 'https://hooks.example.com/T1' | exec "$NODE" "$MAIN" ${call}`;
  const added = await startProgram(['sh', '-c', rule], {...env, NODE: process.execPath, MAIN: main})
    .ended;
  expect(added, added.stderr).toMatchObject({code: 0});
  const hook = await runCommand(
    ['hooks', 'add', 'erp', '--url', 'https://erp.example.com/hook'],
    env,
  );
  expect(hook, hook.stderr).toMatchObject({code: 0});
}

test('after reseal, tokens, alert rules and subscribers open only with the new key', {
  timeout: 120_000,
}, async () => {
  await sealAll();
  const before = await readSeals();
  expect(before).toHaveLength(4);
  await client.query(`UPDATE sync.accounts SET employee_id = 7 WHERE name = 'north'`);

  const sealed = await runCommand(['installation', 'reseal', '--json'], both());
  expect(sealed, sealed.stderr).toMatchObject({code: 0});
  const {keyId, resealed} = JSON.parse(sealed.stdout);
  expect(resealed).toHaveLength(4);
  const after = await readSeals();
  expect(after.map(({key_id}) => key_id)).toEqual([keyId, keyId, keyId, keyId]);
  expect(await rowOf('north')).toMatchObject({employee_id: '7'});

  expect(await runCommand(['accounts', 'check'], renewed())).toMatchObject({code: 0});
  expect(await runCommand(['push'], renewed())).toMatchObject({code: 0});
  // The receiver cannot be reached; its address was opened.
  const told = await runCommand(['alerts', 'test', 'ops'], renewed());
  expect(told.stdout + told.stderr).not.toMatch(/sealed with key/);
  const old = await runCommand(['accounts', 'check'], env);
  expect(old.stdout + old.stderr).toMatch(/sealed with key/);
  const again = await runCommand(['installation', 'reseal'], renewed());
  expect(again).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^All is sealed with key \w+ already/),
  });
  expect(await readSeals()).toEqual(after);
});

test('reseal changes nothing if a key is missing or a worker does not have the new key', {
  timeout: 120_000,
}, async () => {
  await sealAll();
  const before = await readSeals();
  expect(await runCommand(['installation', 'reseal'], renewed())).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /Not opened: token of account north: sealed with key .*; address of alert rule ops/,
    ),
  });
  await client.query(
    `UPDATE sync.accounts SET sealed_token = set_byte(sealed_token, 40,
      255 - get_byte(sealed_token, 40)) WHERE name = 'south'`,
  );
  const damaged = await readSeals();
  expect(await runCommand(['installation', 'reseal'], both())).toMatchObject({code: 2});
  expect(await readSeals()).toEqual(damaged);
  expect(before).not.toEqual(damaged);
  expect(await add('south')).toMatchObject({code: 0});

  const running = startCommand(['start', '--no-http'], env);
  try {
    await running.prints(/Running\. Ctrl-C/);
    const alive = async () => (await client.query('SELECT FROM sync.workers')).rowCount;
    await expect.poll(alive, {timeout: 20_000}).toBe(1);
    expect(await runCommand(['installation', 'reseal'], both())).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(
        /expected every worker to have key .*restart each with both keys/,
      ),
    });
  } finally {
    running.process.kill('SIGINT');
    await running.ended;
  }
  expect(await runCommand(['installation', 'reseal'], both())).toMatchObject({code: 0});
});
