// A TCP line between two programs of this machine that can delay, cut or lose bytes: the only way
// without rights on the network. The line does not understand the bytes; a test says which ones are
// struck.

import {createServer, type Server, Socket} from 'node:net';
import {setTimeout as wait} from 'node:timers/promises';

/**
 * The fate of a connection from the struck bytes on; `forwarded` says how many of them still
 * arrive.
 */
export type Trouble =
  /** Bytes that come within so long, either way, wait until then; the order is kept. */
  | {readonly kind: 'delay'; readonly ms: number}
  /** Nothing more arrives on either side, and the connection stays open for so long. */
  | {readonly kind: 'drop'; readonly ms: number}
  /** The request arrives; the answer ends after so many bytes. */
  | {readonly kind: 'truncate'; readonly bytes: number}
  /** Both sides are reset. */
  | {readonly kind: 'reset'; readonly forwarded: number}
  /** The request arrives, and the client reads the end of the stream in place of an answer. */
  | {readonly kind: 'half-close'}
  /** The answer comes byte by byte, for so many bytes. */
  | {readonly kind: 'drip'; readonly bytes: number; readonly everyMs: number}
  /** Answers come as over a line of this bandwidth. */
  | {readonly kind: 'slow'; readonly bytesASecond: number}
  /** The request arrives; with the first byte of the answer the client is reset. */
  | {readonly kind: 'lose-reply'}
  /**
   * The request is answered; nothing more arrives on either side, and the connection stays open.
   */
  | {readonly kind: 'last-answer'};

export type TroubleKind = Trouble['kind'];

/** A number for each trouble, 0 at first. */
export function noTrouble(): Record<TroubleKind, number> {
  return {
    delay: 0,
    drop: 0,
    truncate: 0,
    reset: 0,
    'half-close': 0,
    drip: 0,
    slow: 0,
    'lose-reply': 0,
    'last-answer': 0,
  };
}

/** Decides the fate of some bytes from the client; null lets them pass. */
export type Draw = (chunk: Buffer) => Trouble | null;

/** The size of one piece on a slow line. */
const pieceBytes = 1_024;

export interface FaultyLine {
  /** On 127.0.0.1; the same after the line was down. */
  readonly port: number;
  /** How often each trouble struck. */
  readonly struck: Readonly<Record<TroubleKind, number>>;
  /**
   * From now on everything passes, or troubles are drawn again. Bytes held back arrive or are
   * reset.
   */
  setDraw(draw: Draw | null): void;
  /** Refuses connections and resets those that are open, until it comes up. */
  goDown(): Promise<void>;
  comeUp(): Promise<void>;
  close(): Promise<void>;
}

/** @param target - the port on 127.0.0.1 behind the line */
export async function openFaultyLine(
  target: number,
  draw: Draw | null = null,
): Promise<FaultyLine> {
  const line = new Line(target, draw);
  await line.comeUp();
  return line;
}

class Line implements FaultyLine {
  readonly struck = noTrouble();
  readonly #target: number;
  readonly #links = new Set<Link>();
  #draw: Draw | null;
  #server: Server | null = null;
  port = 0;

  constructor(target: number, draw: Draw | null) {
    this.#target = target;
    this.#draw = draw;
  }

