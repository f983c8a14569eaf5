import {randomBytes} from 'node:crypto';
import {gzipSync} from 'node:zlib';
import {describe, expect, test} from 'vitest';
import {AccessError, FatalError, RecordError, RetryableError} from '../../src/core/errors.ts';
import {gateSleep, turnOfLoop} from './gates.ts';
import {makeJobPage} from './job-page.ts';
import {CANARY, openTransport} from './open-transport.ts';
import {always, answerOf, EMPTY_LIST, ENCODED, failureOf} from './read-outcome.ts';
import {startRawServer, startServer} from './scripted-server.ts';

describe('a read', () => {
  test('returns the body, its size on the wire, the server date and the duration', async () => {
    const page = makeJobPage({jobs: 30});
    const packed = gzipSync(page);
    const {transport} = await always(200, packed, {
      'content-encoding': 'gzip',
      date: 'Sat, 04 Jan 2031 14:00:00 GMT',
    });
    const answer = await answerOf(transport.read({path: '/jobs.xml'}));
    expect(answer.body.equals(page)).toBe(true);
    expect(answer.bodyBytes).toBe(packed.length);
    expect(answer.dateHeader).toBe('Sat, 04 Jan 2031 14:00:00 GMT');
    expect(answer.contentType).toBe('application/xml; charset=utf-8');
    expect(answer.ms).toBeGreaterThan(0);
  });

  test.each([
    ['at once', 3],
    ['in another thread', 400_000],
  ])(
    'unpacks both gzip parts of a body %s, although its end holds the length of the last only',
    async (_, length) => {
      // Texts that do not repeat are not packed any shorter.
      const parts = [randomBytes(length).toString('base64'), 'the end'];
      const {transport} = await always(200, Buffer.concat(parts.map((part) => gzipSync(part))), {
        'content-encoding': 'gzip',
      });
      const answer = await answerOf(transport.read({path: '/jobs.xml'}));
      expect(answer.body.toString()).toBe(parts.join(''));
    },
  );

  test.each([
    ['recognises', true],
    ['does not recognise', false],
  ])('leaves a body packed if its caller %s it: %s', async (_, isKnown) => {
    const page = makeJobPage({jobs: 3});
    const packed = gzipSync(page);
    const {transport} = await always(200, packed, {'content-encoding': ' GZIP'});
    const asked: unknown[] = [];
    const recognise = (body: unknown) => asked.push(body) > 0 && isKnown;
    const {body, coding} = await answerOf(transport.read({path: '/jobs.xml', recognise}));
    expect({body, coding}).toEqual(
      isKnown ? {body: packed, coding: 'gzip'} : {body: page, coding: ''},
    );
    expect(asked).toEqual([{bytes: packed, coding: 'gzip'}]);
  });

  test('does not try to recognise the body of a refusal', async () => {
    const {transport} = await always(
      400,
      gzipSync('<errors><error>Invalid job.</error></errors>'),
      {
        'content-encoding': 'gzip',
      },
    );
    const recognise = () => expect.unreachable();
    expect(await transport.read({path: '/jobs/7.xml', recognise})).toMatchObject({
      message: 'Invalid job.',
    });
  });

  test('sends the token as user and password, joins the path and encodes the query', async () => {
    const server = await startServer((response) => response.end(EMPTY_LIST));
    const transport = openTransport(`${server.url}/my-slug/`);
    await transport.read({path: '/jobs.xml', query: {page: '2', only: 'id,name', name: 'a&b=c d'}});
    expect(server.seen[0]?.url).toBe('/my-slug/jobs.xml?page=2&only=id%2Cname&name=a%26b%3Dc+d');
    expect(server.seen[0]?.headers.authorization).toBe(`Basic ${ENCODED}`);
    expect(server.seen[0]?.headers['accept-encoding']).toBe('gzip');
    expect(server.seen[0]?.headers['content-type']).toBeUndefined();
  });

  test('keeps its connection for the next read', async () => {
    const {server, transport} = await always(200, EMPTY_LIST);
    for (let n = 0; n < 20; n++) await transport.read({path: '/jobs.xml'});
    // Undici may open a second connection while the first is being handed back.
    expect(server.connections.length).toBeLessThanOrEqual(2);
  });

  test('survives a 103 before its answer', async () => {
    const server = await startRawServer((socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n');
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${EMPTY_LIST.length}\r\n\r\n${EMPTY_LIST}`);
    });
    expect(String((await answerOf(openTransport(server.url).read({path: '/jobs.xml'}))).body)).toBe(
      EMPTY_LIST,
    );
  });
});

describe('the answer to a read', () => {
  test.each<[number, string]>([
    [400, '<errors>\n  <error>Invalid job.</error>\n</errors>\n'],
    [
      400,
      '<?xml version="1.0" encoding="UTF-8"?>\n<errors><error>Invalid time entry.</error></errors>',
    ],
    [404, ''],
    [410, '<errors/>'],
  ])('is a missing record, not an error: %i %j', async (status, body) => {
    const {server, transport} = await always(status, body);
    const result = await transport.read({path: '/jobs/7.xml'});
    expect(result).toMatchObject({gone: true, status});
    expect(server.seen).toHaveLength(1);
  });

  test.each<[number, string, Record<string, string>]>([
    [400, '<errors><error>Invalid page.</error></errors>', {}],
    [400, '<errors><error>Invalid Username, Account or password.</error></errors>', {}],
    [400, 'Invalid job.', {}],
    [404, '<!DOCTYPE html><html></html>', {}],
    [404, 'not found', {'content-type': 'text/html'}],
    [403, '<errors><error>Invalid job.</error></errors>', {}],
    [500, '<errors><error>Invalid job.</error></errors>', {}],
  ])('is an error, not a missing record: %i %j', async (status, body, headers) => {
    const {transport} = await always(status, body, headers);
    await failureOf(transport.read({path: '/jobs/7.xml'}));
  });
});

describe('the status of an answer', () => {
  test.each([
    ['HTTP Basic: Access denied.\n', 'HTTP Basic: Access denied.'],
    [
      '<errors>\n  <error>Invalid Username, Account or password.</error>\n</errors>\n',
      'Invalid Username, Account or password.',
    ],
  ])('401 %j is an access error, without a retry', async (body, words) => {
    const {server, transport} = await always(401, body);
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(AccessError);
    expect(error.message).toContain(
      `GET /jobs.xml at ${transport.place}, attempt 1 of 4: ` +
        `expected access, got 401 (${words}); check the token`,
    );
    expect(server.seen).toHaveLength(1);
  });

  test('403 is a fatal error, but not an access error', async () => {
    const {transport} = await always(403);
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(FatalError);
    expect(error).not.toBeInstanceOf(AccessError);
  });

  test.each([301, 302, 303, 307, 308])(
    '%i is not followed, and the token is sent to no other address',
    async (status) => {
      const other = await startServer((response) => response.end(EMPTY_LIST));
      const {transport} = await always(status, '', {location: `${other.url}/jobs.xml`});
      const error = await failureOf(transport.read({path: '/jobs.xml'}));
      expect(error).toBeInstanceOf(FatalError);
      expect(error.message).toMatch(/redirects are not followed/);
      expect(other.seen).toEqual([]);
    },
  );

  test("422 is a record error with the service's words", async () => {
    const {server, transport} = await always(
      422,
      "<errors><error>Name can't be blank</error><error>Fax &amp; phone</error></errors>",
    );
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(RecordError);
    expect(error.message).toContain("Name can't be blank · Fax & phone");
    expect(server.seen).toHaveLength(1);
  });

  test('422 shows words cut short, without control characters or the token', async () => {
    const {transport} = await always(
      422,
      `bad\u0000\u001b[31m\r\n ${CANARY} ${ENCODED} ${'x'.repeat(500)}`,
    );
    const {message} = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(message).toContain('bad [31m [secret] [secret] xxx');
    expect(message).not.toMatch(/\p{Cc}/u);
    expect(message.length).toBeLessThan(400);
  });

  test.each([500, 502, 503, 504, 408, 429, 202])(
    '%i is retried, with four attempts in all',
    async (status) => {
      const {server, transport} = await always(status, '<html><body>secret page</body></html>');
      const error = await failureOf(
        transport.read({path: '/jobs.xml', query: {page: '3', name: 'Smith'}}),
      );
      expect(error).toBeInstanceOf(RetryableError);
      expect(error.message).toContain(`GET /jobs.xml?page=3 at ${transport.place}, attempt 4 of 4`);
      expect(error.message).not.toContain('Smith');
      expect(error.message).not.toContain('secret page');
      expect(server.seen).toHaveLength(4);
      expect(transport.pauses).toEqual([250, 500, 1000]);
    },
  );

  test('200 with an HTML page is retried', async () => {
    const {server, transport} = await always(200, '<html>', {
      'content-type': 'text/html; charset=utf-8',
    });
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(RetryableError);
    expect(error.message).toContain('an HTML page');
    expect(server.seen).toHaveLength(4);
  });

  test('503 three times and then 200 is read without an error', async () => {
    const server = await startServer((response, _, count) => {
      response.statusCode = count < 4 ? 503 : 200;
      response.end(EMPTY_LIST);
    });
    await answerOf(openTransport(server.url).read({path: '/jobs.xml'}));
    expect(server.seen).toHaveLength(4);
  });
});

describe('a body that cannot be unpacked', () => {
  const coded = {'content-encoding': 'gzip'};

  test.each([404, 410])(
    '%i with an empty body is still a missing record, despite its coding',
    async (status) => {
      const {transport} = await always(status, '', coded);
      expect(await transport.read({path: '/jobs/7.xml'})).toMatchObject({
        gone: true,
        status,
        message: 'an empty body',
      });
    },
  );

  test.each([401, 403, 302])(
    '%i is a fatal error without its words, and is not retried',
    async (status) => {
      const {server, transport} = await always(status, 'not packed', coded);
      expect(await failureOf(transport.read({path: '/jobs.xml'}))).toBeInstanceOf(FatalError);
      expect(server.seen).toHaveLength(1);
    },
  );

  test.each([429, 503])('%i still applies its Retry-After', async (status) => {
    const {transport} = await always(status, 'not packed', {...coded, 'retry-after': '7'});
    expect(await failureOf(transport.read({path: '/jobs.xml'}))).toHaveProperty(
      'retryAfterMs',
      7_000,
    );
  });

  test.each([200, 400, 404])('%i depends on its body, and is retried', async (status) => {
    const {server, transport} = await always(status, 'not packed', coded);
    expect(await failureOf(transport.read({path: '/jobs/7.xml'}))).toBeInstanceOf(RetryableError);
    expect(server.seen).toHaveLength(4);
  });

  test('a coding that was not requested fails at once', async () => {
    const {server, transport} = await always(200, 'x', {'content-encoding': 'br'});
    const error = await failureOf(transport.read({path: '/jobs.xml'}));
    expect(error).toBeInstanceOf(FatalError);
    expect(error.message).toContain('a body coded as "br"; only gzip was requested');
    expect(server.seen).toHaveLength(1);
  });

  test('the coding "identity, gzip" is unpacked like gzip', async () => {
    const {transport} = await always(200, gzipSync(EMPTY_LIST), {
      'content-encoding': 'identity, gzip',
    });
    expect(String((await answerOf(transport.read({path: '/jobs.xml'}))).body)).toBe(EMPTY_LIST);
  });
});

describe('Retry-After', () => {
  describe.each([429, 503])('with %i', (status) => {
    test.each<[string, number | null, number[]]>([
      ['7', 7_000, [7_000, 7_000, 7_000]],
      ['0', 0, [250, 500, 1_000]],
      ['Sat, 04 Jan 2031 14:00:09 GMT', 9_000, [9_000, 9_000, 9_000]],
      ['Sat, 04 Jan 2031 13:00:00 GMT', 0, [250, 500, 1_000]],
      ['soon', null, [250, 500, 1_000]],
      ['-5', null, [250, 500, 1_000]],
      ['999999999999999999999', 300_000, []],
      ['3600', 300_000, []],
      ['Sat, 04 Jan 2131 14:00:09 GMT', 300_000, []],
    ])('%s requests a wait of %s ms, capped', async (header, retryAfterMs, waits) => {
      const server = await startServer((response) => {
        response.sendDate = false;
        response.writeHead(status, {'retry-after': header});
        response.end();
      });
      const transport = openTransport(server.url, {
        now: () => Date.parse('Sat, 04 Jan 2031 14:00:00 GMT'),
      });
      const error = await failureOf(transport.read({path: '/jobs.xml'}));
      expect(error).toBeInstanceOf(RetryableError);
      expect(error).toHaveProperty('retryAfterMs', retryAfterMs);
      // The limiter holds the account as well: its pauses are among these.
      for (const wait of waits) expect(transport.pauses).toContain(wait);
      expect(server.seen).toHaveLength(waits.length + 1);
    });

    test('a date is compared with the Date header of the same answer', async () => {
      const server = await startServer((response) => {
        response.writeHead(status, {
          date: 'Fri, 03 Jan 2031 14:00:00 GMT',
          'retry-after': 'Fri, 03 Jan 2031 14:00:09 GMT',
        });
        response.end();
      });
      const now = () => Date.parse('Sat, 04 Jan 2031 14:00:00 GMT');
      const failure = failureOf(openTransport(server.url, {now}).read({path: '/jobs.xml'}));
      expect(await failure).toHaveProperty('retryAfterMs', 9_000);
    });

    test('on one request holds the other requests of the account', async () => {
      const server = await startServer((response, _, count) => {
        if (count === 1) response.writeHead(status, {'retry-after': '20'});
        response.end(EMPTY_LIST);
      });
      const {sleep, slept, wake} = gateSleep();
      const transport = openTransport(server.url, {clock: () => 0, retry: {attempts: 1, sleep}});
      await failureOf(transport.read({path: '/jobs.xml'}));
      const read = transport.read({path: '/tasks.xml'});
      const write = transport.write({method: 'DELETE', path: '/tasks/7.xml'});
      await turnOfLoop();
      expect(slept).toEqual([20_000]);
      expect(server.seen).toHaveLength(1);
      wake();
      await Promise.all([read, write]);
      expect(server.seen).toHaveLength(3);
    });

    test('holds for its full time, even if the read fails instead of waiting', async () => {
      const server = await startServer((response) => {
        response.writeHead(status, {'retry-after': '120'});
        response.end();
      });
      const transport = openTransport(server.url, {clock: () => 0});
      await failureOf(transport.read({path: '/jobs.xml'}));
      expect(transport.pauses).toEqual([]);
      await failureOf(transport.read({path: '/tasks.xml'}));
      expect(transport.pauses).toEqual([120_000]);
    });
  });

  test('on a write holds the reads of the account', async () => {
    const server = await startServer((response, {method}) => {
      if (method === 'DELETE') response.writeHead(429, {'retry-after': '20'});
      response.end(method === 'DELETE' ? '<errors><error>Later.</error></errors>' : EMPTY_LIST);
    });
    const {sleep, slept, wake} = gateSleep();
    const transport = openTransport(server.url, {clock: () => 0, retry: {sleep}});
    await transport.write({method: 'DELETE', path: '/tasks/7.xml'});
    const read = transport.read({path: '/tasks.xml'});
    await turnOfLoop();
    expect(slept).toEqual([20_000]);
    expect(server.seen).toHaveLength(1);
    wake();
    await read;
  });
});
