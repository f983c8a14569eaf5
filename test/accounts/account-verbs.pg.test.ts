// A person looks after accounts from a shell, with tokens that must be seen nowhere.

import {spawn} from 'node:child_process';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {typeInto} from '../cli/warehouse-place.ts';
import {programLine, runCommand} from '../support/command.ts';
import {enter, typeAtTerminal} from '../support/typed-terminal.ts';
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

describe('accounts add', () => {
  test('checks and seals the token, and adds schedules and due sweeps for a worker', async () => {
    const ended = await add('a');
    expect(ended, ended.stderr).toMatchObject({code: 0, stderr: ''});
    expect(ended.stdout).toMatch(/account a \(127\.0\.0\.1:\d+\/a, Europe\/Berlin\) is added/);
    expect(await rowOf('a')).toMatchObject({
      state: 'active',
      time_zone: timeZone,
      key_id: expect.any(String),
    });
    const {rows} = await client.query(
      `SELECT stream FROM sync.sweeps WHERE state = 'due' ORDER BY stream`,
    );
    expect(rows.map(({stream}) => stream)).toEqual(['customers', 'employees', 'jobs', 'tasks']);
    expect((await client.query('SELECT 1 FROM sync.schedules')).rowCount).toBeGreaterThan(5);
  });

  test('reads the token from standard input; never prints it or stores it unsealed', async () => {
    const args = ['accounts', 'add', 'a', '--url', server.urlOf('a'), '--time-zone', timeZone];
    const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');
    const child = spawn(process.execPath, [main, ...args], {
      env: {PATH: process.env.PATH ?? '', ...env, FIELDMIRROR_LOG_LEVEL: 'debug'},
    });
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => (printed += chunk));
    const closed = new Promise<number | null>((done) => child.on('close', done));
    child.stdin.end(`${server.tokenOf('a')}\n`);
    expect(await closed, printed).toBe(0);
    expect(child.spawnargs.join(' ') + printed).not.toContain(server.tokenOf('a'));
    const {rows} = await client.query(
      `SELECT count(*)::int AS found FROM sync.accounts AS account
        WHERE account::text LIKE $1 OR position($2::bytea IN sealed_token) > 0`,
      [`%${server.tokenOf('a')}%`, Buffer.from(server.tokenOf('a'))],
    );
    expect(rows).toEqual([{found: 0}]);
  });

  test.each([
    [
      'without a key',
      {FIELDMIRROR_KEY: ''},
      /expected a key to seal the token with.*openssl rand -base64 32/,
    ],
    ['without a token', {FIELDMIRROR_API_TOKEN: ''}, /expected the token on standard input/],
    [
      "with another account's token in the environment, which is sent nowhere",
      {FIELDMIRROR_API_URL: 'https://app.example.com/x', FIELDMIRROR_TIME_ZONE: 'UTC'},
      /expected the token on standard input/,
    ],
  ])('%s stores nothing and sends no request', async (_, changed, words) => {
    const before = server.asked.get('a') ?? 0;
    expect(await add('a', changed)).toMatchObject({code: 2, stderr: expect.stringMatching(words)});
    expect(await rowOf('a')).toBeUndefined();
    expect(server.asked.get('a') ?? 0).toBe(before);
  });

  test.each([
    [
      ['demo', '--url', 'https://x.example.com', '--time-zone', 'UTC'],
      /"demo" is the name of the made-up data/,
    ],
    [['a', '--time-zone', 'UTC'], /--url: expected the account's base address/],
    [['a', '--url', 'https://x.example.com'], /--time-zone: expected the account's IANA zone/],
    [
      ['a', '--url', 'https://x.example.com', '--time-zone', 'EST5'],
      /--time-zone: expected an IANA zone \(did you mean America\/New_York\?\), got "EST5"/,
    ],
    [['a', '--url', 'http://x.example.com', '--time-zone', 'UTC'], /expected https/],
    [['a', '--token', 'x'], /unknown option '--token'/],
  ])('rejects %j and reports what it expected', async (args, words) => {
    const ended = await runCommand(['accounts', 'add', ...args], {
      ...env,
      FIELDMIRROR_API_TOKEN: 'x',
    });
    expect(ended).toMatchObject({code: 2, stderr: expect.stringMatching(words)});
    expect((await client.query('SELECT 1 FROM sync.accounts')).rowCount).toBe(0);
  });

  test('with a token that the service rejects stores nothing', async () => {
    expect(await add('a', {}, 'wrong')).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/401.*token/s),
    });
    expect(await rowOf('a')).toBeUndefined();
  });

  test('replaces the token of a stopped account, resumes it, and rejects another URL', async () => {
    await add('a');
    const {sealed_token: before} = await rowOf('a');
    await stop('a');
    const again = await runCommand(['accounts', 'add', 'a'], {
      ...env,
      FIELDMIRROR_API_TOKEN: server.tokenOf('a'),
    });
    expect(again, again.stderr).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('has a new token'),
    });
    expect(await rowOf('a')).toMatchObject({state: 'active', state_reason: null});
    expect((await rowOf('a')).sealed_token).not.toEqual(before);
    const moved = await runCommand(['accounts', 'add', 'a', '--url', server.urlOf('b')], {
      ...env,
      FIELDMIRROR_API_TOKEN: server.tokenOf('b'),
    });
    expect(moved).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/the rows of two services would be mixed/),
    });
  });

  test('takes a piped token, and reports another one that the next start would take', async () => {
    await add('a');
    const settings = {
      ...env,
      FIELDMIRROR_API_URL: server.urlOf('a'),
      FIELDMIRROR_TIME_ZONE: timeZone,
    };
    const own = {...settings, FIELDMIRROR_API_TOKEN: server.tokenOf('a')};
    const {sealed_token: before} = await rowOf('a');
    expect(await typeInto(['accounts', 'add', 'a'], 'wrong', own)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('401'),
    });
    expect((await rowOf('a')).sealed_token).toEqual(before);
    expect(await typeInto(['accounts', 'add', 'a'], '', own)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/expected the token on standard input/),
    });
    const old = {...settings, FIELDMIRROR_API_TOKEN: 'old'};
    const replaced = await typeInto(['accounts', 'add', 'a'], server.tokenOf('a'), old);
    expect(replaced).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /has a new token\. But FIELDMIRROR_API_TOKEN in the environment is another token, which/,
      ),
    });
    expect((await rowOf('a')).sealed_token).not.toEqual(before);
    const without = await runCommand(['accounts', 'add', 'a'], own);
    expect(without).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /has a new token, that of FIELDMIRROR_API_TOKEN in the environment\n/,
      ),
    });
  });

  test('at a terminal prompts for the token although the settings have one', async () => {
    await add('a');
    const own = {
      ...env,
      FIELDMIRROR_API_TOKEN: server.tokenOf('a'),
      FIELDMIRROR_ENV_FILE: '/dev/null',
    };
    const shell = `exec ${programLine('accounts', 'add', 'a').join(' ')}`;
    const question = /API token of a \(it is not shown; if nothing/;
    const wrong = await typeAtTerminal(shell, [[question, `wrong${enter}`]], own);
    expect(wrong, wrong.all).toMatchObject({code: 3, left: 0, all: expect.stringContaining('401')});
    const nothing = await typeAtTerminal(shell, [[question, enter]], own);
    expect(nothing, nothing.all).toMatchObject({code: 0, left: 0});
    expect(nothing.all.replaceAll(/\s+/g, ' ')).toContain(
      'has a new token, that of FIELDMIRROR_API_TOKEN in the environment',
    );
  });

  test('does not mirror one service twice under two names', async () => {
    await add('a');
    const args = [
      'accounts',
      'add',
      'twin',
      '--url',
      `${server.urlOf('a')}/`,
      '--time-zone',
      'UTC',
    ];
    expect(
      await runCommand(args, {...env, FIELDMIRROR_API_TOKEN: server.tokenOf('a')}),
    ).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/account a mirrors .* already/),
    });
  });
});

