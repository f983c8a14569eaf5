import type {ServerResponse} from 'node:http';
import type {Sleep} from '../../src/core/pauses.ts';
import {EMPTY_LIST} from './read-outcome.ts';
import {type Scripted, type Seen, startServer} from './scripted-server.ts';

/** A sleep that lasts until the test or its signal wakes it. */
export function gateSleep(): {sleep: Sleep; slept: number[]; wake: () => void} {
  const slept: number[] = [];
  const wakers: (() => void)[] = [];
  const sleep: Sleep = async (ms, signal) => {
    slept.push(ms);
    await new Promise<void>((resolve, reject) => {
      wakers.push(resolve);
      signal?.addEventListener('abort', () => reject(signal.reason), {once: true});
    });
  };
  const wake = () => {
    for (const one of wakers.splice(0)) one();
  };
  return {sleep, slept, wake};
}

/** Lets every ready step run, and every byte on its way through a socket of this machine arrive. */
export async function turnOfLoop(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

export interface Held {
  readonly seen: Seen;
  answer(status?: number, body?: string): void;
}

/** A server that holds every request until the test answers it. */
export async function startGatedServer(): Promise<Scripted & {next: () => Promise<Held>}> {
  const held: Held[] = [];
  const waiting: ((one: Held) => void)[] = [];
  const server = await startServer((response, seen) => {
    const one = {seen, answer: answerer(response)};
    const taker = waiting.shift();
    if (taker === undefined) held.push(one);
    else taker(one);
  });
  const next = () =>
    new Promise<Held>((resolve) => {
      const one = held.shift();
      if (one === undefined) waiting.push(resolve);
      else resolve(one);
    });
  return {...server, next};
}

function answerer(response: ServerResponse) {
  return (status = 200, body = EMPTY_LIST) => {
    response.writeHead(status, {'content-type': 'application/xml; charset=utf-8'});
    response.end(body);
  };
}
