// The requests of this process, counted where they are sent.

import {afterEach, beforeEach, expect, test} from 'vitest';
import {Accounts} from '../../src/accounts/open-accounts.ts';
import {Secret} from '../../src/core/secret.ts';
import {list, type ScriptedService, scriptService} from '../support/scripted-service.ts';
import {figureOf} from './exposition.ts';
import {openTelemetry, type TelemetryPlace} from './telemetry-place.ts';

let place: TelemetryPlace;
let service: ScriptedService;
let accounts: Accounts;
/** Statuses of the next answers; afterwards 200. */
let statuses: number[];

beforeEach(async () => {
  place = await openTelemetry();
  statuses = [];
  service = await scriptService((_request, response) => {
    const status = statuses.shift() ?? 200;
    if (status === 0) {
      response.destroy();
      return true;
    }
    response.statusCode = status;
    response.end(status === 200 ? list('jobs', []) : '<errors><error>No.</error></errors>');
    return true;
  });
  accounts = new Accounts({
    pool: place.pool,
    keys: [],
    allowHttp: true,
    transport: {retry: {attempts: 3, sleep: async () => {}}, concurrency: {initial: 4, max: 4}},
  });
  await accounts.give(place.acme.accountId, {
    apiUrl: service.url,
    token: new Secret('canary-token-4711'),
  });
});
afterEach(async () => {
  await accounts.close();
  await service.close();
  await place.close();
});

async function countRequests(result: string, method = 'GET'): Promise<number | undefined> {
  const labels = {account: 'acme', method, result};
  return figureOf(await place.scrape(), 'fieldmirror_service_requests_total', labels);
}

const open = async () => (await accounts.open(place.acme.accountId)).api;
const readPage = async () => await (await open()).jobs.list();

test('each attempt is counted by its result, with its duration and answer size', async () => {
  accounts.observe(place.requests);
  statuses = [429, 0, 200];
  await readPage();
  expect([
    await countRequests('429'),
    await countRequests('network'),
    await countRequests('200'),
  ]).toEqual([1, 1, 1]);
  const told = await place.scrape();
  const duration = told.get('fieldmirror_service_request_duration_seconds')?.lines ?? [];
  expect(duration.find(({name}) => name.endsWith('_count'))).toMatchObject({
    labels: {account: 'acme', method: 'GET'},
    value: 3,
  });
  expect(figureOf(told, 'fieldmirror_service_concurrency', {account: 'acme'})).toBeLessThan(4);
  expect(
    figureOf(told, 'fieldmirror_service_answer_bytes_total', {account: 'acme'}),
  ).toBeGreaterThan(0);
});

test('requests of an open account are counted from the start of observation', async () => {
  await readPage();
  accounts.observe(place.requests);
  expect(await countRequests('200')).toBeUndefined();
  await readPage();
  expect(await countRequests('200')).toBe(1);
  expect(await countRequests('429')).toBe(0);
});

test('a write is counted as an attempt by its known outcome', async () => {
  accounts.observe(place.requests);
  const {transport} = await open();
  const write = {method: 'PUT', path: '/jobs/7.xml', body: '<job/>'} as const;
  statuses = [200, 422, 0];
  const outcomes: string[] = [];
  for (let attempt = 0; attempt < 3; attempt++)
    outcomes.push((await transport.write(write)).outcome);
  expect(outcomes).toEqual(['done', 'refused', 'in-doubt']);
  const told = await place.scrape();
  const attempts = (outcome: string) =>
    figureOf(told, 'fieldmirror_change_attempts_total', {account: 'acme', outcome});
  expect([...outcomes, 'not-sent'].map(attempts)).toEqual([1, 1, 1, 0]);
  expect(await countRequests('422', 'PUT')).toBe(1);
});