describe('accounts check', () => {
  async function check(changed: Record<string, string> = {}, ...names: string[]) {
    const {code, stdout, stderr} = await runCommand(['accounts', 'check', ...names, '--json'], {
      ...env,
      ...changed,
    });
    expect(stderr).toBe('');
    return {code, accounts: JSON.parse(stdout).accounts};
  }

  test('distinguishes a rejected token, a wrong address and a missing key', async () => {
    for (const name of ['good', 'refused', 'moved', 'away'])
      expect(await add(name)).toMatchObject({code: 0});
    server.manners.set('refused', {isRefusing: true});
    await client.query(
      `UPDATE sync.accounts SET api_url = api_url || '/no/such' WHERE name = 'moved'`,
    );
    await client.query(
      `UPDATE sync.accounts SET api_url = 'http://127.0.0.1:1' WHERE name = 'away'`,
    );
    const {code, accounts} = await check();
    expect(code).toBe(3);
    expect(accounts).toMatchObject([
      {account: 'good', verdict: 'good'},
      {
        account: 'refused',
        verdict: 'refused',
        found: expect.stringMatching(/401.*check the token/),
      },
      {
        account: 'moved',
        verdict: 'address',
        found: expect.stringMatching(/check the base address/),
      },
      {account: 'away', verdict: 'unreachable', found: expect.stringMatching(/127\.0\.0\.1:1/)},
    ]);
    expect(await check({FIELDMIRROR_KEY: ''}, 'good')).toMatchObject({
      code: 3,
      accounts: [
        {verdict: 'token unknown', found: expect.stringMatching(/account good: .*no key is given/)},
      ],
    });
    expect(await check({}, 'good')).toMatchObject({code: 0});
  });

  test('resumes a stopped account once its token is accepted, but not a paused one', async () => {
    for (const name of ['stopped', 'paused']) await add(name);
    await stop('stopped');
    await run('pause', 'paused', '--reason', 'a move');
    expect(await check()).toMatchObject({
      code: 0,
      accounts: [
        {account: 'stopped', state: 'active', isResumed: true},
        {account: 'paused', state: 'paused', isResumed: false},
      ],
    });
    expect(await rowOf('stopped')).toMatchObject({state: 'active'});
    expect(await rowOf('paused')).toMatchObject({state: 'paused', state_reason: 'a move'});
  });

  test('reseals the token with the first key, so the old key is no longer needed', async () => {
    await add('a');
    const {key_id: before} = await rowOf('a');
    const both = {FIELDMIRROR_KEY: `${otherKey},${FIELDMIRROR_KEY}`};
    expect(await check(both)).toMatchObject({code: 0, accounts: [{isResealed: true}]});
    expect((await rowOf('a')).key_id).not.toBe(before);
    expect(await check({FIELDMIRROR_KEY: otherKey})).toMatchObject({
      code: 0,
      accounts: [{isResealed: false}],
    });
    expect(await check()).toMatchObject({code: 3, accounts: [{verdict: 'token unknown'}]});
  });
});

