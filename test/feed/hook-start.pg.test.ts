import {Webhook} from 'standardwebhooks';
import {expect, inject, test} from 'vitest';
import {openHttpReceiver} from '../support/alert-receivers.ts';
import {runCommand, startCommand} from '../support/command.ts';
import {openPlace} from '../support/place.ts';
import {SetUp} from '../support/set-up.ts';
import {withClient} from '../support/with-client.ts';
import {keyText} from './hooks-place.ts';

test('start sends the write of an author to a subscriber, and ends on SIGINT', async () => {
  const setUp = new SetUp();
  try {
    const place = await setUp.step(
      'opening the place',
      () => openPlace({}, inject('warehouseTemplate')),
      (opened) => opened.close(),
    );
    const http = await setUp.step('opening the receiver', openHttpReceiver, (opened) =>
      opened.close(),
    );
    const env = {...place.env, FIELDMIRROR_KEY: keyText};
    expect(await runCommand(['sync', 'tasks'], env)).toMatchObject({code: 0});
    const added = await runCommand(
      ['hooks', 'add', 'erp', '--url', `${http.url}/erp`, '--table', 'tasks', '--json'],
      env,
    );
    expect(added, added.stderr).toMatchObject({code: 0});
    const {secret} = JSON.parse(added.stdout);
    const started = startCommand(['start', '--no-http'], env);
    await started.prints(/Running\. Ctrl-C/);
    await withClient(place.databaseUrl, (client) =>
      client.query(`INSERT INTO warehouse.tasks (name) VALUES ('Order a ladder')`),
    );
    await http.awaitCount(1);
    const [{body, headers} = {body: '', headers: {}}] = http.arrived;
    const head = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, String(value)]),
    );
    new Webhook(secret).verify(body, head);
    expect(JSON.parse(body).data.entries[0]).toMatchObject({
      table: 'tasks',
      operation: 'created',
      after: {name: 'Order a ladder'},
    });
    started.process.kill('SIGINT');
    expect(await started.ended).toMatchObject({code: 0});
  } finally {
    await setUp.end();
  }
});
