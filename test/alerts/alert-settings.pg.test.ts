// Rules in a file of settings: made, changed and taken away by it; their addresses are given by
// hand.

import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {listSealingKeys} from '../../src/accounts/seals.ts';
import {listRules} from '../../src/alerts/alerts.ts';
import {failedSweep, keyText} from '../support/alerts-place.ts';
import {runCommand} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';
import {openToldPlace, type ToldPlace} from '../support/told-place.ts';

let place: ToldPlace;
let file: string;
beforeEach(async () => {
  place = await openToldPlace();
  file = join(await mkdtemp(join(tmpdir(), 'fieldmirror-alerts-')), 'fieldmirror.yaml');
});
afterEach(async () => {
  await rm(join(file, '..'), {recursive: true});
  await place.close();
});

const run = (...args: string[]) =>
  runCommand(args, {DATABASE_URL: place.url, FIELDMIRROR_KEY: keyText});

/** Applies a file with these rules. */
async function apply(rules: string) {
  await writeFile(file, `alerts:\n  ${rules}\n`);
  return await run('config', 'apply', file);
}

const problems = () =>
  place.query(`SELECT text, next_step AS next FROM sync.alerts WHERE cause = 'alerts-failing'`);

describe('an alert rule from a settings file', () => {
  test('waits for its address, loses no message meanwhile, and is reported', async () => {
    const made = await apply(
      'ops: {receiver: webhook, host: hooks.example.com, causes: [failed], quiet: 60m}',
    );
    expect(made, made.stderr).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/ops \/ causes/),
    });
    expect(await listRules(place.pool)).toMatchObject([
      {
        name: 'ops',
        hasAddress: false,
        target: 'hooks.example.com',
        causes: ['failed'],
        quietMs: 3_600_000,
      },
    ]);
    expect((await run('doctor')).stdout.replaceAll(/\s+/g, ' ')).toContain(
      'alert rule ops waits for its address; fieldmirror alerts add ops --webhook -',
    );
    expect((await run('alerts', 'list')).stdout).toMatch(
      /^ops waits for its address: fieldmirror alerts add ops --webhook -$/m,
    );
    expect(await run('alerts', 'test', 'ops')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected a rule with an address'),
    });
    expect(await listSealingKeys(place.pool)).toEqual([]);
    await place.query(failedSweep.breaks);
    await place.rounds();
    expect(await problems()).toEqual([]);
    await place.query(
      `UPDATE sync.alert_rules SET created_at = created_at - interval '11 minutes'`,
    );
    await place.rounds();
    expect(await problems()).toEqual([
      {
        text:
          'alert rule ops sends nothing: it waits for its address, ' +
          'which no file of settings has',
        next: 'fieldmirror alerts add ops --webhook -',
      },
    ]);

    const both = await run(
      'alerts',
      'add',
      'ops',
      '--webhook',
      `${place.http.url}/ops`,
      '--cause',
      'copy',
    );
    expect(both).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/address of ops alone.*got --cause/),
    });
    const other = await run('alerts', 'add', 'ops', '--slack', `${place.http.url}/ops`);
    expect(other).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('an address for webhook'),
    });
    const added = await run(
      'alerts',
      'add',
      'ops',
      '--webhook',
      `${place.http.url}/ops?s3cret`,
      '--json',
    );
    expect(added, added.stderr).toMatchObject({code: 0});
    expect(JSON.parse(added.stdout).secret).toMatch(/^whsec_/);
    await place.rounds();
    expect(
      place.http.arrived.map(({path, body}) => [path, JSON.parse(body).data.alerts[0].cause]),
    ).toEqual([['/ops?s3cret', 'failed']]);
    expect(await run('alerts', 'add', 'ops', '--webhook', place.http.url)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is a rule ops already'),
    });
    const told = await run('config', 'export');
    expect(told.stdout).toMatch(
      /^alerts:\n {2}ops:\n {4}receiver: webhook\n {4}host: 127\.0\.0\.1:\d+\n/m,
    );
    expect(told.stdout).not.toMatch(/s3cret|whsec/);
    expect(await run('config', 'plan', file, '--check')).toMatchObject({code: 0});
  });

  test('keeps address and messages when the file changes it, until remove: true', async () => {
    await place.addHook('ops');
    await place.addRule('watch', {ping: `${place.http.url}/watch`, everyMs: 86_400_000});
    await place.rounds();
    const changed = await apply(
      `{ops: {receiver: webhook, host: x.example.com, account: acme, quiet: 1d},
        watch: {receiver: ping, host: x.example.com, every: 1m}}`,
    );
    expect(changed, changed.stderr).toMatchObject({code: 0});
    expect(await listRules(place.pool)).toMatchObject([
      {name: 'ops', hasAddress: true, account: 'acme', quietMs: 86_400_000},
      {name: 'watch', hasAddress: true, everyMs: 60_000},
    ]);
    expect(
      await place.query(
        `SELECT due_at <= now() + interval '1 minute' AS soon FROM sync.alert_deliveries
         WHERE kind = 'ping'`,
      ),
    ).toEqual([{soon: true}]);
    await place.query(failedSweep.breaks);
    await place.rounds();
    expect(place.told()).toEqual(['failed opened']);
    expect(await apply('ops: {remove: true}')).toMatchObject({code: 0});
    expect((await listRules(place.pool)).map(({name}) => name)).toEqual(['watch']);
  });

  test('for email needs only its address, and with own_server also its server', async () => {
    const made = await apply('desk: {receiver: email, to: ops@example.com}');
    expect(made, made.stderr).toMatchObject({code: 0});
    expect(await listRules(place.pool)).toMatchObject([{hasAddress: true, keyId: null}]);
    const desk = 'receiver: email, to: two@example.com';
    expect(await apply(`desk: {${desk}, own_server: true}`)).toMatchObject({code: 0});
    expect(await listRules(place.pool)).toMatchObject([
      {hasAddress: false, target: 'two@example.com'},
    ]);
    const smtp = 'smtps://user:s3cret@mail.example.com';
    const wrong = await run(
      'alerts',
      'add',
      'desk',
      '--email',
      'three@example.com',
      '--smtp',
      smtp,
    );
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--email ADDRESS --smtp -'),
    });
    const added = await run('alerts', 'add', 'desk', '--email', 'two@example.com', '--smtp', smtp);
    expect(added, added.stderr).toMatchObject({code: 0});
    expect(await run('config', 'plan', file, '--check')).toMatchObject({code: 0});
    expect(await apply(`desk: {${desk}}`)).toMatchObject({code: 0});
    expect(await listRules(place.pool)).toMatchObject([{hasAddress: true, keyId: null}]);
  });
});

