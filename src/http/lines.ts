// Many items of one request, done batch by batch: each batch in a transaction of its own, and the
// next one begins when the lines of the one before were taken. So no more is done than is told. And
// answers of one JSON document a line, sent as they come to be.

import {once} from 'node:events';
import {PassThrough} from 'node:stream';
import {finished} from 'node:stream/promises';
import type {FastifyReply, FastifyRequest} from 'fastify';
import type {z} from 'zod';
import type {Turns} from './keys.ts';
import {HttpProblem, linesType} from './problem.ts';

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

export interface BatchDeps {
  /** A batch has its turn: a reader that is slow keeps none. */
  readonly turns: Turns;
  /** Aborts when the server stops. */
  readonly stop: AbortSignal;
  readonly explain: (error: unknown) => HttpProblem;
}

interface Batches<Item, Line> {
  readonly items: readonly Item[];
  /** Items of one batch: few enough that its rows are locked for a moment alone. */
  readonly size: number;
  /** Whether the request has had a turn before: then the first batch waits, however many do. */
  readonly isPart?: boolean;
  /** Does one batch, in a transaction of its own. @returns its lines */
  readonly work: (batch: readonly Item[]) => Promise<Line[]>;
}

/**
 * Gives the lines of each batch when it is done.
 * @returns the problem of the batch that failed, which ends the work; null where all were done
 * @throws nothing was done: the first batch has failed
 */
export async function* inBatches<Item, Line>(
  {turns, stop, explain}: BatchDeps,
  apiKeyId: string,
  {items, size, work, isPart = false}: Batches<Item, Line>,
): AsyncGenerator<Line[], HttpProblem | null, void> {
  for (let at = 0; at < items.length; at += size) {
    const batch = items.slice(at, at + size);
    let lines: Line[];
    try {
      if (stop.aborted) throw stopped();
      lines = await turns.take(apiKeyId, () => work(batch), {isPart: isPart || at > 0});
    } catch (error) {
      if (at === 0) throw error;
      return explain(error);
    }
    yield lines;
  }
  return null;
}

function stopped(): HttpProblem {
  return new HttpProblem(503, 'stopping', {
    detail: 'the server stops',
    hint: 'Send the same again later: what was done stays done, and the rest is left as it was.',
  });
}
