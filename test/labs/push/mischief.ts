// The line between a client and a service, on which any fate can strike a request: seeded, so that
// the same request of the same seed meets the same fate in whatever order requests come.

import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import type {AddressInfo, Socket} from 'node:net';
import {setImmediate} from 'node:timers/promises';
import {Random} from '../../../src/service/vocabulary.ts';
import type {Answer, Asked, Backend} from './backend.ts';

/** The fates of a writing request. */
export const writeFates = [
  'pass',
  /** The service does it, and the answer is lost. */
  'lose',
  /** The service does it, and the answer ends at some byte. */
  'cut',
  /** The service does it, and says 500. */
  'fail',
  /** The request arrives after the client's connection broke: up to `latestSeconds` later. */
  'late',
  /** The request never arrives, and the connection breaks. */
  'drop',
  /** The answer is a gateway's page; the request never arrives. */
  'gateway',
  /** The service says for certain that it did nothing. */
  'busy',
  'throttled',
  /** Done, and the answer does not show the record. */
  'empty',
  'no-content',
  'located',
] as const;

export type WriteFate = (typeof writeFates)[number];

export type WriteOdds = Readonly<Record<WriteFate, number>>;

/** The longest time that a service takes to commit: less than the quarantine by a good deal. */
export const latestSeconds = 300;

interface Held {
  readonly asked: Asked;
  readonly dueAt: number;
}

export class Mischief {
  readonly #backend: Backend;
  readonly #seed: string;
  readonly #odds: WriteOdds;
  readonly #readTrouble: number;
  readonly #seen = new Map<string, number>();
  readonly #sockets = new Set<Socket>();
  #held: Held[] = [];
  #underWay = 0;
  #seconds = 0;
  #server: Server | null = null;
  #port = 0;
  isHealed = false;
  /**
   * Decides the fate of a write in place of the odds, or answers for the service; null leaves it to
   * the odds.
   */
  script: ((asked: Asked) => WriteFate | Answer | null) | null = null;
  /** How often each fate befell a write. */
  readonly fates: Record<WriteFate, number>;