describe('config apply creates no rule from a file with', () => {
  const host = 'host: x.example.com';
  const refused = async (rules: readonly string[]) => {
    await place.addHook('held');
    const ended = await apply(`{${rules.join(', ')}}`);
    expect(ended.code).toBe(2);
    expect(await listRules(place.pool)).toMatchObject([{name: 'held', receiver: 'webhook'}]);
    return ended.stderr;
  };

  test('invalid values, addresses or secrets, and repeats no secret', async () => {
    const told = await refused([
      'a: {receiver: slack, url: "https://x.example.com/s3cret"}',
      'b: {receiver: slack, host: "https://x.example.com/s3cret"}',
      `c: {receiver: slack, ${host}, causes: [fialed]}`,
      `d: {receiver: slack, ${host}, causes: []}`,
      'e: {receiver: email, to: "a@x.com,b@x.com"}',
      `f: {receiver: ping, ${host}, every: 5ms}`,
      `g: {receiver: pager, ${host}}`,
      `h: {${host}}`,
    ]);
    for (const words of [
      inSequence(
        /fieldmirror\.yaml:2:\d+: alerts \/ a \/ url: there is no such key; /,
        /a receiver's address.* alerts add NAME/,
      ),
      /b \/ host: expected the host of its address alone/,
      /c \/ causes \/ 0: expected one of .*did you mean failed\?.*got "fialed"/,
      /d \/ causes: expected one cause or more/,
      /e \/ to: expected one address of e-mail/,
      /f \/ every: expected an interval of 1s or more/,
      /g \/ receiver: expected one of webhook, slack, email, ping, got "pager"/,
      /h \/ receiver: expected one of webhook, slack, email, ping, got nothing/,
    ])
      expect(told).toMatch(words);
    expect(told).not.toContain('s3cret');
  });

  test('missing or contradictory values', async () => {
    const told = await refused([
      'b: {receiver: slack}',
      'c: {receiver: email}',
      `d: {receiver: email, to: a@x.com, ${host}}`,
      `e: {receiver: slack, ${host}, every: 5m}`,
      `f: {receiver: slack, ${host}, account: acne}`,
      'held: {receiver: slack}',
    ]);
    for (const words of [
      /alerts \/ b: expected host, got nothing/,
      /alerts \/ c: expected to, got nothing/,
      /d \/ host: expected it with receiver: webhook, slack, ping alone/,
      /e \/ every: expected it with receiver: ping alone/,
      /account: expected the name of an account, got acne \(did you mean acme\?\)/,
      /held \/ receiver: expected webhook, as the rule has it, got slack/,
    ])
      expect(told).toMatch(words);
  });
});
