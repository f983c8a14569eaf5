// An answer that ends at any byte, however its length is told, is an error or the whole list, never
// a part.

import {expect, test} from 'vitest';
import {openTransport} from './open-transport.ts';
import {readJobs} from './read-jobs.ts';
import {answerOf} from './read-outcome.ts';
import {startRawServer} from './scripted-server.ts';

const body =
  '<jobs type="array"><job><job-number type="integer">1</job-number></job>' +
  '<job><job-number type="integer">2</job-number></job></jobs>';
const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/xml\r\n';
const half = body.length >> 1;

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

test.each([
  ['content-length', `${head}content-length: ${body.length}\r\n\r\n${body}`],
  [
    'chunks',
    `${head}transfer-encoding: chunked\r\n\r\n` +
      `${chunk(body.slice(0, half))}${chunk(body.slice(half))}${chunk('')}`,
  ],
  ['the end of the connection', `${head}connection: close\r\n\r\n${body}`],
])('a list delimited by %s and cut at any byte is an error, or read in full', async (_, whole) => {
  let cutAt = 0;
  const server = await startRawServer((socket) => socket.end(whole.slice(0, cutAt)));
  const transport = openTransport(server.url, {retry: {attempts: 1}});
  const read = async () =>
    readJobs((await answerOf(transport.read({path: '/jobs.xml'}))).body).records.length;
  for (; cutAt < whole.length; cutAt++)
    expect(await read().catch(() => 'refused'), `at ${cutAt}`).toSatisfy(
      (found) => found === 2 || found === 'refused',
    );
  expect(await read()).toBe(2);
});