  /**
   * @param options.readTrouble - how likely it is that a read is reset, cut or answered with 500
   */
  constructor(
    backend: Backend,
    options: {readonly seed: string; readonly odds: WriteOdds; readonly readTrouble: number},
  ) {
    this.#backend = backend;
    this.#seed = options.seed;
    this.#odds = options.odds;
    this.#readTrouble = options.readTrouble;
    const none = writeFates.map((fate) => [fate, 0] as const);
    this.fates = Object.fromEntries(none) as Record<WriteFate, number>;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Seconds that have passed in all. */
  get seconds(): number {
    return this.#seconds;
  }

  /** Listens; after `goDown`, on the same port. */
  async comeUp(): Promise<void> {
    if (this.#server !== null) return;
    const server = createServer((request, response) => {
      // The service's own date, or none: its clock is not this machine's.
      response.sendDate = false;
      this.#underWay++;
      this.#take(request, response)
        .catch(() => request.socket.destroy())
        .finally(() => this.#underWay--);
    });
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((done) => server.listen(this.#port, '127.0.0.1', done));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Refuses every connection before its first byte until it comes up again. */
  async goDown(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((done) => server?.close(done) ?? done(null));
  }

  /** Delivers the late requests that are due by then; requests on the line arrive first. */
  async pass(seconds: number): Promise<void> {
    for (let calm = 0; calm < 3; calm = this.#underWay === 0 ? calm + 1 : 0) await setImmediate();
    this.#seconds += seconds;
    const due = this.#held
      .filter(({dueAt}) => dueAt <= this.#seconds)
      .sort((one, other) => one.dueAt - other.dueAt);
    this.#held = this.#held.filter(({dueAt}) => dueAt > this.#seconds);
    for (const {asked} of due) await this.#backend(asked);
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const asked: Asked = {
      method: request.method as Asked['method'],
      path: request.url ?? '',
      authorization: request.headers.authorization ?? '',
      body: Buffer.concat(chunks),
    };
    const name = `${asked.method} ${asked.path}`;
    const nth = (this.#seen.get(name) ?? 0) + 1;
    this.#seen.set(name, nth);
    const random = new Random(this.#seed, name, nth);
    if (asked.method === 'GET') await this.#read(asked, {response, random});
    else await this.#write(asked, {response, random});
  }

  async #read(
    asked: Asked,
    {response, random}: {readonly response: ServerResponse; readonly random: Random},
  ): Promise<void> {
    if (this.isHealed || !random.isTrue(this.#readTrouble))
      return send(response, await this.#backend(asked));
    const trouble = random.pick(['reset', 'cut', 'fail'] as const);
    if (trouble === 'reset') response.socket?.resetAndDestroy();
    else if (trouble === 'fail') send(response, serverError);
    else cut(response, await this.#backend(asked), random);
  }

  async #write(
    asked: Asked,
    {response, random}: {readonly response: ServerResponse; readonly random: Random},
  ): Promise<void> {
    const drawn = writeFates[random.weighted(writeFates.map((fate) => this.#odds[fate]))] ?? 'pass';
    const fate = this.isHealed ? 'pass' : (this.script?.(asked) ?? drawn);
    if (typeof fate === 'object') return send(response, fate);
    this.fates[fate]++;
    switch (fate) {
      case 'drop':
        return void response.socket?.resetAndDestroy();
      case 'late':
        this.#held.push({asked, dueAt: this.#seconds + random.integer(0, latestSeconds)});
        return void response.socket?.resetAndDestroy();
      case 'gateway':
        return send(response, gatewayPage);
      case 'busy':
        return send(response, {...refusal, status: 503});
      case 'throttled':
        return send(response, {...refusal, status: 429});
      default:
        return garble(response, await this.#backend(asked), {fate, random});
    }
  }
}

const xml = {'content-type': 'application/xml; charset=utf-8'};
const refusal = {
  headers: xml,
  body: Buffer.from('<errors><error>Please try again later.</error></errors>'),
};
const serverError: Answer = {
  status: 500,
  headers: {'content-type': 'text/html'},
  body: Buffer.from("<html><body>We're sorry, but something went wrong.</body></html>"),
};
const gatewayPage: Answer = {
  status: 503,
  headers: {'content-type': 'text/html'},
  body: Buffer.from('<html><body><h1>503 Service Unavailable</h1></body></html>'),
};

/** Distorts the service's answer; a refusal stays a refusal, lest a rejected change look done. */
function garble(
  response: ServerResponse,
  answer: Answer,
  {fate, random}: {readonly fate: WriteFate; readonly random: Random},
): void {
  const {location} = answer.headers;
  const isDone = answer.status < 300;
  if (fate === 'lose') response.socket?.resetAndDestroy();
  else if (fate === 'cut') cut(response, answer, random);
  else if (fate === 'fail') send(response, serverError);
  else if (fate === 'empty' && isDone)
    send(response, {status: 200, headers: {}, body: Buffer.alloc(0)});
  else if (fate === 'no-content' && isDone)
    send(response, {status: 204, headers: {}, body: Buffer.alloc(0)});
  else if (fate === 'located' && isDone)
    send(response, {
      status: 201,
      headers: location === undefined ? {} : {location},
      body: Buffer.alloc(0),
    });
  else send(response, answer);
}

function send(response: ServerResponse, {status, headers, body}: Answer): void {
  response.writeHead(status, {
    ...headers,
    ...(status === 204 ? {} : {'content-length': body.length}),
  });
  response.end(body);
}

/** Cuts the answer at any byte of head or body. */
function cut(response: ServerResponse, {status, headers, body}: Answer, random: Random): void {
  const lines = Object.entries({...headers, 'content-length': String(body.length)}).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const whole = Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n`), body]);
  const {socket} = response;
  socket?.write(whole.subarray(0, random.integer(1, whole.length - 1)), () => socket.destroy());
}
