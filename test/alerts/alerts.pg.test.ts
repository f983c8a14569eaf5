// The verb `alerts`, as a person types it, and `start`, which sends.

import {afterAll, afterEach, beforeAll, describe, expect, inject, test} from 'vitest';
import {openHttpReceiver, openMailReceiver, type TestReceiver} from '../support/alert-receivers.ts';
import {failedSweep, keyText} from '../support/alerts-place.ts';
import {main, runCommand, startCommand, startProgram} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';
import {openPlace, type Place} from '../support/place.ts';
import {withClient} from '../support/with-client.ts';

let place: Place;
let http: TestReceiver;
let mail: TestReceiver;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  http = await openHttpReceiver();
  mail = await openMailReceiver();
  env = {...place.env, FIELDMIRROR_KEY: keyText};
  expect(await runCommand(['sync', 'tasks'], env)).toMatchObject({code: 0});
});

afterEach(async () => {
  await query(
    'DELETE FROM sync.alert_rules; DELETE FROM sync.alerts; DELETE FROM sync.alert_checks',
  );
  http.manners = () => undefined;
});

afterAll(async () => {
  await place.close();
  await http.close();
  await mail.close();
});

const query = async (text: string) =>
  (await withClient(place.databaseUrl, (client) => client.query(text))).rows;
const alerts = (...args: string[]) => runCommand(['alerts', ...args], env);

describe('alerts add', () => {
  test('prints the secret of a webhook once; alerts list and its row do not hold it', async () => {
    const added = await alerts('add', 'ops', '--webhook', `${http.url}/hook?token=hush`);
    expect(added).toMatchObject({code: 0, stderr: ''});
    expect(added.stdout).toContain('fieldmirror alerts test ops');
    const [secret = ''] = /whsec_\S+/.exec(added.stdout) ?? [];
    expect(Buffer.from(secret.replace('whsec_', ''), 'base64')).toHaveLength(32);
    const listed = await alerts('list', '--json');
    const [row] = await query('SELECT rule::text FROM sync.alert_rules AS rule');
    for (const text of [listed.stdout, row.rule]) {
      expect(text).not.toContain(secret.slice(6));
      expect(text).not.toContain('hush');
    }
    expect(JSON.parse(listed.stdout).rules).toMatchObject([
      {
        name: 'ops',
        receiver: 'webhook',
        target: new URL(http.url).host,
        quietMs: 14_400_000,
        everyMs: null,
      },
    ]);
  });

  test('explains how to create a key if none exists; an email rule needs no key', async () => {
    const bare = {...place.env, FIELDMIRROR_SMTP_URL: mail.url};
    const refused = await runCommand(['alerts', 'add', 'ops', '--ping', `${http.url}/p`], bare);
    expect(refused).toMatchObject({code: 2, stdout: ''});
    expect(refused.stderr).toMatch(
      /expected a key to seal.*openssl rand -base64 32.*FIELDMIRROR_KEY/,
    );
    expect(
      await runCommand(['alerts', 'add', 'ops', '--email', 'ops@example.com'], bare),
    ).toMatchObject({
      code: 0,
    });
    const tested = await runCommand(['alerts', 'test', 'ops'], bare);
    expect(tested).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/ops@example\.com took it: 250, in/),
    });
    expect(mail.arrived.at(-1)?.headers.subject).toBe('Fieldmirror: a test of the alert rule ops');
  });

  test('reads the address from standard input if it is given as -', async () => {
    const shell = `printf '%s' '${http.url}/typed' | "$NODE" "$MAIN" alerts add ops --slack -`;
    const vars = {...env, NODE: process.execPath, MAIN: main};
    expect(await startProgram(['sh', '-c', shell], vars).ended).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await alerts('test', 'ops')).toMatchObject({code: 0});
    expect(http.arrived.at(-1)?.path).toBe('/typed');
    expect(await alerts('add', 'other', '--slack', '-')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected the address on standard input, got nothing'),
    });
  });

  test.each([
    ['no receiver', [], /expected one of --webhook URL.*got none/],
    [
      'two receivers',
      ['--slack', 'https://example.com', '--email', 'a@example.com'],
      /got --slack and --email/,
    ],
    [
      'plain http to another machine',
      ['--slack', 'http://example.com/hush'],
      /expected https, got http:\/\/ to example\.com/,
    ],
    [
      'a password in an address',
      ['--webhook', 'https://me:hush@example.com'],
      /expected no user name or password/,
    ],
    ['no address', ['--ping', 'hush'], /expected a URL/],
    [
      'two mailboxes',
      ['--email', 'a@example.com,b@example.com'],
      /expected an address such as ops@example\.com/,
    ],
    [
      'a header in a mailbox',
      ['--email', 'a@example.com\r\nBcc:b@example.com'],
      /expected an address/,
    ],
    [
      'another server',
      ['--email', 'a@example.com', '--smtp', 'https://hush.example.com'],
      /expected smtps:/,
    ],
    [
      'an unknown cause',
      ['--ping', 'https://example.com', '--cause', 'quarantin'],
      /did you mean quarantine\?/,
    ],
    [
      'a clock without a ping',
      ['--slack', 'https://example.com', '--every', '5m'],
      /--every: expected it with --ping/,
    ],
    [
      'a value that is no duration',
      ['--ping', 'https://example.com', '--every', 'often'],
      /expected a span such as 30s/,
    ],
    [
      'an unknown account',
      ['--ping', 'https://example.com', '--account', 'nowhere'],
      /no account "nowhere"/,
    ],
  ])('refuses %s, and repeats no secret', async (_, args, message) => {
    const refused = await alerts('add', 'ops', ...args);
    expect(refused).toMatchObject({code: 2, stdout: '', stderr: expect.stringMatching(message)});
    expect(refused.stderr).not.toContain('hush');
    expect(await query('SELECT FROM sync.alert_rules')).toEqual([]);
  });

  test('refuses a name that is taken, and an invalid name', async () => {
    await alerts('add', 'ops', '--email', 'ops@example.com');
    expect(await alerts('add', 'ops', '--email', 'ops@example.com')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is a rule ops already; fieldmirror alerts remove ops'),
    });
    expect(await alerts('add', 'o ps', '--email', 'ops@example.com')).toMatchObject({code: 2});
  });
});

