// Whatever status the service answers with, it is no bug of ours: every one from 100 to 599 is told
// with its words and the next step, on a list, on a record and on a write.

import {expect, test} from 'vitest';
import {createClient} from '../../src/api/client.ts';
import {isMissingRecord} from '../../src/api/verdict.ts';
import {exitCodeOf} from '../../src/cli/process.ts';
import {openTransport} from './open-transport.ts';
import {EMPTY_LIST, failureOf} from './read-outcome.ts';
import {startRawServer} from './scripted-server.ts';

const once = {retry: {attempts: 1}};
const words = 'not today';
const statuses = Array.from({length: 500}, (_, at) => 100 + at);
/** Without a body, by HTTP; 101 is an answer that nobody asked for. */
const wordless = (status: number) => status < 200 || [204, 205, 304].includes(status);

async function answerWith(
  body: string,
): Promise<{readonly at: (status: number) => void; readonly url: string}> {
  let answer = '';
  const server = await startRawServer((socket) => socket.end(answer));
  return {
    url: server.url,
    at: (status) => {
      const lines = [
        `HTTP/1.1 ${status} Words`,
        'connection: close',
        'content-type: application/xml',
        ...(wordless(status) ? [] : [`content-length: ${body.length}`]),
      ];
      answer = `${lines.join('\r\n')}\r\n\r\n${wordless(status) ? '' : body}`;
    },
  };
}

const refusal = `<errors><error>${words}</error></errors>`;

test('a read of a list reports any failure status, its words and the next step', async () => {
  const {url, at} = await answerWith(refusal);
  const client = createClient(openTransport(url, once));
  for (const status of statuses.filter((each) => each !== 200 && each !== 401)) {
    at(status);
    const error = await failureOf(client.fetchPage('/jobs.xml', {}));
    checkTold(error, status);
  }
});

test('a read of a record reports any failure status; 404 and 410 mean it is missing', async () => {
  const {url, at} = await answerWith(refusal);
  const transport = openTransport(url, once);
  for (const status of statuses.filter((each) => each !== 200 && each !== 401)) {
    at(status);
    const read = transport.read({path: '/jobs/7.xml'});
    if (status === 404 || status === 410) {
      expect(isMissingRecord(await read), String(status)).toBe(true);
      continue;
    }
    checkTold(await failureOf(read), status);
  }
});

test('a write is done on 2xx, refused on 4xx or 503, and in doubt on other statuses', async () => {
  const {url, at} = await answerWith(refusal);
  const transport = openTransport(url, once);
  for (const status of statuses.filter((each) => each !== 401)) {
    at(status);
    const result = await transport.write({method: 'PUT', path: '/jobs/7.xml', body: '<job/>'});
    const about = `${status}: ${JSON.stringify(result)}`;
    if (status >= 200 && status < 300) {
      expect(result.outcome, about).toBe('done');
      continue;
    }
    const isCertain = (status >= 400 && status < 500) || status === 503;
    expect(result.outcome, about).toBe(isCertain ? 'refused' : 'in-doubt');
    if (result.outcome === 'refused') checkTold(result.error, status);
    else if (result.outcome === 'in-doubt' && status >= 200)
      expect(result.reason).toContain(`got ${status}`);
  }
});

test.each([
  ['a list', '/jobs.xml'],
  ['a record', '/jobs/7.xml'],
])('401 on %s ends with exit code 3, and the next write is refused with 401', async (_, path) => {
  const {url, at} = await answerWith(refusal);
  const transport = openTransport(url, once);
  at(401);
  checkTold(await failureOf(transport.read({path})), 401);
  const written = await transport.write({method: 'PUT', path: '/jobs/7.xml', body: '<job/>'});
  expect(written).toMatchObject({outcome: 'refused', status: 401});
});

test('an answer with 200 is read', async () => {
  const {url, at} = await answerWith(EMPTY_LIST);
  at(200);
  expect(isMissingRecord(await openTransport(url, once).read({path: '/jobs.xml'}))).toBe(false);
});

function checkTold(error: Error, status: number): void {
  const about = `${status}: ${error.message}`;
  expect(exitCodeOf(error), about).toBe(3);
  expect(error.message, about).toMatch(/^(?:GET|PUT) \/jobs/);
  // An interim answer and nothing behind it is no answer.
  if (status < 200) return;
  expect(error.message, about).toContain(`got ${status}`);
  if (!wordless(status)) expect(error.message, about).toContain(words);
  expect(error.message, about).toMatch(/; \S/);
}