  setDraw(draw: Draw | null): void {
    this.#draw = draw;
    for (const link of this.#links) link.release();
  }

  async comeUp(): Promise<void> {
    if (this.#server !== null) return;
    const server = createServer({allowHalfOpen: true, noDelay: true}, (client) =>
      this.#connect(client),
    );
    this.#server = server;
    await new Promise<void>((done, failed) =>
      server.once('error', failed).listen(this.port, '127.0.0.1', done),
    );
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    this.port = address.port;
  }

  async goDown(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    const closed = new Promise((done) => server.close(done));
    for (const link of this.#links) link.reset();
    await closed;
  }

  async close(): Promise<void> {
    await this.goDown();
  }

  #connect(client: Socket): void {
    const strike = (chunk: Buffer) => {
      const trouble = this.#draw?.(chunk) ?? null;
      if (trouble !== null) this.struck[trouble.kind]++;
      return trouble;
    };
    const link = new Link(client, this.#target, strike);
    this.#links.add(link);
    client.once('close', () => this.#links.delete(link));
  }
}

/**
 * One connection through the line. Each way has its own queue, so that waiting bytes keep their
 * order.
 */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #strike: Draw;
  readonly #patience = new AbortController();
  readonly #toServer = new Turns();
  readonly #toClient = new Turns();
  /** The trouble that strikes the answer. */
  #trouble: Trouble | null = null;
  #isSilent = false;
  #delayedUntil = 0;

  constructor(client: Socket, target: number, strike: Draw) {
    this.#client = client;
    this.#strike = strike;
    this.#server = new Socket({allowHalfOpen: true}).setNoDelay(true);
    this.#server.connect(target, '127.0.0.1');
    for (const socket of [client, this.#server]) socket.on('error', () => this.reset());
    client.on('data', (chunk) => this.#toServer.take(() => this.#send(chunk)));
    client.on('end', () => this.#toServer.take(async () => void this.#server.end()));
    client.on('close', () => this.#toServer.take(async () => this.#server.destroySoon()));
    this.#server.on('data', (chunk) => this.#toClient.take(() => this.#answer(chunk)));
    this.#server.on('end', () => this.#toClient.take(async () => this.#endAnswer()));
    this.#server.on('close', () => this.#toClient.take(async () => this.#leaveClient()));
  }

  /** Lets bytes held back go on; a connection that has lost bytes is reset. */
  release(): void {
    if (this.#isSilent) this.reset();
    this.#patience.abort();
  }

  reset(): void {
    this.#patience.abort();
    for (const socket of [this.#client, this.#server]) resetSocket(socket);
  }

  async #send(chunk: Buffer): Promise<void> {
    const trouble = this.#isSilent ? null : this.#strike(chunk);
    if (trouble?.kind === 'drop') this.#fallSilent(trouble.ms);
    if (trouble?.kind === 'delay') this.#delayedUntil = performance.now() + trouble.ms;
    if (trouble?.kind === 'reset') {
      await write(this.#server, chunk.subarray(0, trouble.forwarded));
      return this.reset();
    }
    this.#trouble = trouble ?? this.#trouble;
    await this.#sitOut();
    if (this.#isSilent) return;
    await write(this.#server, chunk);
    if (trouble?.kind === 'half-close') this.#client.end();
  }

  async #answer(chunk: Buffer): Promise<void> {
    await this.#sitOut();
    const trouble = this.#trouble;
    if (this.#isSilent || trouble?.kind === 'half-close') return;
    if (trouble?.kind === 'lose-reply') return this.reset();
    if (trouble?.kind === 'truncate') {
      await write(this.#client, chunk.subarray(0, trouble.bytes));
      this.#client.end();
      this.#isSilent = true;
      resetSocket(this.#server);
      this.#client.resume();
    } else if (trouble?.kind === 'last-answer') {
      await write(this.#client, chunk);
      this.#isSilent = true;
    } else if (trouble?.kind === 'slow') await this.#carrySlowly(chunk, trouble.bytesASecond);
    else if (trouble?.kind === 'drip') await this.#drip(chunk, trouble);
    else await write(this.#client, chunk);
  }

  #endAnswer(): void {
    if (!this.#isSilent && !this.#client.destroyed) this.#client.end();
  }

  async #drip(chunk: Buffer, {bytes, everyMs}: Extract<Trouble, {kind: 'drip'}>): Promise<void> {
    const slow = Math.min(bytes, chunk.length);
    this.#trouble = bytes > slow ? {kind: 'drip', bytes: bytes - slow, everyMs} : null;
    for (let at = 0; at < slow; at++) {
      await write(this.#client, chunk.subarray(at, at + 1));
      await this.#wait(everyMs);
    }
    await write(this.#client, chunk.subarray(slow));
  }

  async #carrySlowly(chunk: Buffer, bytesASecond: number): Promise<void> {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      const piece = chunk.subarray(at, at + pieceBytes);
      await this.#wait((piece.length * 1_000) / bytesASecond);
      await write(this.#client, piece);
    }
  }

  #fallSilent(ms: number): void {
    this.#isSilent = true;
    void this.#wait(ms).then(() => this.reset());
  }

  async #sitOut(): Promise<void> {
    const leftMs = this.#delayedUntil - performance.now();
    if (leftMs > 0) await this.#wait(leftMs);
  }

  async #wait(ms: number): Promise<void> {
    const {signal} = this.#patience;
    await wait(ms, undefined, {signal}).catch(() => {});
  }

  #leaveClient(): void {
    if (!this.#isSilent) this.#client.destroySoon();
  }
}

/**
 * Resets a connection. One whose end is under way is closed: Node takes the reset for done where
 * libuv refuses it (EINVAL), keeps the socket for ever, and a process that ends by itself waits for
 * that at full load.
 */
export function resetSocket(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished;
  if (isEnding) socket.destroy();
  else if (!socket.destroyed) socket.resetAndDestroy();
}

/** Runs steps one after the other. */
class Turns {
  #last: Promise<void> = Promise.resolve();

  take(work: () => Promise<void>): void {
    this.#last = this.#last.then(work);
  }
}

async function write(socket: Socket, bytes: Buffer): Promise<void> {
  if (bytes.length === 0 || !socket.writable) return;
  await new Promise<void>((done) => {
    socket.once('close', done);
    socket.write(bytes, () => {
      socket.off('close', done);
      done();
    });
  });
}
