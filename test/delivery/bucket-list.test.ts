// A server that misbehaves holds up no worker, neither by a list without end nor by no answer.

import {once} from 'node:events';
import {createServer, type RequestListener} from 'node:http';
import {afterEach, expect, test} from 'vitest';
import {FatalError} from '../../src/core/errors.ts';
import type {BucketStore} from '../../src/delivery/bucket-store.ts';
import {openBucketAt} from './bucket-at.ts';

let answer: RequestListener;
const server = createServer((request, response) => answer(request, response));
const shutdown = new AbortController();

async function openStore(): Promise<BucketStore> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return openBucketAt(server, shutdown.signal);
}

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

test('a list without end is an error that names the prefix', async () => {
  let requests = 0;
  answer = (_request, response) => {
    requests++;
    response.end(`<ListBucketResult><IsTruncated>true</IsTruncated>
      <NextContinuationToken>t${requests}</NextContinuationToken></ListBucketResult>`);
  };
  const store = await openStore();
  const error = await store.list().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(FatalError);
  expect(String(error)).toMatch(
    /s3:\/\/lake\/star at 127\.0\.0\.1:\d+: expected a list of at most 1000 pages, got page 1001; /,
  );
  expect(requests).toBe(1000);
  await store.end();
});

test('a worker that stops waits for no list', async () => {
  const asked = Promise.withResolvers<void>();
  answer = () => asked.resolve();
  const store = await openStore();
  const listed = store.list().catch((thrown: unknown) => thrown);
  await asked.promise;
  shutdown.abort(new Error('stopping'));
  expect(String(await listed)).toBe('Error: stopping');
  await store.end();
});
