import {type AddressInfo, createServer, type Socket} from 'node:net';
import {afterEach, describe, expect, onTestFinished, test} from 'vitest';
import {catalogue} from '../../src/http/metric-catalogue.ts';
import {listenLocally} from '../support/local-server.ts';
import {figureOf, readExposition} from './exposition.ts';
import {openTelemetry, type TelemetryPlace} from './telemetry-place.ts';
import {fillWarehouse} from './telemetry-rows.ts';

let place: TelemetryPlace;
afterEach(() => place?.close());

/** A port of this machine where nothing listens. */
async function findClosedPort(): Promise<number> {
  const server = await listenLocally(() => {});
  await server.close();
  return Number(new URL(server.url).port);
}

/** A port of this machine that takes every connection and never says a word. */
async function openSilentPort(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  });
  return (server.address() as AddressInfo).port;
}

describe('the metrics', () => {
  test('are in the format of Prometheus, with the labels of the catalogue', async () => {
    place = await openTelemetry();
    await fillWarehouse(place);
    const {status, headers, text} = await place.get('/metrics');
    expect([status, headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    const told = readExposition(text);
    for (const {name, type, labels, help} of catalogue) {
      const family = told.get(name);
      expect(family, name).toMatchObject({type, help});
      expect(family?.lines.length, name).toBeGreaterThan(0);
      for (const line of family?.lines ?? [])
        expect(
          Object.keys(line.labels).filter((label) => label !== 'le'),
          name,
        ).toEqual([...labels]);
    }
    const known = catalogue.map(({name}) => name);
    const others = [...told.keys()].filter((name) => !known.includes(name));
    expect(others.filter((name) => !/^(?:process|nodejs)_/.test(name))).toEqual([]);
    expect(others).toContain('process_cpu_seconds_total');
  });

  test('hold no name of a person, no host and no name of a schedule', async () => {
    place = await openTelemetry();
    await fillWarehouse(place);
    const {text} = await place.get('/metrics');
    expect(text).toContain('account="acme"');
    expect(text).toContain('account="other \\"quoted\\""');
    for (const word of ['Rosalind', 'Okafor', 'dispatch-1', 'every night', 'example.com'])
      expect(text).not.toContain(word);
  });

  test('read the warehouse once per interval, with at most eighteen statements', async () => {
    place = await openTelemetry();
    await place.scrape();
    const each = place.statements();
    expect(each).toBeLessThanOrEqual(18);
    await Promise.all(Array.from({length: 100}, () => place.get('/metrics')));
    expect(place.statements()).toBe(each);
    place.pass();
    await Promise.all(Array.from({length: 100}, () => place.get('/metrics')));
    expect(place.statements()).toBe(2 * each);
  });
});

describe('while the warehouse does not answer', () => {
  test('the metrics report it, and the figures return with the warehouse', async () => {
    place = await openTelemetry();
    await fillWarehouse(place);
    expect(figureOf(await place.scrape(), 'fieldmirror_warehouse_up')).toBe(1);
    place.line.turnTo(await findClosedPort());
    const told = await place.scrape();
    expect(figureOf(told, 'fieldmirror_warehouse_up')).toBe(0);
    expect(told.get('fieldmirror_stream_proven_age_seconds')?.lines).toEqual([]);
    expect(told.get('fieldmirror_workers_alive')?.lines).toEqual([]);
    expect(figureOf(told, 'process_resident_memory_bytes')).toBeGreaterThan(0);
    const requests = {account: 'acme', method: 'GET', result: '200'};
    expect(figureOf(told, 'fieldmirror_service_requests_total', requests)).toBe(1);
    place.line.turnTo(place.postgresPort);
    expect(figureOf(await place.scrape(), 'fieldmirror_warehouse_up')).toBe(1);
    expect(figureOf(await place.scrape(), 'fieldmirror_workers_alive')).toBe(1);
  });

  test('the outage is logged once, and so is its end', async () => {
    place = await openTelemetry();
    place.line.turnTo(await findClosedPort());
    for (let scrape = 0; scrape < 3; scrape++) await place.scrape();
    place.line.turnTo(place.postgresPort);
    for (let scrape = 0; scrape < 2; scrape++) await place.scrape();
    expect(place.logged.map((line) => JSON.parse(line).msg)).toEqual([
      'metrics: the warehouse does not answer',
      'metrics: the warehouse answers again',
    ]);
    expect(place.logged[0]).toContain('Postgres at 127.0.0.1');
  });

  test('a scrape does not wait for a hanging warehouse, nor start a second reading', async () => {
    place = await openTelemetry({patienceMs: 50});
    place.line.turnTo(await openSilentPort());
    const told = await place.scrape();
    expect(figureOf(told, 'fieldmirror_warehouse_up')).toBe(0);
    // The reading that hangs is still under way, so a second scrape begins no other.
    const before = place.statements();
    await place.scrape();
    expect(place.statements()).toBe(before);
  });

  test('/livez answers 200 and sends no statement to it', async () => {
    place = await openTelemetry();
    place.line.turnTo(await openSilentPort());
    expect(await place.get('/livez')).toMatchObject({status: 200, text: '{"status":"ok"}'});
    expect(place.statements()).toBe(0);
  });
});
