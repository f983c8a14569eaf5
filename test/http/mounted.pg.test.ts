import {expect, onTestFinished, test} from 'vitest';
import {figureOf, readExposition} from './exposition.ts';
import {openPlace} from './place.ts';

test('the HTTP API serves /metrics, /livez and /readyz without a key, and unlisted', async () => {
  const api = await openPlace();
  onTestFinished(() => api.close());
  const open = async (path: string) => (await fetch(api.url + path)).text();
  expect(figureOf(readExposition(await open('/metrics')), 'fieldmirror_warehouse_up')).toBe(1);
  expect(await open('/livez')).toBe('{"status":"ok"}');
  expect(JSON.parse(await open('/readyz'))).toMatchObject({status: 'not-ready'});
  expect((await api.get('/v1/customers', {key: null})).status).toBe(401);
  const paths = Object.keys((await api.get('/v1/openapi.json')).body.paths);
  expect(paths.filter((path) => /metrics|livez|readyz/.test(path))).toEqual([]);
});
