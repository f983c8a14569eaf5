// The reference service with faults on purpose, as somebody who tries a client meets them.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {UsageError} from '../../src/core/errors.ts';
import {readFaults} from '../../src/service/faults.ts';
import {type RunningService, startService} from '../../src/service/server.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Requests of the account's owner, at a service whose faults are as told. */
interface Caller {
  readonly service: RunningService;
  /** Null where the connection broke. */
  ask(method: string, path: string, body?: string): Promise<Answer | null>;
}

async function withFaults(faults: string, work: (caller: Caller) => Promise<void>): Promise<void> {
  const service = await startService({databaseUrl: database.url, faults: readFaults(faults)});
  const authorization = `Basic ${btoa(`${service.token}:${service.token}`)}`;
  const ask = async (method: string, path: string, body?: string) => {
    const init = {method, headers: {authorization, 'content-type': 'application/xml'}};
    const request = {...init, ...(body === undefined ? {} : {body})};
    return await fetch(`${service.url}${path}`, request).then(
      async (answer) => ({
        status: answer.status,
        headers: answer.headers,
        text: await answer.text(),
      }),
      () => null,
    );
  };
  try {
    await work({service, ask});
  } finally {
    await service.close();
  }
}

/** How many customers of a name the service has. */
async function count(name: string): Promise<number> {
  let found = 0;
  await withFaults('lost=0', async ({ask}) => {
    const answer = await ask('GET', `/customers.xml?name=${encodeURIComponent(name)}`);
    found = answer?.text.split('<customer>').length ?? 0;
  });
  return found - 1;
}

const create = (name: string) => `<customer><name>${name}</name></customer>`;

describe('a service with faults', () => {
  const cases = [
    {faults: 'throttled=1', status: 429, done: 0},
    {faults: 'unavailable=1', status: 503, done: 0},
    {faults: 'failed=1', status: 500, done: 1},
    {faults: 'lost=1', status: null, done: 1},
    {faults: 'late=1,late-seconds=3600', status: null, done: 0},
  ];

  test.each(cases)(
    '$faults: the client gets status $status, and records created: $done',
    async ({faults, status, done}) => {
      await withFaults(faults, async ({ask}) => {
        const answer = await ask('POST', '/customers.xml', create(faults));
        expect(answer?.status ?? null).toBe(status);
      });
      expect(await count(faults)).toBe(done);
    },
  );

  test('a late write is applied once, after the connection was broken', async () => {
    await withFaults('late=1,late-seconds=0', async ({ask}) => {
      expect(await ask('POST', '/customers.xml', create('late'))).toBeNull();
      await expect.poll(() => count('late')).toBe(1);
    });
    expect(await count('late')).toBe(1);
  });

  test('a throttled client gets a Retry-After header of 1 to 5 seconds', async () => {
    await withFaults('throttled=1', async ({ask}) => {
      const answer = await ask('GET', '/customers.xml');
      expect(answer?.headers.get('retry-after')).toMatch(/^[1-5]$/);
    });
  });

  test('an invalid request still gets 422, not the fault', async () => {
    await withFaults('failed=1', async ({ask}) => {
      const answer = await ask('POST', '/customers.xml', create(''));
      expect(answer?.status).toBe(422);
    });
  });

  test('a read is never late, and a request without a token gets 401 and no fault', async () => {
    await withFaults('late=1', async ({ask}) => {
      expect((await ask('GET', '/customers.xml'))?.status).toBe(200);
    });
    await withFaults('lost=1', async ({service}) => {
      expect((await fetch(`${service.url}/customers.xml`)).status).toBe(401);
    });
  });

  test('a clock that is ahead shows in the header Date and in the times of records', async () => {
    await withFaults('skew=7200', async ({ask}) => {
      const answer = await ask('POST', '/customers.xml', create('ahead'));
      const made = /<created-at[^>]*>([^<]+)</.exec(answer?.text ?? '')?.[1] ?? '';
      const aheadMs = 7_000_000;
      expect(Date.parse(answer?.headers.get('date') ?? '') - Date.now()).toBeGreaterThan(aheadMs);
      expect(Date.parse(made) - Date.now()).toBeGreaterThan(aheadMs);
    });
  });

  test('the same requests meet the same faults each time', async () => {
    const fates: (number | null)[][] = [];
    for (const _ of [1, 2])
      await withFaults('throttled=0.3,lost=0.3', async ({ask}) => {
        const seen: (number | null)[] = [];
        for (let nth = 0; nth < 20; nth++)
          seen.push((await ask('GET', '/employees.xml'))?.status ?? null);
        fates.push(seen);
      });
    expect(fates[0]).toEqual(fates[1]);
    expect(new Set(fates[0])).toEqual(new Set([200, 429, null]));
  });
});

describe('the list of faults', () => {
  test('usual is a mix of faults, and a single share can be changed', () => {
    const faults = readFaults('usual,lost=0.5');
    expect(faults.shares).toMatchObject({lost: 0.5, late: 0.02, failed: 0.02});
    expect(faults.delay).toBe(200);
  });

  test.each([
    ['lots=0.1', /expected one of usual, throttled, .*got lots=0\.1 \(did you mean lost\?\)/],
    ['', /got nothing/],
    ['lost=2', /a share of the requests from 0 to 1, such as lost=0\.05, got lost=2/],
    ['lost', /got lost$/],
    ['lost=0.6,late=0.6', /shares of at most 1 in all, got 1\.2/],
    ['delay=1.5', /delay in whole milliseconds from 0 to 600000, got delay=1\.5/],
    ['skew=x', /skew in whole seconds from -86400 to 86400, got skew=x/],
  ])('%s is refused', (text, words) => {
    expect(() => readFaults(text)).toThrow(UsageError);
    expect(() => readFaults(text)).toThrow(words);
  });
});
