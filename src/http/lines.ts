// Answers of one JSON document a line, sent as they come to be.

import {once} from 'node:events';
import {PassThrough} from 'node:stream';
import {finished} from 'node:stream/promises';
import type {FastifyReply, FastifyRequest} from 'fastify';
import type {z} from 'zod';

export const linesType = 'application/x-ndjson';

/** One answer at the end, or lines as they come to be, where Accept says so. */
export function jsonOrLines(whole: z.ZodType, line: z.ZodType) {
  return {
    description: 'All of it in one; or line by line, for Accept: application/x-ndjson.',
    content: {'application/json': {schema: whole}, [linesType]: {schema: line}},
  };
}

/** Characters that wait for the socket before the sender waits as well. */
const mostWaiting = 65_536;

/** A reader that takes nothing for so long is cut off. */
const usualPatienceMs = 30_000;

/** Whether a request asks for lines, by its Accept. */
export function wantsLines({headers}: FastifyRequest): boolean {
  const accepted = (headers.accept ?? '')
    .split(',')
    .map((range) => range.toLowerCase().replace(/\s/g, ''));
  return accepted.some(
    (range) => range.split(';', 1)[0] === linesType && !/;q=0(?:\.0*)?(?:;|$)/.test(range),
  );
}

interface Sending {
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal;
  readonly patienceMs?: number;
}

/**
 * Sends what `batches` gives, a line for each item, and asks for the next batch when the reader has
 * taken so much of those before that little is left waiting. It resolves when all is sent, or the
 * client is gone.
 * @throws the first batch has failed: nothing is sent yet
 */
export async function sendLines(
  reply: FastifyReply,
  batches: AsyncGenerator<readonly unknown[], void, void>,
  {gone, patienceMs = usualPatienceMs}: Sending,
): Promise<void> {
  const first = (await batches.next()).value ?? undefined;
  const lines = new PassThrough({highWaterMark: mostWaiting});
  // A reader that goes away ends the answer, and is no error.
  lines.on('error', () => {});
  // A server that stops while lines are sent waits for the connection: the headers are out by then,
  // so they say it always.
  reply.header('connection', 'close').type(linesType).send(lines);
  const isTaken = (waiting: (options: {signal: AbortSignal}) => Promise<unknown>) =>
    waiting({signal: AbortSignal.any([gone, AbortSignal.timeout(patienceMs)])}).then(
      () => true,
      () => false,
    );
  try {
    for (let batch = first; batch !== undefined && !gone.aborted; ) {
      const text = batch.map((item) => `${JSON.stringify(item)}\n`).join('');
      if (!lines.write(text) && !(await isTaken((options) => once(lines, 'drain', options))))
        return;
      batch = gone.aborted ? undefined : ((await batches.next()).value ?? undefined);
    }
    lines.end();
    await isTaken((options) => finished(reply.raw, options));
  } finally {
    await batches.return();
    if (!reply.raw.writableFinished) reply.raw.destroy();
  }
}
