// The names by which the server may be asked: one rule for every address that it has. Only probes
// of a server that is open to other machines are answered by any name.

import {request} from 'node:http';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import type {Route} from '../../src/console/server.ts';
import {openPlace, type Place} from './place.ts';

const setUps = [
  {
    what: 'a server of this machine alone',
    host: '127.0.0.1',
    publicUrl: null,
    hostNames: [],
    known: ['localhost', '127.0.0.1', 'LocalHost'],
    unknown: ['evil.example', '10.0.0.1', '127.0.0.1.evil.example', 'mirror.example.com'],
    areProbesOpen: false,
  },
  {
    what: 'a server behind a proxy of the same machine',
    host: '127.0.0.1',
    publicUrl: new URL('https://mirror.example.com'),
    hostNames: ['mirror.internal'],
    known: ['localhost', 'mirror.example.com', 'mirror.internal'],
    unknown: ['evil.example', '10.0.0.1', 'example.com'],
    areProbesOpen: true,
  },
  {
    what: 'a server that is open to other machines',
    host: '0.0.0.0',
    publicUrl: new URL('https://mirror.example.com'),
    hostNames: ['mirror', 'mirror.prod.svc'],
    known: ['localhost', '10.1.2.3', '[fd00::7]', 'mirror.example.com', 'mirror.prod.svc'],
    unknown: ['evil.example', '10.1.2.3.evil.example', 'prod.svc'],
    areProbesOpen: true,
  },
] as const;

describe.each(setUps)('$what', ({host, publicUrl, hostNames, known, unknown, areProbesOpen}) => {
  let place: Place;
  beforeAll(async () => {
    place = await openPlace({publicUrl, hostNames}, host);
  });
  afterAll(() => place?.close());

  const ask = async ({method, path}: Route, name: string) => {
    const {port} = new URL(place.url);
    return await new Promise<number | undefined>((resolve, reject) => {
      request({host: '127.0.0.1', port, path, method, headers: {host: name}}, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end();
    });
  };
  const isProbe = ({path}: Route) => path === '/livez' || path === '/readyz';
  /** Every address, and those that there are not. */
  const listRoutes = (): readonly Route[] => [
    ...place.routes.map(({method, path}) => ({method, path: path.replaceAll(/[:*]\w*/g, '1')})),
    {method: 'GET', path: '/nothing'},
    {method: 'GET', path: '/v1/nothing'},
  ];

  test.each(unknown)(
    'rejects the host name %s at every route, except at open probes',
    async (name) => {
      const routes = listRoutes();
      expect(routes.length).toBeGreaterThan(80);
      const answered = [];
      for (const route of routes) {
        const status = await ask(route, `${name}:8086`);
        if (status !== 421) answered.push(`${route.method} ${route.path}`);
      }
      expect(answered).toEqual(areProbesOpen ? ['GET /livez', 'GET /readyz'] : []);
    },
  );

  test.each(known)('accepts the host name %s', async (name) => {
    for (const path of ['/sign-in', '/', '/v1/customers', '/metrics', '/livez', '/readyz']) {
      expect(await ask({method: 'GET', path}, `${name}:8086`), path).not.toBe(421);
    }
  });

  test('has two probes among the tested routes', () => {
    expect(listRoutes().filter(isProbe)).toHaveLength(2);
  });
});

test('a refusal names the settings that define the host names', async () => {
  const place = await openPlace();
  const {port} = new URL(place.url);
  const read = async (path: string) =>
    await new Promise<string>((resolve, reject) => {
      request({host: '127.0.0.1', port, path, headers: {host: 'evil.example'}}, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece) => {
          text += piece;
        });
        answer.on('end', () => resolve(text));
      })
        .on('error', reject)
        .end();
    });
  for (const path of ['/', '/v1/customers', '/metrics', '/livez'])
    expect(await read(path), path).toMatch(/FIELDMIRROR_CONSOLE_URL.*FIELDMIRROR_HOST_NAMES/);
  await place.close();
});
