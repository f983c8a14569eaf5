// The main job in a process of its own tells of its own requests, its queue and its worker.

import {expect, inject, onTestFinished, test} from 'vitest';
import {startCommand} from '../support/command.ts';
import {openPlace} from '../support/place.ts';
import {figureOf, readExposition} from './exposition.ts';

test('start counts its requests in /metrics, and is ready while its worker is alive', async () => {
  const place = await openPlace({}, inject('warehouseTemplate'));
  onTestFinished(() => place.close());
  const running = startCommand(['start', '--json', '--port', '0'], {
    ...place.env,
    FIELDMIRROR_LOG_LEVEL: 'info',
  });
  onTestFinished(async () => {
    running.process.kill('SIGINT');
    await running.ended;
  });
  const url =
    /http:\/\/127\.0\.0\.1:\d+/.exec(await running.prints(/"console": ?"http:[^"]+"/))?.[0] ?? '';
  await running.prints(/"sweep\.ended"/);
  await expect.poll(async () => (await fetch(`${url}/readyz`)).status, {timeout: 30_000}).toBe(200);
  const {checks} = JSON.parse(await (await fetch(`${url}/readyz`)).text());
  expect(checks).toContainEqual({check: 'queue', verdict: 'ok'});
  const told = readExposition(await (await fetch(`${url}/metrics`)).text());
  const [requests] = told.get('fieldmirror_service_requests_total')?.lines ?? [];
  expect(requests?.labels).toMatchObject({method: 'GET', result: '200'});
  expect(requests?.value).toBeGreaterThan(0);
  expect(figureOf(told, 'fieldmirror_workers_alive')).toBe(1);
});
