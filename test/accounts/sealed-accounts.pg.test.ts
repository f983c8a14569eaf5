// The work of start and doctor with accounts whose tokens are sealed in the warehouse.

import {describe, expect, test} from 'vitest';
import {runCommand, startCommand} from '../support/command.ts';
import {
  add,
  client,
  database,
  env,
  FIELDMIRROR_KEY,
  otherKey,
  rowOf,
  run,
  server,
  stop,
  timeZone,
  useAccountsPlace,
} from './accounts-place.ts';

useAccountsPlace();

describe('start with sealed accounts', () => {
  test('--once sweeps all active accounts, but none if the key is missing or wrong', async () => {
    for (const name of ['a', 'b', 'c']) await add(name);
    await run('pause', 'c');
    const ended = await runCommand(['start', '--once', '--json'], env);
    expect(ended, ended.stderr).toMatchObject({code: 0});
    const {streams} = JSON.parse(ended.stdout);
    expect(streams.map((line: {account: string}) => line.account)).toEqual([...'aaaabbbb']);
    for (const line of streams) expect(line.records).toBe(line.stream === 'employees' ? 3 : 6);
    expect(await runCommand(['start', '--once'], {DATABASE_URL: database.url})).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/FIELDMIRROR_KEY: expected the key of a, b, c .*made-up data/),
    });
    const wrong = await runCommand(['start', '--once'], {...env, FIELDMIRROR_KEY: otherKey});
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/not served: account a: .*not served: account b: /s),
    });
  });

  test('--once exits with 3 if one is or becomes stopped, and sweeps the others', async () => {
    for (const name of ['a', 'b']) await add(name);
    server.manners.set('a', {isRefusing: true});
    for (const _ of ['on the way', 'before']) {
      const ended = await runCommand(['start', '--once'], env);
      expect(ended).toMatchObject({code: 3, stdout: expect.stringMatching(/account a|401/)});
      const {rows} = await client.query(
        `SELECT count(*)::int AS swept FROM sync.sweeps JOIN sync.accounts USING (account_id)
          WHERE name = 'b' AND sweeps.state IN ('certified', 'uncertified')`,
      );
      expect(rows[0].swept).toBeGreaterThanOrEqual(4);
    }
    expect(await rowOf('a')).toMatchObject({
      state: 'stopped',
      state_reason: expect.stringMatching(/401/),
    });
  });

  test('serves an account that is added while it runs', async () => {
    const running = startCommand(['start'], {...env, FIELDMIRROR_LOG_LEVEL: 'info'});
    await running.prints(/No account is active[\s\S]*Running\. Ctrl-C/);
    await add('late');
    await running.prints(/(sweep\.ended[\s\S]*){4}/);
    running.process.kill('SIGINT');
    const ended = await running.ended;
    expect(ended, ended.stderr).toMatchObject({code: 0});
    expect(ended.stdout + ended.stderr).not.toContain(server.tokenOf('late'));
  });

  test("resumes the environment's account if it was stopped and its token is valid", async () => {
    await add('a');
    await stop('a');
    const own = {FIELDMIRROR_API_URL: server.urlOf('a'), FIELDMIRROR_TIME_ZONE: timeZone};
    const ended = await runCommand(['start', '--once', '--json'], {
      DATABASE_URL: database.url,
      ...own,
      FIELDMIRROR_API_TOKEN: server.tokenOf('a'),
    });
    expect(ended, ended.stderr).toMatchObject({code: 0});
    expect(JSON.parse(ended.stdout).streams[0].account).toBe('a');
    expect(await rowOf('a')).toMatchObject({state: 'active'});
  });

  test("sweeps the sealed accounts even if the environment's account is rejected", async () => {
    for (const name of ['a', 'b']) await add(name);
    const own = {FIELDMIRROR_API_URL: server.urlOf('a'), FIELDMIRROR_TIME_ZONE: timeZone};
    const ended = await runCommand(['start', '--once'], {
      ...env,
      ...own,
      FIELDMIRROR_API_TOKEN: 'wrong',
    });
    expect(ended).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/account a is stopped: .*401/),
    });
    expect(await rowOf('a')).toMatchObject({state: 'stopped'});
    const {rows} = await client.query(
      `SELECT 1 FROM sync.sweeps JOIN sync.accounts USING (account_id)
       WHERE name = 'b' AND ended_at IS NOT NULL`,
    );
    expect(rows).toHaveLength(4);
  });
});

test('doctor checks every sealed account separately', async () => {
  for (const name of ['good', 'bad', 'paused']) await add(name);
  server.manners.set('bad', {isRefusing: true});
  await run('pause', 'paused');
  const {code, stdout} = await runCommand(['doctor', '--json'], env);
  expect(code).toBe(3);
  const {findings} = JSON.parse(stdout);
  expect(findings.filter(({what}: {what: string}) => what.startsWith('account'))).toMatchObject([
    {what: 'account good', state: 'good'},
    {what: 'account bad', state: 'bad', found: expect.stringMatching(/401/)},
    {
      what: 'account paused',
      state: 'warning',
      found: expect.stringMatching(/accounts resume paused/),
    },
  ]);
  expect(stdout).not.toContain(FIELDMIRROR_KEY);
});