describe('alerts test', () => {
  test("prints the receiver's answer, and fails if it is not a success", async () => {
    await alerts('add', 'ops', '--slack', `${http.url}/hush`);
    expect(await alerts('test', 'ops')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/took it: 200, in \d+ ms/),
    });
    expect(JSON.parse(http.arrived.at(-1)?.body ?? '{}').text).toContain(
      'a test of the alert rule ops',
    );
    http.manners = () => 404;
    const failed = await alerts('test', 'ops');
    expect(failed).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(/expected an answer of 2xx, got 404/),
    });
    expect(failed.stderr).not.toContain('hush');
  });

  test('prints which key it needs, and suggests the rule with the nearest name', async () => {
    await alerts('add', 'ops', '--slack', `${http.url}/hush`);
    const {FIELDMIRROR_KEY: _, ...bare} = env;
    expect(await runCommand(['alerts', 'test', 'ops'], bare)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        inSequence(
          /alert rule ops: it is sealed with key [0-9a-f]{8}, /,
          /expected that key in FIELDMIRROR_KEY, got none/,
        ),
      ),
    });
    expect(await alerts('test', 'opss')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean ops?'),
    });
  });

  test('does not open an address that was sealed for another rule', async () => {
    await alerts('add', 'ops', '--slack', `${http.url}/hush`);
    await query(`UPDATE sync.alert_rules SET name = 'other'`);
    expect(await alerts('test', 'other')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('is damaged'),
    });
  });
});

test('alerts remove deletes a rule and, with the last rule, all alerts', async () => {
  await alerts('add', 'ops', '--email', 'ops@example.com');
  await query(`INSERT INTO sync.alerts (cause, since, text) VALUES ('growth', now(), 'large')`);
  expect((await alerts('list')).stdout).toMatch(/Open now:\n {2}large \(found/);
  expect(await alerts('remove', 'ops')).toMatchObject({
    code: 0,
    stdout: 'ops no longer reports to anyone\n',
  });
  expect(await query('SELECT FROM sync.alerts')).toEqual([]);
  expect((await alerts('list')).stdout).toContain(
    'no one is notified of problems: fieldmirror alerts add',
  );
});

test('start sends an alert for a problem; status names a rule whose messages fail', async () => {
  await alerts('add', 'ops', '--webhook', `${http.url}/start`);
  await query(failedSweep.breaks);
  const before = http.arrived.length;
  const running = startCommand(['start', '--no-http'], {...env, FIELDMIRROR_LOG_LEVEL: 'info'});
  await running.prints(/an alert was taken/);
  running.process.kill('SIGINT');
  const ended = await running.ended;
  expect(ended.code).toBe(0);
  expect(http.arrived[before]).toMatchObject({
    path: '/start',
    body: expect.stringContaining('the last full sweep failed'),
  });
  expect(`${ended.stdout}${ended.stderr}`).not.toContain('/start');
  await query(
    `INSERT INTO sync.alert_deliveries (rule_id, kind, attempts, fence, last_error, created_at)
     SELECT rule_id, 'digest', 5, 5, 'example.com: expected an answer of 2xx, got 500',
       now() - interval '2 hours' FROM sync.alert_rules`,
  );
  const {stdout} = await runCommand(['status'], env);
  expect(stdout).toMatch(
    inSequence(
      /messages of the alert rule ops do not arrive, for 2 h: .*got 500 /,
      /\(see:\s+fieldmirror explain A21\)\n +fieldmirror alerts test ops/,
    ),
  );
  expect((await alerts('list')).stdout).toMatch(/ops does not arrive, 2 h ago: .*got 500/);
});