describe('accounts list, pause and resume', () => {
  test('list shows the source of each token, but no part of the token', async () => {
    await add('a');
    const {code, stdout} = await run('list', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).accounts).toMatchObject([
      {
        name: 'a',
        state: 'active',
        timeZone,
        token: expect.stringMatching(/^sealed with key [0-9a-f]{8}$/),
      },
    ]);
    expect(stdout).not.toContain('token-of');
    const without = await runCommand(['accounts', 'list'], {DATABASE_URL: database.url});
    expect(without.stdout).toMatch(/which is not given/);
  });

  test('resume accepts a paused account, but a stopped one only with a valid token', async () => {
    await add('a');
    expect(await run('pause', 'a')).toMatchObject({code: 0});
    expect(await rowOf('a')).toMatchObject({state: 'paused'});
    expect(await run('resume', 'a')).toMatchObject({code: 0});
    await stop('a');
    server.manners.set('a', {isRefusing: true});
    expect(await run('resume', 'a')).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/account a stays stopped: .*401/),
    });
    expect(await rowOf('a')).toMatchObject({state: 'stopped'});
    server.manners.clear();
    expect(await run('resume', 'a')).toMatchObject({code: 0});
    expect(await rowOf('a')).toMatchObject({state: 'active'});
  });

  test('an unknown name is rejected with the nearest known name as a suggestion', async () => {
    await add('berlin');
    expect(await run('pause', 'berln')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no account "berln" \(did you mean berlin\?\)/),
    });
  });
});
